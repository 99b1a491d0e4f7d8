"""Origin: the distribution of a plugin, to name it in each of its failures."""

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
    """The name of a plugin and its distribution; `kind` is the word for such plugins in messages.

    docmill's own implementations have no distribution, because a new release is no reason to read everything again.
    """

    kind: str
    name: str
    distribution: str
    release: str

    def __str__(self) -> str:
        given = f" of {self.distribution} {self.release}" if self.distribution else ""
        return f"{self.kind} {self.name!r}{given}"

    def version(self, own: object) -> str:
        """Return the version for keys: those of the distribution and of the plugin."""
        return f"{self.distribution} {self.release}, {own}" if self.distribution else str(own)

    def guarded(self, call: Callable[P, R], failure: Callable[[str], Exception]) -> Callable[P, R]:
        """Return a function that raises `failure` with a message that names the plugin if `call` raises anything.

        `Rejected`, `Transient` and `MemoryError` are not changed.
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
    """Return an exception's type and message in a line of at most `longest` characters."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}"[:longest].removesuffix(": ")


def place(error: BaseException) -> str:
    """Return the plugin's file and line that an exception passed last, or "" if docmill's checks raised it."""
    calls = [(Path(call.filename), call.lineno) for call in extract_tb(error.__traceback__)]
    theirs = [(path, line) for path, line in calls if _OURS not in path.parents]
    own = [f" ({path.name}, line {line})" for path, line in theirs if path.parent == theirs[0][0].parent]
    return own[-1] if own else ""


def plugin_failed(message: str) -> Rejected:
    """Return the rejection of a document on which a plugin failed."""
    return Rejected("plugin_failed", message)
