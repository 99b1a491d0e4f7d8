"""Report files: write the page as a folder that opens from disk, with the data of one snapshot.

A page from disk may load scripts, but no data, so each data file is a script that passes its JSON to the page. The
folder is written under a temporary name and swapped in one step, so it is always complete.
"""

import json
import shutil
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from docmill.flows.measure.chunk_map import chunk_map
from docmill.flows.serving import answers
from docmill.flows.serving.json_text import json_text
from docmill.flows.serving.open_stores import ServedStore
from docmill.flows.serving.page.map_columns import map_columns
from docmill.flows.serving.page.page_bundle import FOLDER, bundle, index, questions
from docmill.storage.errors import ConfigError, QueryError, StoreError
from docmill.storage.exports.export_lock import claim
from docmill.storage.exports.folder_swap import draft_of, settle_swap, swap
from docmill.storage.failpoints import boundary
from docmill.storage.files import explain_full_disk
from docmill.storage.schema import DocumentRow
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.document import SHOWN_TYPES, figures_of, whole_documents
from docmill.storage.snapshots.read.facets import KEY
from docmill.storage.snapshots.read.outline import outline
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.storage.snapshots.tables.tables import read_table

_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:;"
    " base-uri 'none'; form-action 'none'"
)  # browsers differ on whether 'self' includes the folder of a page from disk, so the scheme is listed, too
_MARK = '<meta name="generator" content="docmill report" />'
_CHARSET = '<meta charset="utf-8" />'
_OWN = {"index.html", "page", "data"}


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A written report: its folder, the snapshot, its number of documents, and how many are `held` with their texts.

    `pending` counts the chunks of the snapshot that have no vector yet, and so no point on the map.
    """

    folder: Path
    snapshot: int
    documents: int
    held: int
    pending: int


def write_report(served: ServedStore, folder: Path, most: int) -> WrittenReport:
    """Write the page with the data of a snapshot, including the texts of the `most` documents that changed last.

    Raises:
        docmill.errors.ConfigError: The folder contains something other than a report.
        docmill.errors.StoreError: A file of the snapshot is damaged.
        docmill.errors.Locked: Another report is being written there.
        docmill.errors.Transient: The disk is full.
    """
    held = held_of(served.store, most)
    write_folder(folder, values_of(served, held))
    snapshot = served.store.snapshot
    pending = snapshot.pending.chunks if snapshot.pending else 0
    return WrittenReport(folder, snapshot.number, held.total, held.documents, pending)


def write_folder(folder: Path, values: Iterable[tuple[str, Any]]) -> None:
    """Write the page with data files, each given as a name and a value. Errors are those of `write_report`."""
    with explain_full_disk(folder), claim(folder):
        settle_swap(folder)
        _check(folder)
        draft = draft_of(folder)
        _fill(draft, values)
        swap(draft, folder)


def _check(folder: Path) -> None:
    """Raise `ConfigError` if a folder contains anything but a report, because writing replaces all of it."""
    if not folder.exists():
        return
    if not folder.is_dir() or folder.is_symlink():
        raise ConfigError(f"{folder} is no folder; name one for the report")
    names = {path.name for path in folder.iterdir()}
    index = folder / "index.html"
    ours = index.is_file() and _MARK in index.read_text("utf-8", "replace")
    if names and not ours:
        raise ConfigError(f"{folder} is not empty and holds no report; name another folder")
    if other := sorted(names - _OWN):
        raise ConfigError(f"{folder} holds files besides its report: {', '.join(other[:3])}; move these away")


def _fill(folder: Path, values: Iterable[tuple[str, Any]]) -> None:
    """Write the files of a report, with `index.html` last."""
    (folder / "data").mkdir()
    (folder / "page").mkdir()
    for name, value in values:
        with boundary(f"report {name}"):
            (folder / "data" / f"{name}.js").write_text(_script(name, value), "utf-8")
    for name in ("page.css", "favicon.svg", "vendor/LICENSES.txt"):
        shutil.copyfile(FOLDER / name, folder / "page" / Path(name).name)
    (folder / "page" / "page.js").write_text(bundle(), "utf-8")
    (folder / "index.html").write_text(_index(), "utf-8")


def _script(name: str, value: Any) -> str:
    """Return a script that passes a value to the page, as JSON text: in an object literal, `__proto__` is not a key."""
    return f"docmill.take({json.dumps(name)}, {json.dumps(json_text(value), ensure_ascii=False)});\n"


def _index() -> str:
    """Return the HTML of a report, with the policy that a server would send."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}" />'
    page = index("page.js").replace(_CHARSET, f"{_CHARSET}\n    {policy}\n    {_MARK}")
    return page.replace("<body>", "<body data-report>")


