"""Originals: render pages of the original files in a worker process, and cache the pictures by content."""

import json
import threading
from base64 import b64encode
from collections import OrderedDict
from dataclasses import asdict
from typing import Any

from docmill.flows.config.from_settings import archive_options
from docmill.flows.config.settings import Settings
from docmill.storage.errors import Rejected
from docmill.storage.schema import DocumentRow
from docmill.storage.snapshots.read.document import Document
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.sources.known_files import find_original
from docmill.tasks.work.document.original_page import PagePicture, PageRequest, original_page
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import shared_pool

_TIMEOUT_S = 20.0  # for one page, because a person waits; drawings with a million lines take some seconds
_WORKERS = 2  # two people may turn pages at the same time
_MOST_BYTES = 50_000_000  # of cached pictures: some 300 pages of text
_MOST_REFUSED = 1000  # refused pages that are remembered
_PAGED = ("pdf",)
"""Formats whose pages can be rendered."""
_ENDED = {
    "timeout": "drawing it takes more than {seconds:g} seconds",
    "memory": "drawing it needs more than {memory} MB",
    "crashed": "it ends the process that draws it",
}
"""Reasons why a worker process was ended. The page caused it, so another try would end the same way."""


class Originals:
    """The pictures of pages; thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limits = Limits(_WORKERS, min(_TIMEOUT_S, settings.parse.timeout_s), settings.parse.memory_mb)
        self._kept: OrderedDict[tuple[str, int], PagePicture] = OrderedDict()
        self._refused: OrderedDict[tuple[str, int], Rejected] = OrderedDict()
        self._lock = threading.Lock()

    def page(self, store: Store, row: DocumentRow, number: int) -> PagePicture:
        """Return the picture of a page, counted from 1; raise `Rejected` with the reason if there is none."""
        if row.format not in _PAGED:
            raise Rejected("unsupported", f"the format {row.format} has no pages to draw")
        key = (row.content_hash, number)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            if key in self._refused:
                raise self._refused[key]
        drawn = self._drawn(store, row, number)
        with self._lock:
            self._kept[key] = drawn
            while len(self._kept) > 1 and sum(len(one.png) for one in self._kept.values()) > _MOST_BYTES:
                self._kept.popitem(last=False)
        return drawn

    def _drawn(self, store: Store, row: DocumentRow, number: int) -> PagePicture:
        found = find_original(store.stored.folder.facts, row.uri, row.content_hash, in_archive=bool(row.parent))
        asked = PageRequest(
            found.path,
            found.inner,
            row.content_hash,
            number,
            self._settings.discover.max_file_bytes,
            archive_options(self._settings),
            self._settings.parse.passwords,
        )
        (drawn,) = shared_pool(self._limits).map(original_page, [asked])
        if isinstance(drawn, Rejected):
            raise self._refusal((row.content_hash, number), drawn)
        return drawn

    def _refusal(self, key: tuple[str, int], why: Rejected) -> Rejected:
        """Return the reason in plain words; remember a page that ended its worker, so that it is not tried again."""
        if why.reason not in _ENDED:
            return why
        limits = self._limits
        said = _ENDED[why.reason].format(seconds=limits.timeout_s, memory=limits.memory_mb)
        with self._lock:
            self._refused[key] = Rejected(why.reason, said)
            while len(self._refused) > _MOST_REFUSED:
                self._refused.popitem(last=False)
            return self._refused[key]


def as_answer(drawn: PagePicture) -> dict[str, Any]:
    """Return a picture for the page: the PNG file in base64."""
    return {**asdict(drawn), "png": b64encode(drawn.png).decode()}


def refusal(row: DocumentRow, number: int, why: Rejected) -> dict[str, Any]:
    """Return why a page cannot be shown, and how many pages the document has, if its parser counted them."""
    pages = json.loads(row.metadata or "{}").get("pages")
    return {"reason": why.reason, "message": why.message, "number": number, "pages": pages}


def places(document: Document) -> list[tuple[float, ...]]:
    """Return the places of a document's elements: start, end, page, and box in points from the top left."""
    return [
        (one.start_char, one.end_char, one.page, *one.box)
        for one in document.elements
        if one.box is not None and one.kind != "furniture"
    ]
