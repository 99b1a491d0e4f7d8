"""What a row is: for code a frozen dataclass, for disk its Arrow schema, side by side.

The Parquet schema is versioned by `SCHEMA_VERSION` and only grows: a column is never renamed or
dropped, and `storage/growth.py` fills a column that an older file lacks with "", 0 or [], never with null.
Offsets are half-open and count code points of a document's canonical text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import pyarrow as pa

SCHEMA_VERSION = 1


def indexed_text(context: str, text: str) -> str:
    """Return what is embedded and what BM25 sees of a chunk."""
    return f"{context}\n\n{text}" if context else text


@dataclass(frozen=True, slots=True)
class Element:
    """A typed span of a document's canonical text.

    `kind` is one of title, paragraph, list_item, table, code, quote, front_matter, turn, question,
    answer, page_break, furniture, text. `level` is the heading level (1 is the highest) or the
    depth of a list item (1 is the outermost), else 0. `page` counts from 1, 0 means that the format
    has none. `line` is the 1-based line of the canonical text. `box` is (left, top, right, bottom)
    in points from the page's top left corner. `attributes` holds what only some kinds have:
    `cells` (rows of strings) and `header_rows` of a table, `language` of code, `links`, `sheet`,
    `speaker`, `time`. Elements are ordered by start and overlap only by nesting.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    page: int = 0
    line: int = 0
    box: tuple[float, float, float, float] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parsed:
    """One parsed document: canonical text, its elements, and what the file says about itself.

    `metadata` is JSON: author, created, modified, description, language, front matter, encoding ...
    """

    text: str
    elements: tuple[Element, ...]
    title: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """A chunk before it belongs to a document at a uri: what is cached by content."""

    start: int
    end: int
    text: str
    context: str
    headings: tuple[str, ...]
    page: int
    line: int
    content_type: str
    strategy: str
    tokens: int
    role: str = ""
    depth: int = 0
    above: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One document of a snapshot.

    `text_key` addresses the canonical text and elements, `chunk_key` what its chunks were made
    from and by. `status` is `ok`, `stale` when the file has changed into one that cannot be used and the
    last good version is kept, or `restored` when the file is gone and the document was brought back.
    `language` is that of source code, `lang` the natural language that the file states (BCP 47). `created`
    and `modified` are what the file itself says, in ISO 8601. `parent` is the uri of the archive or the mail
    that the document is in. `content_types` are those of its regions, and `regions` says of each, in the
    fields of `REGION`, what it is, why, and how it was split.
    """

    document_id: str
    uri: str
    source: str
    content_hash: str
    size: int
    mtime_ns: int
    format: str
    language: str
    title: str
    content_type: str
    text_key: str
    chunk_key: str
    characters: int
    chunks: int
    status: str
    metadata: str
    content_types: tuple[str, ...]
    regions: tuple[dict[str, Any], ...]
    author: str = ""
    created: str = ""
    modified: str = ""
    lang: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One chunk of a snapshot; `document.text[start:end] == text`. `page` 0 means none.

    `role` is what a chunk is to its strategy where that makes several kinds: section, paragraph, sentence,
    summary. `depth` is how many chunks stand above it, `parent_id` the nearest of them or "", which stands
    `above` rows before it in its document; `children` are the ids of those whose parent it is. `note` says
    what was done to a chunk after its strategy had made it, such as `merged 3` or `split 2`.
    """

    chunk_id: str
    document_id: str
    uri: str
    ordinal: int
    start: int
    end: int
    text: str
    context: str
    headings: tuple[str, ...]
    page: int
    line: int
    content_type: str
    strategy: str
    tokens: int
    embedding_key: str
    role: str = ""
    depth: int = 0
    above: int = 0
    parent_id: str = ""
    children: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class RejectRow:
    """A file that could not be used, with the reason.

    It is not tried again until its content changes or `attempt_key` does, which stands for the version
    of its parser and the settings that its reason hangs on. `parser` is the format and its parser's
    version, as far as it came.
    """

    uri: str
    source: str
    content_hash: str
    size: int
    reason: str
    message: str
    parser: str
    attempt_key: str
    first_seen: str
    last_seen: str


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run that committed a snapshot. Times are ISO 8601 in UTC, seconds are wall clock."""

    run_id: str
    snapshot: int
    engine: str
    started: str
    seconds: float
    added: int
    changed: int
    moved: int
    deleted: int
    unchanged: int
    rejected: int
    stale: int
    chunks_added: int
    chunks_kept: int
    chunks_removed: int
    parsed: int
    embedded: int
    tokens_embedded: int


R = TypeVar("R")
Row = DocumentRow | ChunkRow | RejectRow | RunRow

_ARROW = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "tuple[str, ...]": pa.list_(pa.string())}


def _schema(row: type, **narrow: pa.DataType) -> pa.Schema:
    def kind(name: str, annotation: Any) -> pa.DataType:
        spelled = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        spelled = "tuple[str, ...]" if spelled.startswith("tuple") else spelled
        return narrow.get(name, _ARROW[spelled])

    return pa.schema([(f.name, kind(f.name, f.type)) for f in fields(row)])


REGION = pa.struct(
    [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("content_type", pa.string()),
        ("score", pa.float64()),
        ("runner_up", pa.string()),
        ("runner_up_score", pa.float64()),
        ("evidence", pa.list_(pa.string())),
        ("strategy", pa.string()),
        ("options", pa.string()),
    ]
)
"""A stretch of a document of one content type; `options` is JSON."""

DOCUMENTS = _schema(DocumentRow, regions=pa.list_(REGION))
CHUNKS = _schema(
    ChunkRow,
    ordinal=pa.int32(),
    page=pa.int32(),
    line=pa.int32(),
    tokens=pa.int32(),
    depth=pa.int32(),
    above=pa.int32(),
)
REJECTS = _schema(RejectRow)
RUNS = _schema(RunRow)

DELETED = DOCUMENTS.append(pa.field("deleted", pa.string()))
"""Documents that were deleted of late, and when; `deleted_chunks` are their chunks."""

SCHEMAS: dict[str, pa.Schema] = {
    "documents": DOCUMENTS,
    "chunks": CHUNKS,
    "rejects": REJECTS,
    "runs": RUNS,
    "deleted": DELETED,
    "deleted_chunks": CHUNKS,
}


def to_table(rows: Sequence[Any], schema: pa.Schema) -> pa.Table:
    """Return dataclass rows as an Arrow table with the columns of `schema`, in order."""
    columns = [pa.array([getattr(row, name) for row in rows], schema.field(name).type) for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)


def from_table(table: pa.Table, row: type[R]) -> list[R]:
    """Return an Arrow table's rows as `row` dataclasses; the table has at least its fields."""
    names = [f.name for f in fields(row)]  # type: ignore[arg-type]
    columns: Iterable[list[Any]] = (
        [tuple(v) for v in values] if values and isinstance(values[0], list) else values
        for values in (table.column(name).to_pylist() for name in names)
    )
    return [row(*values) for values in zip(*columns, strict=True)]