MOST_CHARACTERS = 20_000_000
"""Characters of all texts of a report: the browser searches them in memory, at some five bytes each."""
_MOST_PICTURES = 50_000_000  # bytes of all pictures of a report, so that it can still be sent to somebody
_PACK = 500_000  # characters of a file, which is read whole to open one of its documents
_MOST_LISTED = 20_000  # documents in the list, some 300 bytes each
_MOST_CHANGED = 2_000_000  # characters of the changes since the previous snapshot
_ROWS = 10_000  # rows of a question of the page, whose statements have lower limits
_SECONDS = 60.0  # seconds for a question
_OF_EVALUATIONS = {
    "asked": "SELECT asking, question, text, rank, answers, hits FROM asked_questions ORDER BY created DESC, question",
    "values": "SELECT evaluation_id, items, item_values FROM evaluations WHERE asking <> '' ORDER BY created DESC",
}
"""Questions about evaluations: a server is asked about one, but a report has the rows of all, newest first."""
_CHUNK = [
    "chunk_id", "ordinal", "start_char", "end_char", "content_type", "strategy", "tokens", "page", "line", "role",
    "depth", "children", "note", "context", "headings", "parent_id", "phrasings",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Held:
    """The contents of a report: the listed documents, the documents in each file of texts, and the store's `total`."""

    listed: Sequence[DocumentRow]
    packs: Sequence[Sequence[DocumentRow]]
    total: int

    @property
    def documents(self) -> int:
        """How many documents the report has with their texts."""
        return sum(map(len, self.packs))


def held_of(store: Store, most: int) -> Held:
    """Choose the documents of a report: the `most` that changed last, as far as their texts fit."""
    rows = store.documents()
    newest = sorted(rows, key=lambda row: (-row.mtime_ns, row.uri))
    chosen: list[DocumentRow] = []
    left = MOST_CHARACTERS
    for row in newest:
        if len(chosen) < most and row.characters <= left:
            chosen.append(row)
            left -= row.characters
    listed = {row.uri for row in newest[:_MOST_LISTED]} | {row.uri for row in chosen}
    return Held([row for row in rows if row.uri in listed], list(_packed(sorted(chosen, key=_uri))), len(rows))


def _uri(row: DocumentRow) -> str:
    return row.uri


def _packed(rows: Sequence[DocumentRow]) -> Iterator[list[DocumentRow]]:
    pack: list[DocumentRow] = []
    for row in rows:
        pack.append(row)
        if sum(one.characters for one in pack) >= _PACK:
            yield pack
            pack = []
    if pack:
        yield pack


def values_of(served: ServedStore, held: Held) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each data file."""
    store = served.store
    before = _before(store)
    yield "about", _about(served, held, before)
    yield "documents", _listed(held)
    statements = {**questions(), **_OF_EVALUATIONS, **_between(store, before)}
    yield "health", {name: _rows(store, name, statement, before) for name, statement in statements.items()}
    yield "map", _map(served)
    yield from _pictures(store, held)
    if before is not None:
        with before:
            changes = answers.difference(served, ServedStore(served.name, before), True, _MOST_CHANGED)
            yield "changes", changes
            yield from _texts(store, held, before)
    else:
        yield from _texts(store, held, None)


def _pictures(store: Store, held: Held) -> Iterator[tuple[str, Any]]:
    """Yield the distinct pictures of a report's documents, as far as they fit."""
    left = _MOST_PICTURES
    figures = {one.key: one for pack in held.packs for row in pack for one in figures_of(row)}
    for key, one in figures.items():
        if one.bytes <= left and one.media_type in SHOWN_TYPES:
            left -= one.bytes
            encoded = b64encode(store.figure(key).data).decode()
            yield f"figure-{key}", {"source": f"data:{one.media_type};base64,{encoded}"}


def _before(store: Store) -> Store | None:
    """Return the newest kept snapshot before that of the report, if there is one."""
    earlier = [number for number in snapshots.numbers(store.root) if number < store.snapshot.number]
    try:
        return open_store(store.root, earlier[-1]) if earlier else None
    except StoreError:  # a vacuum removed it, or it is damaged
        return None


def _between(store: Store, before: Store | None) -> dict[str, str]:
    """Return the questions about the snapshot and the one before, which `questions.js` calls OLD and NEW."""
    if before is None:
        return {}
    old, new = str(before.snapshot.number), str(store.snapshot.number)
    return {name: asked.replace("OLD", old).replace("NEW", new) for name, asked in questions("BETWEEN").items()}


_STATUS = ("snapshot", "created", "documents", "chunks", "rejects", "vectors", "poorly_read")


def _about(served: ServedStore, held: Held, before: Store | None) -> dict[str, Any]:
    whole = served.store.status()
    status = {name: whole[name] for name in _STATUS}
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "head": served.head,
        "keys": served.store.snapshot.keys,
        "status": {**status, "made": made, "held": held.documents},
        "before": before.snapshot.number if before else None,
        "snapshots": served.store.history()[-2 if before else -1 :],
    }


