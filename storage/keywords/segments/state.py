"""State: the immutable files that make up the keyword index of a snapshot."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef
from docmill.storage.keywords.analysis.analyser import ANALYSER_VERSION

FOLDER = "keywords"


@dataclass(frozen=True, slots=True)
class Segment:
    """The postings of some chunks, and the tombstones of those that were removed later.

    `rows` and `dead` count chunks; `postings` counts pairs of a term and a chunk.
    """

    file: FileRef
    rows: int
    postings: int
    tombstones: FileRef | None = None
    dead: int = 0


@dataclass(frozen=True, slots=True)
class KeywordState:
    """One state of the index: `rows` living chunks with `tokens` terms in total.

    `spectrum` is the file that counts terms by document frequency.
    """

    analyser: int = ANALYSER_VERSION
    language: str = "english"
    segments: tuple[Segment, ...] = ()
    spectrum: FileRef | None = None
    rows: int = 0
    tokens: int = 0

    def files(self) -> Iterator[FileRef]:
        """Yield every file that the state names."""
        for segment in self.segments:
            yield segment.file
            if segment.tombstones:
                yield segment.tombstones
        if self.spectrum:
            yield self.spectrum


def check_analyser(state: KeywordState) -> None:
    """Raise `StoreError` for postings of another version of the analyser."""
    if state.analyser != ANALYSER_VERSION:
        raise StoreError(
            f"the keyword index was built with analyser version {state.analyser}, but this docmill has version"
            f" {ANALYSER_VERSION}; rebuild it with: docmill repair"
        )


def path_of(root: Path, file: FileRef) -> Path:
    """Return the path of a file of the index; raise `StoreError` if it is missing or truncated."""
    path = root / file.path
    size = path.stat().st_size if path.is_file() else -1
    if size != file.bytes:
        found = "is missing" if size < 0 else f"has {size:,} bytes instead of {file.bytes:,}"
        raise StoreError(f"{path} {found}; rebuild the keyword index with: docmill repair")
    return path
