"""Schema: the frozen dataclass of each kind of row; `storage/arrow_schema.py` holds the Arrow schemas.

`SCHEMA_VERSION` is the version of the Parquet schema. `storage/schema_evolution.py` reads the files of an older
docmill: it renames columns, and fills a column that an older file lacks with "", 0 or [], a time from its text, and
`access` with `EVERYONE`.
Offsets are half-open and count code points of a document's canonical text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

EVERYONE = "all"
OCR_PAGES = "ocr_pages"  # in the metadata of a document: the pages that OCR has read
"""The principal that may see a document without other access rules."""
SCHEMA_VERSION = 2  # written into every file; version 1 had columns start and end, and page 0 for "no page"
MISSING, REFUSED, STALE = "missing", "refused", "stale"
CONTEXT_STATES = {
    MISSING: "a language model should say something here and could not be asked yet; the next run tries again",
    REFUSED: "what it answered cannot be used",
    STALE: "the document has changed elsewhere since it answered",
}
"""Values of `chunks.context_state` besides ""; `docmill ingest --refresh-contexts` repeats the last two."""


_SHOWN = 64
"""The characters that are read of a text with only markup, such as a picture without words, so that it can be found.

With none, there would be nothing to embed; with many, a picture stored as text would fill the model's window.
"""


def indexed_text(context: str, text: str, unread: Sequence[int] = ()) -> str:
    """Return the text of a chunk that is embedded and that BM25 indexes: its context and the reading of its text."""
    read = reading(text, unread)
    return f"{context}\n\n{read}" if context else read


def reading(text: str, unread: Sequence[int]) -> str:
    """Return the words of a text without its markup.

    `unread` are the starts and ends, alternating, of the omitted spans, which are in order and do not touch. Each is
    replaced by a space, or by a newline if it contains one, so that no words run together. Of a text that is all
    markup, the beginning is read.
    """
    if not unread:
        return text
    pieces = [text[start:end] for start, end in zip((0, *unread[1::2]), (*unread[::2], len(text)), strict=True)]
    breaks = ["\n" if "\n" in text[start:end] else " " for start, end in zip(unread[::2], unread[1::2], strict=True)]
    found = [pieces[0].rstrip(" ")]
    for piece, gap in zip(pieces[1:], breaks, strict=True):
        found += [gap, piece.strip(" ")]
    return "".join(found).strip() or text[:_SHOWN]


def clipped(unread: Sequence[int], start: int, end: int) -> tuple[int, ...]:
    """Return the spans omitted from text[start:end], as offsets in it, given those omitted from the text."""
    spans = zip(unread[::2], unread[1::2], strict=True)
    kept = [
        (max(first, start) - start, min(last, end) - start) for first, last in spans if first < end and last > start
    ]
    return tuple(place for span in kept for place in span)


def part_texts(text: str, starts: Sequence[int]) -> list[str]:
    """Return the parts of a chunk's text; `starts` are the offsets of all parts but the first."""
    return [text[first:last].rstrip() for first, last in pairwise((0, *starts, len(text)))] if starts else [text]


def part_readings(text: str, starts: Sequence[int], unread: Sequence[int]) -> list[str]:
    """Return the readings of the parts of a chunk's text."""
    parts = zip((0, *starts), part_texts(text, starts), strict=True)
    return [reading(part, clipped(unread, first, first + len(part))) for first, part in parts]


