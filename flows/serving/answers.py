"""Answers: a store's answers to the questions of clients, as plain values with the JSON form of the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from docmill.flows.serving.json_text import finite, json_text
from docmill.flows.serving.kept_searches import KeptSearches
from docmill.flows.serving.open_stores import ServedStore
from docmill.flows.serving.query_notes import QueryNotes
from docmill.storage.errors import QueryError
from docmill.storage.process.cancellation import current_asker
from docmill.storage.schema import ChunkRow, DocumentRow, KeptPicture
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import Mode, Rewrite, SearchArguments, options_of
from docmill.storage.snapshots.change.diff import diff
from docmill.storage.snapshots.history import tags
from docmill.storage.snapshots.read.document import Document, figures_of
from docmill.storage.snapshots.read.outline import Section
from docmill.storage.timestamps import STATED

CHUNK_COLUMNS = (
    "chunk_id", "uri", "ordinal", "start_char", "end_char", "text", "context", "headings", "page", "line",
    "content_type", "strategy", "tokens", "role", "depth", "parent_id", "children", "phrasings",
)  # fmt: skip
_DOCUMENT = (
    "uri", "source", "title", "format", "content_type", "language", "lang", "author", "characters",
    "size", "chunks", "status", "parent", "reader", "source_url",
)  # fmt: skip
_MOST_PLACES, _SHOWN_S, _SHOWN_CHARACTERS = 20, 20.0, 20_000  # limits for the places of a figure: count, time, size
_MORE_HITS = "ask for fewer hits, allow more characters, or read a hit's document by its uri and span"
_MORE_TEXT = "ask again from start_char = next_start_char, or read one section"
_MORE_VALUES = "allow more characters, or narrow what is counted by where"
_MORE_ROWS = "ask for fewer rows or columns, or count them in SQL"


@dataclass(frozen=True, slots=True)
class Searching:
    """How searches rank according to the settings; `rewrite` asks a language model for rewordings if they say so.

    `notes` logs queries, and `kept` caches answers, if the settings enable this.
    """

    how: SearchArguments
    rewrite: Rewrite | None = None
    notes: QueryNotes | None = None
    kept: KeptSearches | None = None


@dataclass(frozen=True, slots=True)
class AskedSearch:
    """A search as a client asks for it; `most` is the limit of the answer in characters."""

    query: str
    k: int
    mode: Mode
    where: str | None
    searching: Searching
    most: int


@dataclass(frozen=True, slots=True)
class AskedPage:
    """A page of the list of documents: a filter, the uri after which it begins, and how many documents at most."""

    where: str | None
    prefix: str
    after: str
    limit: int
    most: int


@dataclass(frozen=True, slots=True)
class AskedChunk:
    """A chunk, and how many chunks before and after it, and whether its parent, to return."""

    chunk_id: str
    before: int
    after: int
    parent: bool
    most: int


def found(served: ServedStore, asked: AskedSearch) -> dict[str, Any]:
    """Return the hits of a search; `answered_as` names the question if a cached answer to another one is returned."""
    how = asked.searching
    search = partial(served.search, asked.query, asked.k, asked.mode, asked.where, how.rewrite, **how.how)
    query, hits = asked.query, None
    if how.kept is not None:
        kept = how.kept.get(served.store, asked.query, options_of(asked.k, asked.mode, asked.where, how.how), search)
        query, hits = kept.query, kept.hits
    hits = search() if hits is None else hits
    if how.notes is not None:
        how.notes.note(served.store, asked.query, hits, asked.mode, asked.where is not None, current_asker().client)
    other = {} if query == asked.query else {"answered_as": query}
    return {**served.head, "query": asked.query, **other, **_hits(hits, asked.most)}


def similar(served: ServedStore, chunk_id: str, k: int, where: str | None, most: int) -> dict[str, Any]:
    """Return the chunks nearest to a chunk, as hits."""
    return {**served.head, "chunk_id": chunk_id, **_hits(served.store.similar(chunk_id, k, where), most)}


def _hits(hits: Sequence[Hit], most: int) -> dict[str, Any]:
    kept, left = within([asdict(hit) for hit in hits], most)
    return {"hits": finite(kept), "left_out": left_out(left, "hits", _MORE_HITS)}


def document(served: ServedStore, uri: str, start: int, end: int | None, most: int) -> dict[str, Any]:
    """Return a document's row and as much of its text between two offsets as fits."""
    own = served.store.document(uri)
    last = len(own.text) if end is None else min(end, len(own.text))
    if not 0 <= start <= last:
        raise QueryError(f"start_char must be in [0, {last}], got {start}")
    shown = _shown(own.text[start:last], start, most)
    figures = [asdict(one) for one in figures_of(own.row) if start <= one.start_char < shown["end_char"]]
    kept, _ = within(figures, most)
    return {**served.head, "document": row_of(own, most), **shown, "figures": kept}


