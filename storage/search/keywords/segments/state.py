"""State: the immutable files that make up the keyword index of a snapshot."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef
from docmill.storage.search.keywords.analysis.analyser import ANALYSER_VERSION
from docmill.storage.search.keywords.segments.chunk_fields import SIDE_FIELDS

FOLDER = "keywords"
SEARCHED = (1, 2, 3, 4, 5, 6, ANALYSER_VERSION)
"""Versions of the analyser whose postings can be searched. Version 1 had one field. Before version 3, words with
accents had other stems, and acronyms were stop words. Before version 4, Han characters and Katakana words were not
terms. Before version 5, words without a stemmer were whole terms, and digits of other scripts stayed as they were.
Before version 6, Vietnamese words had no marks. Before version 7, numbers had no form without separators but commas.
Until the next commit rebuilds the postings, a search does not find these."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The postings of some chunks, and the tombstones of chunks that were removed later.

    `rows` and `dead` count chunks; `postings` counts pairs of a term and a chunk.
    """

    file: FileRef
    rows: int
    postings: int
    tombstones: FileRef | None = None
    dead: int = 0


@dataclass(frozen=True, slots=True)
class KeywordState:
    """One state of the index: `rows` live chunks, whose texts have `tokens` terms in total.

    `side_tokens` are the total terms of each other field. `spectrum` is the file that counts terms by document
    frequency.
    """

    analyser: int = ANALYSER_VERSION
    language: str = "english"
    segments: tuple[Segment, ...] = ()
    spectrum: FileRef | None = None
    rows: int = 0
    tokens: int = 0
    side_tokens: tuple[int, ...] = (0,) * SIDE_FIELDS

    @property
    def field_tokens(self) -> tuple[int, ...]:
        """The total terms of each field; the state of an older docmill has fewer fields."""
        return (self.tokens, *self.side_tokens, *[0] * (SIDE_FIELDS - len(self.side_tokens)))

    @property
    def outdated(self) -> bool:
        """Whether an older docmill built the index; it is searched as it is, and the next commit rebuilds it."""
        return self.analyser < ANALYSER_VERSION

    def files(self) -> Iterator[FileRef]:
        """Yield every file that the state names."""
        for segment in self.segments:
            yield segment.file
            if segment.tombstones:
                yield segment.tombstones
        if self.spectrum:
            yield self.spectrum


def check_analyser(state: KeywordState, readable: Collection[int] = (ANALYSER_VERSION,)) -> None:
    """Raise `StoreError` for postings from a version of the analyser that is not `readable`."""
    if state.analyser not in readable:
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
