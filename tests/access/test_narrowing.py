"""Narrowing: what is made for principals holds nothing of hidden documents, and is made before they ask again."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.serving.open_stores import OpenStores
from docmill.storage.process.cancellation import Asker, asked_by
from docmill.storage.search.keywords.keyword_writer import open_segment
from docmill.storage.snapshots.read import store as reader
from docmill.storage.snapshots.read.store import Store, make_ahead
from tests.kit.workbench import MakeBench, Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

ALL, BOARD = frozenset({"all"}), frozenset({"board"})


def page(name: str, change: str = "") -> str:
    prices = "The wheat is sold by weight. " * 30
    return f"# {name}\n\nThe mill of {name} turns its wheel. {change}\n\n## Price\n\n{prices}\n"


@pytest.fixture
def bench(make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    monkeypatch.setattr("docmill.storage.snapshots.tables.tables.ROWS_PER_BUCKET", 16)
    files = {f"{folder}/{number}.md": page(f"{folder}{number}") for folder in ("open", "board") for number in range(40)}
    files["board/_metadata.toml"] = 'access = ["board"]\n'
    files["board/secret.md"] = "# Secret\n\nThe zeppelin lands at the mill.\n"
    return make_bench(files)


def terms(store: Store) -> set[str]:
    segments = store.snapshot.keywords.segments
    return {term for one in segments for term in open_segment(store.root, one).postings.terms.to_pylist()}


def told(store: Store) -> Any:
    """Return what a store says, by its tables and both indexes."""
    rows = [store.sql(f"SELECT * FROM {name} ORDER BY ALL").to_pylist() for name in ("documents", "chunks")]
    hits = [[(hit.chunk_id, round(hit.score, 9)) for hit in store.search(text, k=20)] for text in ("mill", "open7 new")]
    return rows, hits, store.sql("SELECT chunk_id, part FROM vectors ORDER BY ALL").to_pylist()


def test_no_word_and_no_row_of_a_hidden_document_is_in_what_principals_see(bench: Workbench) -> None:
    with bench.store as store:
        seen = store.seen_by(ALL)
        assert "zeppelin" in terms(store)
        assert "zeppelin" not in terms(seen)
        assert sum(one.dead for one in seen.snapshot.keywords.segments) == 0
        assert seen.snapshot.keywords.rows == seen.snapshot.rows("chunks") < store.snapshot.rows("chunks")
        for nobody in ([], ["nobody"]):
            assert not terms(store.seen_by(nobody))
            assert store.seen_by(nobody).search("mill") == []


def test_what_principals_see_takes_over_files_that_are_as_they_were(bench: Workbench) -> None:
    earlier = bench.store
    seen = earlier.seen_by(ALL)
    before = {path.stat().st_ino for path in (seen.root / "tables").rglob("*.parquet")}
    for change in (
        {"open/7.md": page("open7", "It is new.")},
        {"open/8.md": None, "board/3.md.meta.toml": 'access = ["all"]\n'},
        {"open/9.md.meta.toml": 'access = ["board"]\n'},
    ):
        bench.write(change)
        bench.ingest()
        fresh = bench.store
        made = make_ahead(fresh, earlier, ALL)
        shared = {path.stat().st_ino for path in (made.root / "tables").rglob("*.parquet")} & before
        assert shared
        assert told(made) == told(bench.store.seen_by(ALL))
        before |= {path.stat().st_ino for path in (made.root / "tables").rglob("*.parquet")}
        earlier = fresh
    del seen
    assert told(earlier.seen_by(ALL)) == told(bench.store.seen_by(ALL))


@pytest.fixture
def stores(bench: Workbench) -> Iterator[OpenStores]:
    own = OpenStores({"handbook": bench.root}, frozenset())
    with asked_by(Asker("", ALL)):
        yield own


def test_a_server_makes_what_recent_askers_see_before_a_snapshot_serves(bench: Workbench, stores: OpenStores) -> None:
    first = stores.get().store
    bench.write({"open/9.md.meta.toml": 'access = ["board"]\n'})
    bench.ingest()
    made: list[frozenset[str]] = []
    with pytest.MonkeyPatch.context() as patch:
        narrow = reader._narrowed_to

        def noted(stored: Any, own: frozenset[str], *more: Any) -> Any:
            made.append(own)
            return narrow(stored, own, *more)

        patch.setattr(reader, "_narrowed_to", noted)
        stores.take_up()
        assert made == [ALL]
        second = stores.get().store
        assert made == [ALL], "it was made ahead"
    assert first.documents("uri = 'open/9.md'")
    assert not second.documents("uri = 'open/9.md'")


def test_who_asks_for_what_is_made_waits_for_nobody(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()
    narrow = reader._narrowed_to

    def slow(stored: Any, own: frozenset[str], *more: Any) -> Any:
        if own == BOARD:
            begun.set()
            assert go.wait(30)
        return narrow(stored, own, *more)

    monkeypatch.setattr(reader, "_narrowed_to", slow)
    with bench.store as store:
        ready = store.seen_by(ALL)
        found: list[Store] = []
        threads = [threading.Thread(target=lambda: found.append(store.seen_by(BOARD))) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert begun.wait(30)
        assert store.seen_by(ALL) is ready
        go.set()
        for thread in threads:
            thread.join()
        assert found[0] is found[1]


def test_few_visible_chunks_are_in_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.storage.snapshots.tables.tables.ROWS_PER_BUCKET", 4)
    bench = Workbench(tmp_path)
    bench.write({f"{number}.md": page(str(number)) for number in range(64)})
    bench.write({"_metadata.toml": 'access = ["board"]\n', "7.md.meta.toml": 'access = ["all"]\n'})
    bench.ingest()
    with bench.store as store:
        seen = store.seen_by(ALL)
        assert (len(seen.stored.pieces("chunks")), len(seen.stored.pieces("documents"))) == (1, 1)
        assert len(store.stored.pieces("chunks")) > 8
        assert [row.uri for row in seen.documents()] == ["7.md"]
        assert seen.document("7.md").text == store.document("7.md").text
        assert {row.uri for row in seen.chunks([hit.chunk_id for hit in seen.search("mill")]).values()} == {"7.md"}