def figure(served: ServedStore, picture: KeptPicture) -> dict[str, Any]:
    """Return the facts of a picture, and where documents show it."""
    facts = {name: getattr(picture, name) for name in ("key", "media_type", "width", "height")}
    asked = f"SELECT uri, start_char, page, caption, alt FROM figures WHERE key = '{picture.key}'"
    return {**served.head, **facts, "shown": sql(served, asked, _MOST_PLACES, _SHOWN_S, _SHOWN_CHARACTERS)["rows"]}


def row_of(own: Document, most: int) -> dict[str, Any]:
    """Return a document's row with its metadata and warnings, as far as they fit."""
    row = {**document_row(own.row), "metadata": own.metadata, "warnings": own.warnings}
    (kept,), _ = within([finite(row)], most)
    return kept


def _shown(text: str, start: int, most: int) -> dict[str, Any]:
    """Return as much of a text as fits, its span, and how much is left."""
    shown = cut(text, most)
    end = start + len(shown)
    left = left_out(len(text) - len(shown), "characters", _MORE_TEXT)
    return {
        "start_char": start,
        "end_char": end,
        "text": shown,
        "left_out": {**left, "next_start_char": end} if left else None,
    }


def outline(served: ServedStore, uri: str, most: int) -> dict[str, Any]:
    """Return the sections of a document, without their texts."""
    rows = [section_row(one) for one in served.store.outline(uri)]
    advice = "allow more characters, or read the document by spans"
    return _listed({**served.head, "uri": uri}, "sections", rows, most, advice)


def _listed(head: dict[str, Any], name: str, rows: list[dict[str, Any]], most: int, advice: str) -> dict[str, Any]:
    """Return an answer with as many rows as fit, under the key `name`."""
    kept, left = within(rows, most)
    return {**head, name: kept, "left_out": left_out(left, name, advice)}


def section_row(one: Section) -> dict[str, Any]:
    """Return a section without its text."""
    return {name: value for name, value in asdict(one).items() if name != "text"}


def section(served: ServedStore, uri: str, which: str, most: int) -> dict[str, Any]:
    """Return a section of a document with as much of its text as fits."""
    own = served.store.section(uri, which)
    place = {name: value for name, value in asdict(own).items() if name not in ("text", "start_char", "end_char")}
    return {**served.head, "uri": uri, "section": place, **_shown(own.text, own.start_char, most)}


def chunk(served: ServedStore, asked: AskedChunk) -> dict[str, Any]:
    """Return a chunk with the chunks around it."""
    rows = served.store.neighbours(asked.chunk_id, asked.before, asked.after)
    place = next(place for place, row in enumerate(rows) if row.chunk_id == asked.chunk_id)
    others = _nearest_first(rows, place)
    parent = rows[place].parent_id if asked.parent else ""
    above = served.store.chunks([parent] if parent else []).values()
    every = (rows[place], *above, *others)
    kept, left = within([{name: getattr(row, name) for name in CHUNK_COLUMNS} for row in every], asked.most)
    advice = "ask for fewer neighbours, or allow more characters"
    return {**served.head, **_around(*kept), "left_out": left_out(left, "chunks", advice)}