def _listed(held: Held) -> list[dict[str, Any]]:
    packs = {row.uri: number for number, pack in enumerate(held.packs) for row in pack}
    return [{**_in_list(row), "pack": packs.get(row.uri)} for row in held.listed]


_LISTED = (
    "uri", "title", "format", "content_type", "chunks", "characters", "status", "lang",
)  # fmt: skip


def _in_list(row: DocumentRow) -> dict[str, Any]:
    changed = datetime.fromtimestamp(row.mtime_ns / 1e9, UTC).isoformat(timespec="seconds")
    declared = {f"{KEY}{key}": value for key, value in json.loads(row.declared or "{}").items()}
    return {**{name: getattr(row, name) for name in _LISTED}, **answers.times_of(row), "changed": changed, **declared}


def _rows(store: Store, name: str, statement: str, before: Store | None) -> Any:
    """Return the rows of a question, or why there are none."""
    try:
        found = answers.sql(ServedStore("", store), statement, _ROWS, _SECONDS, 5_000_000)["rows"]
    except QueryError as error:
        return {"error": str(error)}
    kept = {store.snapshot.number, before.snapshot.number if before else None}
    return [row for row in found if row["snapshot"] in kept] if name == "snapshots" else found


def _map(served: ServedStore) -> dict[str, Any]:
    try:
        return {**served.head, **map_columns(served.store, chunk_map(served.store))}
    except ConfigError as error:  # scikit-learn is not installed
        return {"error": str(error)}


def _texts(store: Store, held: Held, before: Store | None) -> Iterator[tuple[str, Any]]:
    chunks = _chunks_by_document(store, [row.document_id for pack in held.packs for row in pack])
    earlier = {row.uri: row for row in before.documents()} if before else {}
    for number, pack in enumerate(held.packs):
        texts = _earlier_texts(before, pack, earlier)
        yield (
            f"pack-{number}",
            {
                own.uri: {
                    "row": answers.row_of(own, _MOST_CHANGED),
                    "text": own.text,
                    "characters": len(own.text),
                    "chunks": chunks.get(own.row.document_id, []),
                    "regions": sorted(own.row.regions, key=itemgetter("start_char")),
                    "figures": [asdict(one) for one in figures_of(own.row)],
                    "outline": [answers.section_row(one) for one in outline(own.text, own.elements)],
                    **texts.get(own.uri, {"before": None}),
                }
                for own in whole_documents(store.stored, pack)
            },
        )


def _earlier_texts(
    before: Store | None, pack: Sequence[DocumentRow], earlier: dict[str, DocumentRow]
) -> dict[str, dict[str, str]]:
    """Return the texts of the previous snapshot, by uri; empty for a document whose text has not changed."""
    if before is None:
        return {}
    keys = {row.uri: row.text_key for row in pack}
    known = [earlier[uri] for uri in keys if uri in earlier]
    other = [row for row in known if row.text_key != keys[row.uri]]
    texts = {own.uri: {"before": own.text} for own in whole_documents(before.stored, other)}
    return {row.uri: texts.get(row.uri, {}) for row in known}


def _chunks_by_document(store: Store, ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    table = read_table(store.stored, "chunks", ["document_id", *_CHUNK])
    table = table.filter(pc.is_in(table.column("document_id"), value_set=pa.array(ids, pa.string())))
    place = table.schema.get_field_index("children")
    table = table.set_column(place, "children", pc.list_value_length(table.column("children")))
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.sort_by([("document_id", "ascending"), ("ordinal", "ascending")]).to_pylist():
        found.setdefault(row.pop("document_id"), []).append(row)
    return found
