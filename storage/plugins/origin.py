"""Origin: which distribution a plugin comes from, so that each of its failures can name it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from traceback import extract_tb
from typing import ParamSpec, TypeVar

from docmill.storage.errors import Rejected, Transient

P = ParamSpec("P")
R = TypeVar("R")

_OURS = Path(__file__).parents[2]
_LONGEST = 500
"""Characters of an exception in a message: some libraries repeat the document in it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The name of a plugin and the distribution that gives it; `kind` is the word for such plugins in messages.

    What docmill gives itself has no distribution: another release of docmill is no reason to read everything again.
    """

    kind: str
    name: str
    distribution: str
    release: str

    def __str__(self) -> str:
        given = f" of {self.distribution} {self.release}" if self.distribution else ""
        return f"{self.kind} {self.name!r}{given}"

    def version(self, own: object) -> str:
        """Return the version for keys: that of the distribution and the plugin's own."""
        return f"{self.distribution} {self.release}, {own}" if self.distribution else str(own)

    def guarded(self, call: Callable[P, R], failure: Callable[[str], Exception]) -> Callable[P, R]:
        """Return a function that raises `failure` with a message that names the plugin where `call` raises anything.

        `Rejected`, `Transient` and `MemoryError` pass as they are.
        """

        @wraps(call)
        def guarded(*arguments: P.args, **named: P.kwargs) -> R:
            try:
                return call(*arguments, **named)
            except (Rejected, Transient, MemoryError):
                raise
            except Exception as error:
                raise failure(f"{self} failed: {described(error)}{place(error)}") from error

        return guarded


def described(error: BaseException, longest: int | None = _LONGEST) -> str:
    """Return an exception's type and message in one line of at most so many characters."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}"[:longest].removesuffix(": ")


def place(error: BaseException) -> str:
    """Return the file and line of the plugin that an exception passed last, or "" if it comes from docmill's checks."""
    calls = [(Path(call.filename), call.lineno) for call in extract_tb(error.__traceback__)]
    theirs = [(path, line) for path, line in calls if _OURS not in path.parents]
    own = [f" ({path.name}, line {line})" for path, line in theirs if path.parent == theirs[0][0].parent]
    return own[-1] if own else ""


def plugin_failed(message: str) -> Rejected:
    """Return the reason for a document on which a plugin has failed."""
    return Rejected("plugin_failed", message)
