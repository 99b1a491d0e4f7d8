"""Late vectors: the model reads each chunk within a window of its document, so that its vector reflects the context."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from docmill.storage.keys import late_key
from docmill.storage.search.encode.text_encoder import DocumentEncoder, Window
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.tables import read_table

COLUMNS = ("text_key", "window_start", "window_end", "start_char", "end_char")
"""The columns needed to compute a late vector; `text_key` is the key of the document's text."""
_DOCUMENTS_AT_ONCE = 256  # texts in memory at the same time; with fewer, row groups are read more than once


def late_rows(stored: StoredSnapshot, chunks: pa.Table) -> tuple[pa.Table, Packs]:
    """Return chunks with the `text_key` of their documents, and the packs that hold these texts."""
    documents = read_table(stored, "documents", ["document_id", "text_key"])
    text_keys = dict(zip(*(column.to_pylist() for column in documents.columns), strict=True))
    named = [text_keys[key] for key in chunks.column("document_id").to_pylist()]
    texts = Packs(stored.packs("texts"))
    return chunks.append_column("text_key", pa.array(named, pa.string())), texts


def windows_of(rows: pa.Table, texts: Packs) -> list[Window]:
    """Return the window of each row of `COLUMNS`; its one span is the chunk."""
    keys, *places = (rows.column(name).to_pylist() for name in COLUMNS)
    held: dict[str, str] = {}
    distinct = list(dict.fromkeys(keys))
    for first in range(0, len(distinct), _DOCUMENTS_AT_ONCE):
        some = distinct[first : first + _DOCUMENTS_AT_ONCE]
        held |= dict(zip(some, texts.take(some).column("text").to_pylist(), strict=True))
    return [
        Window(held[key][first:last], ((start - first, end - first),))
        for key, first, last, start, end in zip(keys, *places, strict=True)
    ]


def keys_of(windows: Sequence[Window], space_id: str) -> list[str]:
    """Return the vector keys of windows of one span each, in their order."""
    return [late_key(one.text, *span, space_id) for one in windows for span in one.spans]


def encode_windows(windows: Sequence[Window], encoder: DocumentEncoder) -> npt.NDArray[np.float32]:
    """Return the vectors of windows of one span each, in their order; equal windows are encoded once."""
    groups: dict[str, list[int]] = {}
    for number, one in enumerate(windows):
        groups.setdefault(one.text, []).append(number)
    joined = [Window(text, tuple(windows[i].spans[0] for i in numbers)) for text, numbers in groups.items()]
    found = encoder.encode_late(joined)
    vectors = np.empty_like(found)
    vectors[[number for numbers in groups.values() for number in numbers]] = found
    return vectors
