"""What a row is: for code a frozen dataclass, for disk its Arrow schema (`storage/columns.py`).

The Parquet schema is versioned by `SCHEMA_VERSION`. `storage/schema_evolution.py` reads what an older docmill wrote: it
knows the columns that were renamed, and fills a column that an older file lacks with "", 0 or [], never with null.
Offsets are half-open and count code points of a document's canonical text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

SCHEMA_VERSION = 2  # written into every file; 1 said start and end, and 0 for a page that there is not
MISSING, REFUSED, STALE = "missing", "refused", "stale"
CONTEXT_STATES = {
    MISSING: "a language model should say something here and could not be asked yet; the next run tries again",
    REFUSED: "what it answered cannot be used",
    STALE: "the document has changed elsewhere since it answered",
}
"""What `chunks.context_state` can hold besides ""; `docmill ingest --refresh-contexts` mends the last two."""


def indexed_text(context: str, text: str) -> str:
    """Return what is embedded and what BM25 sees of a chunk."""
    return f"{context}\n\n{text}" if context else text


def part_texts(text: str, starts: Sequence[int]) -> list[str]:
    """Return the parts of a chunk's text, of which all but the first begin at `starts`; it is one part without any."""
    return [text[first:last].rstrip() for first, last in pairwise((0, *starts, len(text)))] if starts else [text]


@dataclass(frozen=True, slots=True)
class Element:
    """A typed span of a document's canonical text.

    `kind` is one of title, paragraph, list_item, table, code, quote, front_matter, turn, question,
    answer, page_break, furniture, text. `level` is the heading level (1 is the highest) or the
    depth of a list item (1 is the outermost), else 0. `page` counts from 1, 0 means that the format
    has none. `line` is the 1-based line of the canonical text. `box` is (left, top, right, bottom)
    in points from the page's top left corner. `attributes` holds what only some kinds have:
    `cells` (rows of strings) and `header_rows` of a table, `language` of code, `links`, `sheet`,
    `speaker`, `time`. Elements are ordered by `start_char` and overlap only by nesting.
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
    """One chunk of a snapshot; `document.text[start_char:end_char] == text`. `page` is None where the format has none.

    `role` is what a chunk is to its strategy where that makes several kinds: section, paragraph, sentence,
    summary. `depth` is how many chunks stand above it, `parent_id` the nearest of them or "", which stands
    `above` rows before it in its document; `children` are the ids of those whose parent it is. `note` says
    what was done to a chunk after its strategy had made it, such as `merged 3` or `split 2`. `window_start` and
    `window_end` are the stretch of the document in which a late vector was read, both 0 where vectors are not late.
    `context_state` is a key of `CONTEXT_STATES` where something is wrong with what a language model says in `context`.
    A summary sums up the stretch from `about_start` to `about_end` of its document, and so the chunks that begin there.
    A chunk with several vectors has one of each part: `parts` are the offsets in `text` at which the second part and
    those after it begin, `embedding_key` is of the first part, `part_keys` of the others.
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


@dataclass(frozen=True, slots=True)
class RejectRow:
    """A file that could not be used, with the reason.

    It is not tried again until its content changes or `attempt_key` does, which stands for the version
    of its parser and the settings that its reason hangs on. `parser` is the format and its parser's
    version, as far as it came. `reason` is a key of `docmill.storage.errors.REASONS`; `first_seen` and
    `last_seen` are when it was first and last tried.
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
    """What one run asked of a language model for one purpose.

    Runs that committed nothing count too, in the snapshot that came next, and so does what searches and evaluations
    asked. `calls` holds those that `failed`. Of the `input` tokens `cached` were in the provider's cache, and
    `written` were taken into it. `money` is by the prices of the settings at that time, 0 where there were none.
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


@dataclass(frozen=True, slots=True)
class StagedDocument:
    """What one file's content became.

    `work_key` names the work that made it, `reason` is empty for a good one, `suffix` is what of the
    file's name its type may hang on, `parsed` says whether a parser ran.
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


Row = DocumentRow | ChunkRow | RejectRow | RunRow | CostRow