@dataclass(frozen=True, slots=True)
class Element:
    """A typed span of a document's canonical text.

    `kind` is one of title, paragraph, list_item, table, figure, code, quote, front_matter, turn, question,
    answer, page_break, furniture, text. `level` is the heading level (1 is the highest) or the
    depth of a list item (1 is the outermost), else 0. `page` counts from 1; 0 means that the format
    has no pages. `line` is the 1-based line of the canonical text. `box` is (left, top, right, bottom)
    in points from the page's top left corner. `attributes` holds values that only some kinds have:
    `cells` (rows of strings), `header_rows` and `spans` of a table, `language` of code, `links`, `sheet`,
    `speaker`, `time`; `key`, `media_type`, `width`, `height`, `bytes`, `alt` and `caption` of a figure; `marks`, the
    starts and ends, in turn, of inline markup, as offsets in the element. Elements are ordered by `start_char` and
    overlap only by nesting.
    """

    kind: str
    start_char: int
    end_char: int
    level: int = 0
    page: int = 0
    line: int = 0
    box: tuple[float, float, float, float] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeptPicture:
    """The picture of a figure, as the store keeps it.

    Attributes:
        key: The hash of the picture's bytes in the document, 32 hex digits.
        media_type: Its type, such as `image/png`.
        width: Its width in pixels.
        height: Its height in pixels.
        data: Its file.
    """

    key: str
    media_type: str
    width: int
    height: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Parsed:
    """One parsed document: its canonical text, its elements, and the metadata that the file states.

    `metadata` is JSON: author, created, modified, description, language, front matter, encoding ...
    `pictures` are those of its figures, each once; a stored text comes back without them.
    """

    text: str
    elements: tuple[Element, ...]
    title: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    pictures: tuple[KeptPicture, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A chunk before it belongs to a document at a uri; drafts are cached by content."""

    start_char: int
    end_char: int
    text: str
    context: str
    headings: tuple[str, ...]
    page: int | None
    line: int
    content_type: str
    strategy: str
    tokens: int
    role: str = ""
    depth: int = 0
    above: int = 0
    note: str = ""
    window_start: int = 0
    window_end: int = 0
    context_state: str = ""
    about_start: int = 0
    about_end: int = 0
    parts: tuple[int, ...] = ()
    unread: tuple[int, ...] = ()
    phrasings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One document of a snapshot.

    `text_key` addresses the canonical text and the elements. `chunk_key` is the key of everything that its chunks were
    made from. `status` is `ok`; `stale` if the file can no longer be used and its last good version is kept; or
    `restored` if the file is gone and the document was brought back.
    `language` is the language of source code, `lang` the natural language that the file states or else its words show
    (BCP 47). `created`
    and `modified` are the times that the file itself states, in ISO 8601 and as exact as it states them; `created_at`
    and `modified_at` are the same in UTC, see `docmill.storage.timestamps`. In SQL these are called `created` and
    `modified`, and the texts `created_stated` and `modified_stated`. `parent` is the uri of the archive or mail
    that contains the document. `source_url` is where a person opens the original, that of the archive or mail for
    what is in one; "" for a file on a disk, as its path says nothing on another machine. `content_types` are those
    of its regions; `regions` describes each region in the fields of `REGION`: what it is, why, and how it was split.
    `reader` is the name and version of the parser that [parse] readers or a plugin chose, or "" for docmill's own.
    `described` is what is said of the document beside it, see `docmill.storage.stated_metadata`. `declared` are the
    values of the keys of [metadata], as JSON; `metadata_warnings` say which of them do not fit, and what could not
    be read.
    `access` are the principals that may see the document, such as teams; nobody may if it is empty.
    `figures` describes each of its figures in the fields of `FIGURE`, in the order of the text.
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
    reader: str = ""
    source_url: str = ""
    created_at: datetime | None = None
    modified_at: datetime | None = None
    described: str = ""
    declared: str = ""
    metadata_warnings: tuple[str, ...] = ()
    access: tuple[str, ...] = (EVERYONE,)
    figures: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One chunk of a snapshot: `document.text[start_char:end_char] == text`.

    `page` is None if the format has no pages. `role` is the kind of chunk if its strategy makes several: section,
    paragraph, sentence, summary; or toc, furniture, figure. `depth` counts its ancestors. `parent_id` is its parent or
    "", and the parent's row is `above` rows before it; `children` are the ids of the chunks whose parent it is. `note`
    says how a chunk was changed after its strategy had made it, such as `merged 3` or `split 2`. `window_start` and
    `window_end` are the span in which a late vector was read, both 0 if vectors are not late. `context_state` is a key
    of `CONTEXT_STATES` if the `context` from a language model is missing or out of date. A summary covers the span from
    `about_start` to `about_end` of its document, and so the chunks that begin there. A long chunk can have several
    vectors, one for each part: `parts` are the offsets in `text` of all parts but the first, `embedding_key` is the key
    of the first part's vector, `part_keys` are those of the others, followed by those of the `phrasings`, in which a
    language model says what the chunk says. `unread` are the offsets in `text`, start and end in turn, of the markup
    that is neither embedded nor indexed.
    """

    chunk_id: str
    document_id: str
    uri: str
    ordinal: int
    start_char: int
    end_char: int
    text: str
    context: str
    headings: tuple[str, ...]
    page: int | None
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
    window_start: int = 0
    window_end: int = 0
    context_state: str = ""
    about_start: int = 0
    about_end: int = 0
    parts: tuple[int, ...] = ()
    part_keys: tuple[str, ...] = ()
    unread: tuple[int, ...] = ()
    phrasings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RejectRow:
    """A file that could not be used, with the reason.

    A run tries it again only when its content or `attempt_key` changes; that key covers the version of its parser
    and the settings that caused the reason. `parser` is the format and the version of its parser, if they are
    known, and the plugins that had it. `reason` is a key of `docmill.storage.errors.REASONS`; `first_seen` and
    `last_seen` are the times of the first and the last try.
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


@dataclass(frozen=True, slots=True)
class CostRow:
    """The cost of one run's calls of a language model for one purpose.

    The costs of runs that committed nothing, of searches and of evaluations count in the next snapshot. `calls`
    includes those that `failed`, and those `refused`, whose answer cannot be used; `reason` says why. Of the `input`
    tokens, `cached` were read from the provider's cache and `written` were stored in it. `money` follows the prices in
    the settings at that time; it is 0 without prices.
    """

    run_id: str
    snapshot: int
    model: str
    purpose: str
    calls: int
    failed: int
    input: int
    cached: int
    written: int
    output: int
    money: float
    refused: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StagedDocument:
    """The result of processing one file's content.

    `work_key` is the key of the work that made it. `reason` is empty for a usable document. `suffix` is the ending of
    the file's name if it can decide the type. `parsed` tells whether a parser ran.
    """

    work_key: str
    content_hash: str
    suffix: str
    size: int
    format: str
    language: str
    title: str
    content_type: str
    text_key: str
    chunk_key: str
    characters: int
    chunks: int
    metadata: str
    parsed: bool
    reason: str
    message: str
    parser: str
    content_types: tuple[str, ...] = ()
    regions: tuple[dict[str, Any], ...] = ()
    author: str = ""
    created: str = ""
    modified: str = ""
    lang: str = ""
    reader: str = ""
    figures: tuple[dict[str, Any], ...] = ()


Row = DocumentRow | ChunkRow | RejectRow | RunRow | CostRow
