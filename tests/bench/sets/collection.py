"""A judged set: documents to write, questions whose answers are known, and what hits are worth."""

import hashlib
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docmill.storage.search.rank.candidates.hit import Hit
from docmill.tasks.evaluate.overlap import Passage

HALVES = ("report", "look", "all")
"""Figures are of the half `report`; failures are read in the half `look` alone; `all` is both."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what answers it: passages, or documents with their grades.

    Hits of the documents `besides` are not judged: the question was taken from them.
    """

    id: str
    text: str
    references: tuple[Passage, ...] = ()
    grades: Mapping[str, int] = field(default_factory=dict)
    besides: frozenset[str] = frozenset()

    @property
    def half(self) -> str:
        """Return the half of the questions that this one is in, by its text alone."""
        return "look" if hashlib.sha256(self.text.encode()).digest()[0] % 2 else "report"

    @property
    def key(self) -> str:
        """Return a name that changes with the text, so that results of other questions are not compared."""
        return f"{self.id}:{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents by uri, as they are written to files, and questions about them.

    `read` are the canonical texts of those documents that parsing changes, such as tables: answers stand in these.
    """

    documents: Mapping[str, str]
    questions: tuple[Asked, ...]
    read: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Make a folder hold the documents as files, and no others."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in [path for path in folder.rglob("*") if path.is_file()]:
            if path.relative_to(folder).as_posix() not in self.documents:
                path.unlink()
        for uri, text in self.documents.items():
            path, data = folder / uri, text.encode()
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)

    def asked(self, half: str) -> tuple[Asked, ...]:
        """Return the questions of a half."""
        return tuple(one for one in self.questions if half in (one.half, "all"))


@dataclass(frozen=True, slots=True)
class Given:
    """Where the data of the sets are, None where there are none.

    `data` is a folder of public sets, `pages` one of Markdown pages that link each other, `packages` one of Python
    packages: those of the running Python.
    """

    data: Path | None = None
    pages: Path | None = None
    packages: Path = Path(sysconfig.get_path("purelib"))


Worth = Callable[[Asked, Sequence[Hit]], dict[str, float]]
"""What the hits of a question are worth, by measure, from 0 to 1; the first measure is the one that decides."""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A set by name: how it is read, what its first `k` hits are worth, and the settings of its store.

    `ways` are those to search it in besides the ones that every set is searched in.
    """

    name: str
    read: Callable[[Given], Collection | None]
    worth: Worth
    k: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    ways: tuple[str, ...] = ()
