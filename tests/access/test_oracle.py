"""Access against an oracle: what principals are told of a store is what a store of their documents alone tells."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.measure.chunk_map import ChunkMap, chunk_map
from docmill.storage.errors import QueryError
from docmill.storage.snapshots.read.facets import facet_counts
from docmill.storage.snapshots.read.store import Store, open_store
from tests.access.company import PRINCIPALS, files, founded, sees, visible
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

QUESTIONS = (
    "mill wheel river", "number1", "zeppelin100", "zeppelin300 of the board", "Vertrag Mühle nicht", "wheat12 price",
    "The price of open", "mail ledger offer", "Detail 2", "stone grain flour baker winter contract",
)  # fmt: skip
HOW: tuple[dict[str, Any], ...] = (
    {},
    {"mode": "keyword"},
    {"mode": "vector"},
    {"parents": True, "widen": 90},
    {"distinct": False, "k": 40},
    {"expand": "feedback", "diversity": 0.3, "passages": 60},
    {"where": "format = 'markdown' AND uri LIKE '%notice%'", "k": 20},
    {"where": "list_contains(metadata.tags, 'mill') OR metadata.team = 'board'", "k": 20},
)
TAGGED = "list_contains(metadata.tags, 'mill') AND metadata.team IS NOT NULL"
STATEMENTS = (
    "SELECT metadata.team AS team, count(*) FROM documents GROUP BY ALL ORDER BY ALL",
    "SELECT unnest(metadata.tags) AS tag, count(*) FROM documents GROUP BY ALL ORDER BY ALL",
    "SELECT * EXCLUDE (regions) FROM documents ORDER BY uri",
    "SELECT * FROM chunks ORDER BY chunk_id",
    "SELECT format, count(*) FROM documents GROUP BY ALL ORDER BY ALL",
    "SELECT * FROM routing ORDER BY ALL",
    "SELECT * FROM lengths ORDER BY ALL",
    "SELECT * EXCLUDE (similarity) FROM duplicates ORDER BY ALL",
    "SELECT * FROM warnings ORDER BY ALL",
    "SELECT uri, status FROM freshness ORDER BY uri",
    "SELECT key FROM embeddings ORDER BY key",
    "SELECT chunk_id, part FROM vectors ORDER BY ALL",
    "SELECT documents, chunks, rejects, pending FROM snapshots",
    "SELECT count(*) FROM rejects",
    "SELECT count(*) FROM deleted",
    "SELECT uri FROM documents_at(1) ORDER BY uri",
    "FROM (SELECT unnest(list(DISTINCT uri ORDER BY uri)) FROM chunks_at(1))",
)


def told(stores: tuple[Store, Store], ask: Callable[..., Any], *given: Any, **how: Any) -> tuple[Any, Any]:
    """Return what both stores answer, or the words of their errors."""

    def answer(store: Store) -> Any:
        try:
            return ask(store, *given, **how)
        except QueryError as error:
            return f"{type(error).__name__}: {error}"

    narrowed, alone = map(answer, stores)
    return narrowed, alone


def hits_of(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a store with its rows as dicts."""
    return lambda *given, **how: [asdict(row) for row in ask(*given, **how)]


def plain(value: Any) -> Any:
    """Return a value as JSON with rounded numbers: sums of floats depend on the order of rows."""
    return json.loads(json.dumps(value, default=str), parse_float=lambda text: round(float(text), 7))


SIZES = [pytest.param(0, id="of 50 documents"), pytest.param(9, id="of 500 documents", marks=pytest.mark.soak)]
"""The rooms of each folder of the company."""


@pytest.fixture(scope="module", params=SIZES)
def rooms(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory, rooms: int) -> Workbench:
    return founded(tmp_path_factory.mktemp("company"), files(rooms))


@pytest.fixture(scope="module", params=PRINCIPALS, ids="-".join)
def both(
    request: pytest.FixtureRequest, company: Workbench, rooms: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Store, Store]]:
    """Return the store as principals see it, and a store of their documents alone."""
    alone = founded(tmp_path_factory.mktemp("alone"), visible(files(rooms), request.param))
    with open_store(company.root, principals=request.param) as narrowed, open_store(alone.root) as store:
        yield narrowed, store