def _around(own: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    """Return a chunk, the chunks before and after it in order, and its parent."""
    parents = [row for row in others if row["chunk_id"] == own["parent_id"]]
    rows = [row for row in others if row not in parents]
    rows.sort(key=lambda row: int(row["ordinal"]))
    place = sum(row["ordinal"] < own["ordinal"] for row in rows)
    return {"chunk": own, "before": rows[:place], "after": rows[place:], "parent": parents[0] if parents else None}


def _nearest_first(rows: Sequence[ChunkRow], place: int) -> list[ChunkRow]:
    """Return the rows around a place, nearest first, so that the limit of an answer cuts the farthest ones."""
    around = (place_of for place_of in range(len(rows)) if place_of != place)
    return [rows[one] for one in sorted(around, key=lambda one: abs(one - place))]


def documents(served: ServedStore, asked: AskedPage) -> dict[str, Any]:
    """Return a page of the list of documents; `next` is the uri after which the next page begins, or None."""
    limit = asked.limit
    rows = served.store.documents(asked.where, prefix=asked.prefix, after=asked.after, limit=limit + 1)
    kept, left = within([document_row(row) for row in rows[:limit]], asked.most)
    more = left or len(rows) > limit
    return {**served.head, "documents": kept, "next": kept[-1]["uri"] if kept and more else None}


def document_row(row: DocumentRow) -> dict[str, Any]:
    """Return the parts of a document's row that clients see."""
    return {name: getattr(row, name) for name in _DOCUMENT} | times_of(row)


def times_of(row: DocumentRow) -> dict[str, str]:
    """Return the times that a document states, in UTC and as stated, under their names in SQL."""
    instants = {STATED[name]: getattr(row, name) for name in STATED}
    return {
        **{name: value.isoformat() if value else "" for name, value in instants.items()},
        **{f"{name}_stated": getattr(row, name) for name in instants},
    }


def facets(served: ServedStore, name: str, query: str | None, where: str | None, most: int) -> dict[str, Any]:
    """Return as many values of a key of [metadata] or of a column as fit, with their counts."""
    return _listed(
        served.head, "values", [{**one} for one in served.store.facets(name, query, where)], most, _MORE_VALUES
    )


def sql(served: ServedStore, statement: str, rows: int, seconds: float, most: int) -> dict[str, Any]:
    """Return the first rows of a statement, each as an object."""
    from docmill.storage.sql.python_values import columns_of

    table = served.store.sql(statement, rows=rows + 1, seconds=seconds)
    names = table.column_names
    if len({*names}) < len(names):
        raise QueryError(f"two columns have one name in {', '.join(names)}; rename one of them with AS")
    found = [dict(zip(names, values, strict=True)) for values in zip(*columns_of(table), strict=True)]
    kept, left = within(finite(found[:rows]), most)
    over = left_out(left + len(found[rows:]), "rows_at_least", _MORE_ROWS)
    return {**served.head, "columns": names, "rows": kept, "left_out": over}


def status(served: ServedStore, most: int) -> dict[str, Any]:
    """Return what `docmill status --json` prints, with as many sources and unreadable files as fit."""
    whole = served.store.status()
    runs, sources_left = within(whole["source_runs"], most // 2)
    unreadable, left = entries_within(whole["unreadable"], most - len(json_text(runs)))
    over = left_out(left + sources_left, "entries", "SELECT uri, message FROM rejects WHERE reason = 'unreadable'")
    return {**served.head, "status": {**whole, "source_runs": runs, "unreadable": unreadable}, "left_out": over}


def snapshots(served: ServedStore, most: int) -> dict[str, Any]:
    """Return what `docmill history --json` prints, as many of the newest as fit, and the tags."""
    newest_first, left = within(served.store.history()[::-1], most)
    over = left_out(left, "snapshots", "allow more characters, or read older ones by SQL: SELECT * FROM snapshots")
    return {**served.head, "snapshots": newest_first[::-1], "tags": tags.tags(served.store.root), "left_out": over}


def judged(served: ServedStore, query: str | None, most: int) -> dict[str, Any]:
    """Return what `docmill judge list --json` prints, as many of the newest as fit."""
    newest_first, left = within([one.as_row() for one in served.store.judgements(query)][::-1], most)
    over = left_out(left, "judgements", "allow more characters, or read them by SQL: SELECT * FROM judgements")
    return {**served.head, "judgements": newest_first[::-1], "left_out": over}


def queries(served: ServedStore, most: int) -> dict[str, Any]:
    """Return what `docmill queries list --json` prints, as many of the most frequent as fit."""
    advice = "allow more characters, or read them by SQL: SELECT * FROM frequent_queries"
    return _listed(served.head, "queries", [asdict(one) for one in served.store.queries()], most, advice)


def gaps(served: ServedStore, most: int) -> dict[str, Any]:
    """Return what `docmill queries gaps --json` prints, as many of the most frequent as fit."""
    return _listed(served.head, "gaps", [asdict(one) for one in served.store.gaps()], most, "allow more characters")


def replay(served: ServedStore, old: ServedStore, searching: Searching, most: int) -> dict[str, Any]:
    """Return what `docmill replay --json` prints, as many of the most changed queries as fit; no model is asked."""
    how = searching.how if searching.rewrite is None else SearchArguments({**searching.how, "expand": ""})
    found = old.store.replay(served.store, **how)
    head = {**served.head, "before": old.store.snapshot.number}
    return _listed(head, "queries", [asdict(one) for one in found], most, "allow more characters")


def difference(served: ServedStore, old: ServedStore, texts: bool, most: int) -> dict[str, Any]:
    """Return what `docmill diff --json` prints, as far as it fits."""
    between = asdict(diff(old.store.stored, served.store.stored, texts=texts))
    of_documents, left = within(between["documents"], most // 2)
    of_chunks, more = within(between["chunks"], most // 2)
    return {
        **served.head,
        "difference": {**between, "documents": of_documents, "chunks": of_chunks},
        "counts": {name: len(between[name]) for name in ("documents", "chunks")},
        "left_out": left_out(left + more, "changes", "allow more characters, or compare snapshots that are nearer"),
    }


_LINE_SHARE = 0.2
"""The share of a text that may be cut off so that it ends with a whole line."""
_LEAST = 200
"""Characters of a text that are always kept, because a shorter excerpt is useless."""
_LEAST_OF_MANY = 20  # characters that are kept of each value of a row that is too long
_COUNTED = 40  # characters that the field `text_left_out` takes


def cut(text: str, most: int) -> str:
    """Return at most `most` characters from the beginning of a text, ending with a whole line if one ends nearby."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", int(most * (1 - _LINE_SHARE)), most)
    return text[: end + 1 if end >= 0 else most]


def within(items: Sequence[dict[str, Any]], most: int) -> tuple[list[dict[str, Any]], int]:
    """Return the first objects that fit into `most` characters of JSON, and how many do not.

    The first object is always included. If it is too long, its field `text` is cut, and `text_left_out` says by how
    much; if that is not enough, other values are cut, and each says so at its end.
    """
    kept: list[dict[str, Any]] = []
    size = 0
    for item in items:
        size += len(json_text(item))
        if size > most:
            break
        kept.append(item)
    if not kept and items:
        kept = [_shortened(items[0], most)]
    return kept, len(items) - len(kept)


def _shortened(item: dict[str, Any], most: int) -> dict[str, Any]:
    text = item.get("text")
    if isinstance(text, str):
        rest = len(json_text({**item, "text": ""}))
        shown = cut(text, max(_LEAST, most - rest))
        item = {**item, "text": shown, "text_left_out": len(text) - len(shown)}
        most += _LEAST  # because the text may exceed the limit by this much
    if len(json_text(item)) <= most + _COUNTED:
        return item
    share = max(_LEAST_OF_MANY, most // len(item))
    return {name: _cut_value(value, share) for name, value in item.items()}


def _cut_value(value: Any, most: int) -> Any:
    """Return a value, or only the beginning of its text if it is too long."""
    if isinstance(value, int | float | None):
        return value
    text = value if isinstance(value, str) else json_text(value)
    return value if len(text) <= most else f"{cut(text, most)}... [{len(text) - most:,} characters left out]"


def entries_within(of: Mapping[str, Any], most: int) -> tuple[dict[str, Any], int]:
    """Return the first entries of an object that fit into `most` characters of JSON, and how many do not."""
    kept, left = within([{name: value} for name, value in of.items()], most)
    return {name: value for one in kept for name, value in one.items()}, left


def left_out(count: int, what: str, advice: str) -> dict[str, Any] | None:
    """Return an answer's note about things that did not fit, or None if all did."""
    return {what: count, "how_to_get_it": advice} if count else None
