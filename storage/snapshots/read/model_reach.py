"""Model reach: find the languages in a snapshot that its embedding model cannot read, from a sample of each."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

import pyarrow.compute as pc

from docmill.storage.errors import ConfigError
from docmill.storage.search.encode.model_spaces import reading_dir
from docmill.storage.search.encode.token_counts import unread_shares
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.row_reader import OpenedTable
from docmill.storage.snapshots.tables.tables import read_table

_POOR = 0.4
"""The share of unread letters from which vectors say little. With the packaged model, Spanish texts have .14 to .26 and
German ones .18 to .34, and vectors alone answer 56 to 71 % of the questions about them. Chinese and Japanese texts have
.44 to .88, and vectors answer 20 to 28 %."""
_DOCUMENTS = 16
"""Documents sampled for each language: their mean share is within .02 of that of 48 documents."""
_CHARACTERS = 2000
"""Characters of a document that are tokenized, which takes a millisecond."""


class PoorlyRead(NamedTuple):
    """A language (a tag without region), the number of its documents, and the share of their letters not read."""

    lang: str
    documents: int
    share: float

    def __str__(self) -> str:
        noun = "document" if self.documents == 1 else "documents"
        return (
            f"vectors say little about {self.documents:,} {noun} in the language {self.lang}: the embedding model"
            f" cannot read {self.share:.0%} of the letters, so keywords rank these; to change that, name a"
            " multilingual model in [embedding]"
        )


def poorly_read(stored: StoredSnapshot) -> list[PoorlyRead]:
    """Return the languages that the model cannot read, the one with the most documents first.

    Source code and documents of unknown language are skipped. Without the model's tokenizer, the result is empty.
    """
    if (folder := _tokenizer_folder(stored)) is None:
        return []
    table = read_table(stored, "documents", ["document_id", "lang", "language"])
    prose = table.filter(pc.and_(pc.equal(table.column("language"), ""), pc.not_equal(table.column("lang"), "")))
    langs = pc.replace_substring_regex(prose.column("lang"), "-.*", "")  # without regions
    counted = pc.value_counts(langs).to_pylist()
    chunks, found = OpenedTable(stored, "chunks"), []
    for documents, lang in sorted(((one["counts"], one["values"]) for one in counted), reverse=True):
        ids = prose.filter(pc.equal(langs, lang)).column("document_id")
        chosen = ids.take([number * documents // _DOCUMENTS for number in range(_DOCUMENTS)]).unique().to_pylist()
        shares = unread_shares([*_beginnings(chunks, chosen)], folder)
        if shares and (share := fmean(shares)) >= _POOR:
            found.append(PoorlyRead(lang, documents, round(share, 2)))
    return found


def _tokenizer_folder(stored: StoredSnapshot) -> str | None:
    space = stored.snapshot.space
    try:
        folder = reading_dir(space.model, space.revision)
    except ConfigError:  # the model is on another machine
        return None
    return None if folder is None else str(folder)


def _beginnings(chunks: OpenedTable, documents: Sequence[str]) -> Iterator[str]:
    """Yield the beginning of each document that has chunks."""
    rows = chunks.rows("document_id", documents, ["document_id", "text"]).to_pylist()
    for document in documents:
        if text := " ".join(row["text"] for row in rows if row["document_id"] == document)[:_CHARACTERS]:
            yield text
