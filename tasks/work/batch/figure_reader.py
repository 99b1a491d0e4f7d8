"""Figure reader: read the words in figures with OCR, each distinct picture once; workers read in parallel."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from docmill.storage.errors import ConfigError, Rejected
from docmill.storage.keys import key_of
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.tasks.model.journal import REPLIES, SHARED, Journal, PaidCall
from docmill.tasks.model.prompt import Answer, Pictures, Prompt
from docmill.tasks.parse.dispatch.readers import reading_key
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import shared_pool

_AT_ONCE = 16
"""Pictures handed to workers at a time: at most 320 MB, and the work that is lost if the run is killed."""


@dataclass(frozen=True, slots=True)
class FigureReading:
    """How figures are read: the engine, its languages, the store that keeps the words, and the limits of workers.

    `run` names the run. With `counts`, pictures are only counted, not read.
    """

    engine: str
    languages: str
    folder: StoreFolder
    run: str
    limits: Limits
    counts: bool = False

    @property
    def key(self) -> str:
        """Return the key of everything besides the picture that decides which words are read."""
        return reading_key(self.engine, self.languages)


class FigureReader:
    """The OCR of one run, used from any thread."""

    def __init__(self, reading: FigureReading) -> None:
        self._reading = reading
        self._lock = threading.Lock()  # two batches with the same picture must not both read it
        reading.folder.level(SHARED, REPLIES)
        root = reading.folder.root
        self._packs = Packs(sorted((root / REPLIES).glob("[!.]*.parquet")))
        self._fresh: dict[str, Answer] = {}
        self._counted: set[str] = set()
        self._journal = Journal(root, reading.run, reading.engine, "-ocr")

    def read(self, prompts: Sequence[Prompt], pictures: Pictures) -> dict[Prompt, Answer]:
        """Return the words in the pictures that prompts name, "" if there are none; read none if only counting."""
        keys = {prompt: key_of("reply", self._reading.key, list(prompt.identity)) for prompt in prompts}
        with self._lock:
            known = self._known(keys.values())
            due = {key: prompt.picture for prompt, key in keys.items() if key not in known}
            self._counted |= due.keys()
            if not self._reading.counts:
                for first in range(0, len(due), _AT_ONCE):
                    known |= self._read(dict([*due.items()][first : first + _AT_ONCE]), pictures)
        return {prompt: known[key] for prompt, key in keys.items() if key in known}

    @property
    def count(self) -> int:
        """Return how many pictures were read, or would be."""
        return len(self._counted)

    def close(self) -> None:
        """Save what was read, so that the next run finds it."""
        self._journal.close()
        if self._fresh:
            self._reading.folder.level(SHARED, REPLIES)

    def _known(self, keys: Iterable[str]) -> dict[str, Answer]:
        wanted = [*dict.fromkeys(keys)]
        missing = self._packs.missing(wanted)
        held = [key for key in wanted if key not in missing]
        rows = self._packs.take(held).to_pylist() if held else []
        return {row["key"]: Answer(row["text"]) for row in rows} | {
            key: self._fresh[key] for key in wanted if key in self._fresh
        }

    def _read(self, due: Mapping[str, str], pictures: Pictures) -> dict[str, Answer]:
        from docmill.tasks.parse.pdf.reader import FigureScan, words_in  # loads the whole PDF reader

        own = self._reading
        found = {key: picture for key, name in due.items() if (picture := pictures(name)) is not None}
        scans = [FigureScan(picture.data, own.engine, own.languages) for picture in found.values()]
        read = shared_pool(own.limits).map(words_in, scans)
        for key, words in zip(found, read, strict=True):
            if isinstance(words, Rejected) and words.reason == "not_installed":
                raise ConfigError(f"[chunk] read_figures: {words.message}")
            # A picture that takes too long or crashes OCR would do so every time.
            text, why = ("", words.message) if isinstance(words, Rejected) else (words, "")
            self._journal.add(PaidCall("words", key, text, reason=why))
            self._fresh[key] = Answer(text)
        return {key: self._fresh[key] for key in found}


_shared: dict[str, FigureReader] = {}
_sharing = threading.Lock()


def shared_reader(reading: FigureReading) -> FigureReader:
    """Return the reader of a run, which all its batches in this process share."""
    with _sharing:
        if reading.run not in _shared:
            _shared[reading.run] = FigureReader(reading)
        return _shared[reading.run]


def figures_read(run: str) -> int:
    """Return how many pictures the reader of a run has read or counted."""
    with _sharing:
        reader = _shared.get(run)
    return reader.count if reader else 0


@contextmanager
def closing_reader(run: str) -> Iterator[None]:
    """Close the reader of a run at the end, if a batch has opened it."""
    try:
        yield
    finally:
        with _sharing:
            reader = _shared.pop(run, None)
        if reader:
            reader.close()