def test_principals_see_their_documents_and_no_others(company: Workbench, rooms: int) -> None:
    every = [row.uri for row in company.store.documents()]
    assert len(every) >= (500 if rooms else 50)
    kinds = {uri.rpartition("/")[2] for uri in every}
    assert {"deep.md", "offer.md", "near.md", "mail.eml", "table.csv"} <= kinds
    for principals in PRINCIPALS:
        found = {row.uri for row in company.store.seen_by(principals).documents()}
        assert found == {uri for uri in every if sees(principals, _file_of(uri))} != set(every)
    assert not company.store.seen_by([]).documents()
    assert not company.store.seen_by(["nobody"]).search("mill")


def _file_of(uri: str) -> str:
    """Return the file in the source that holds a document."""
    for container in ("pack.zip", "mail.eml"):
        uri = uri.partition(f"{container}/")[0] + container if f"{container}/" in uri else uri
    return uri


@pytest.mark.parametrize("how", HOW, ids=str)
def test_searches_have_the_same_hits_with_the_same_scores(both: tuple[Store, Store], how: dict[str, Any]) -> None:
    for question in QUESTIONS:
        found, truth = told(both, hits_of(Store.search), question, **how)
        assert plain(found) == plain(truth), question


def test_statements_have_the_same_rows(both: tuple[Store, Store]) -> None:
    for statement in STATEMENTS:
        found, truth = told(both, lambda store, text: store.sql(text).to_pylist(), statement)
        assert plain(found) == plain(truth), statement


def test_documents_are_read_the_same_and_hidden_ones_are_as_good_as_absent(
    both: tuple[Store, Store], company: Workbench
) -> None:
    narrowed, alone = both
    assert plain([asdict(row) for row in narrowed.documents()]) == plain([asdict(row) for row in alone.documents()])
    for row in company.store.documents():
        for read in (Store.document, Store.outline, lambda store, uri: store.section(uri, "1")):
            found, truth = told(both, read, row.uri)
            assert found == truth, row.uri


def test_chunks_have_the_same_neighbours_and_hidden_ones_none(both: tuple[Store, Store], company: Workbench) -> None:
    ids = sorted(row.chunk_id for row in company.chunks())
    narrowed, alone = both
    assert narrowed.chunks(ids) == alone.chunks(ids) != {}
    for chunk_id in ids[::7]:
        for asked in (Store.neighbours, Store.similar):
            found, truth = told(both, hits_of(asked), chunk_id)
            assert plain(found) == plain(truth), chunk_id


def test_counts_facets_and_maps_are_the_same(both: tuple[Store, Store]) -> None:
    apart = {"store", "created", "bytes", "source_runs"}
    found, truth = ({name: value for name, value in one.status().items() if name not in apart} for one in both)
    assert found == truth
    assert both[0].status()["source_runs"] == []
    found_history, history = ([{**row, "created": "", "run_id": ""} for row in one.history()] for one in both)
    assert plain(found_history) == plain(history)
    assert facet_counts(both[0].stored) == facet_counts(both[1].stored)
    for facet in ("team", "tags", "format", "lang", "source", "colour"):
        for query, where in ((None, None), ("mill wheel", None), ("mill", "team <> 'board'"), (None, TAGGED)):
            counts, truth = told(both, Store.facets, facet, query=query, where=where)
            assert counts == truth, (facet, query, where)
    narrowed, alone = (chunk_map(one) for one in both)
    assert sorted(_ids(narrowed)) == sorted(_ids(alone))
    assert narrowed.left_out == alone.left_out


def _ids(made: ChunkMap) -> list[str]:
    found: list[str] = made.chunks.column("chunk_id").to_pylist()
    return found


def test_exports_have_the_same_rows(both: tuple[Store, Store], tmp_path: Path) -> None:
    written = []
    for number, store in enumerate(both):
        store.export(tmp_path / f"{number}.jsonl")
        rows = [json.loads(line) for line in (tmp_path / f"{number}.jsonl").read_text().splitlines()]
        written.append(sorted((row for row in rows if "chunk_id" in row), key=lambda row: str(row["chunk_id"])))
    assert plain(written[0]) == plain(written[1]) != []
