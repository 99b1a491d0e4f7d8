"""Judgements: what is kept of them, how they are found again, and who may write at the same time."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import duckdb
import pytest

from docmill.storage.errors import QueryError, StoreError
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import judgements
from docmill.storage.snapshots.read.judging import JudgedPassage
from docmill.storage.snapshots.read.store import Store
from tests.kit.workbench import MakeBench, Workbench

UNDO = "To undo a commit, reset the branch to the commit before it."
MILL = "The mill grinds wheat and rye between two stones."


def essay(number: int) -> str:
    """Return a document of paragraphs that no other document has."""
    told = (f"Station {number} sends its reading {part} at noon, and the gateway notes it." for part in range(12))
    return f"# Station {number}\n\n" + "\n\n".join(told) + "\n"


def never(*_: object) -> NoReturn:
    raise AssertionError("nothing has to be embedded")


@pytest.fixture
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"git.md": f"# Undo\n\n{UNDO}\n", "mill.md": f"# Mill\n\n{MILL}\n"})


@pytest.fixture
def store(bench: Workbench) -> Iterator[Store]:
    with bench.store as own:
        yield own


def only(passages: list[JudgedPassage]) -> JudgedPassage:
    (one,) = passages
    return one


def test_a_judgement_quotes_its_passage_and_is_shown_where_it_is(store: Store) -> None:
    hit = store.search("undo a commit", k=1)[0]
    made = store.judge("undo a commit", hit, by="Ada", note="exactly")
    found = only(store.judgements("Undo  a commit"))
    assert found.judgement == made
    assert (made.verdict, made.uri, made.quotation, made.snapshot) == ("right", "git.md", hit.text, 1)
    assert (found.state, found.uri, found.disputed) == ("found", "git.md", False)
    assert store.document("git.md").text[found.start_char : found.end_char] == hit.text
    assert store.judgements("another question") == []


def test_a_marked_passage_is_found_by_its_words_whatever_the_markup(bench: Workbench) -> None:
    bench.write({"bold.md": "# Bold\n\nPress the **red**\nbutton `twice`, then wait.\n"})
    bench.ingest()
    with bench.store as store:
        made = store.judge("how to reset", uri="bold.md", quotation="the red button twice")
        assert (made.verdict, made.quotation) == ("answer", "the **red**\nbutton `twice")
        with pytest.raises(QueryError, match="does not contain 'blue button'"):
            store.judge("how to reset", uri="bold.md", quotation="blue button")


def test_the_newest_judgement_of_a_person_counts_and_can_be_taken_back(store: Store) -> None:
    hit = store.search("undo a commit", k=1)[0]
    first = store.judge("undo a commit", hit, by="Ada")
    second = store.judge("undo a commit", hit, False, by="Ada")
    assert first.judgement_id == second.judgement_id
    assert only(store.judgements()).judgement.verdict == "wrong"
    assert store.withdraw(first.judgement_id) == second
    assert store.judgements() == []
    with pytest.raises(QueryError, match="no judgement"):
        store.withdraw(first.judgement_id)


def test_what_a_person_takes_back_brings_no_earlier_judgement_again(store: Store) -> None:
    hit = store.search("undo a commit", k=1)[0]
    store.judge("undo a commit", hit, False, by="Ada")
    other = store.judge("undo a commit", hit, by="Bo")
    marked = store.judge("undo a commit", hit, by="Ada", quotation="reset the branch")
    assert [one.judgement for one in store.judgements()] == [other, marked]
    store.withdraw(marked.judgement_id)
    assert [one.judgement for one in store.judgements()] == [other]


def test_two_people_who_disagree_are_shown(store: Store) -> None:
    hit = store.search("undo a commit", k=1)[0]
    store.judge("undo a commit", hit, by="Ada")
    store.judge("undo a commit", hit.chunk_id, False, by="Bo")
    store.judge("undo a commit", relevant=False, by="Cy")
    store.judge("grind wheat", store.search("grind wheat", k=1)[0], by="Bo")
    disputed = {(one.judgement.judged_by, one.judgement.query): one.disputed for one in store.judgements()}
    assert disputed == {
        ("Ada", "undo a commit"): True,
        ("Bo", "undo a commit"): True,
        ("Cy", "undo a commit"): True,
        ("Bo", "grind wheat"): False,
    }


def test_what_cannot_be_judged_is_refused(store: Store) -> None:
    hit = store.search("undo a commit", k=1)[0]
    for given, said in (
        ({"query": "undo"}, "say what answers"),
        ({"query": "undo", "uri": "git.md"}, "quote the passage"),
        ({"query": " ", "hit": hit}, "the query is empty"),
        ({"query": "undo", "hit": "0" * 32}, "no chunk"),
        ({"query": "undo", "uri": "no.md", "quotation": "reset"}, "no document"),
        ({"query": "w" * 2001, "hit": hit}, "limit of a judgement is 2,000"),
        ({"query": "undo", "hit": hit, "by": "x" * 201}, "limit of a judgement is 200"),
        ({"query": "undo", "hit": hit, "note": "x" * 2001}, "limit of a judgement is 2,000"),
        ({"query": "undo", "uri": "git.md", "quotation": "x" * 4001}, "limit of a judgement is 4,000"),
        ({"query": "undo", "hit": hit, "by": "\ud800"}, "not valid text"),
    ):
        with pytest.raises(QueryError, match=said):
            store.judge(**given)
    assert store.judgements() == []


def test_a_store_takes_so_many_judgements_and_no_more(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgements, "MOST", 2)
    hit = store.search("undo a commit", k=1)[0]
    for number in range(2):
        store.judge(f"undo {number}", hit)
    with pytest.raises(QueryError, match="has 2 judgements, which is the limit"):
        store.judge("undo 2", hit)


def test_a_store_that_cannot_be_written_says_so(store: Store) -> None:
    (store.root / judgements.FOLDER / "none.parquet").unlink()
    (store.root / judgements.FOLDER).rmdir()
    (store.root / judgements.FOLDER).write_text("in the way")
    with pytest.raises(StoreError, match="cannot be kept"):
        store.judge("undo", relevant=False)


def test_half_of_the_documents_are_edited_renamed_and_split_otherwise_and_nothing_is_lost(
    make_bench: MakeBench,
) -> None:
    bench = make_bench({f"{number}.md": essay(number) for number in range(12)})
    bench = Workbench(bench.folder, {})
    with bench.store as store:
        for number in range(12):
            hits = store.search(f"reading of station {number}", k=3, where=f"uri = '{number}.md'")
            for hit in hits:
                store.judge(f"reading of station {number}", hit, by="Ada")
        before = len(store.judgements())
        assert before >= 12
    changes: dict[str, str | None] = {}
    for number in range(0, 12, 4):  # renamed alone
        changes |= {f"{number}.md": None, f"old/{number}.md": essay(number)}
    for number in range(1, 12, 4):  # edited above and below, renamed
        edited = essay(number).replace("# Station", "# The weather station") + "\nA new end.\n"
        changes |= {f"{number}.md": None, f"edited/renamed-{number}.md": f"A new beginning.\n\n{edited}"}
    bench.write(changes)
    other = Workbench(bench.folder, {"split": {"structure": {"size": 24, "small": 0}}})
    other.ingest(allow_delete=True)
    with other.store as store:
        found = store.judgements()
        texts = {row.uri: store.document(row.uri).text for row in store.documents()}
    whole = [one for one in found if any(one.judgement.quotation in text for text in texts.values())]
    assert len(found) == before
    assert [one for one in whole if one.state == "lost"] == []
    for one in whole:
        assert texts[one.uri][one.start_char : one.end_char] == one.judgement.quotation
    changed = [one for one in found if one not in whole]
    assert {one.state for one in changed} <= {"changed"}, "its heading was edited, the rest is there"
    assert {one.state for one in found} >= {"found", "moved"}


def test_a_passage_that_is_gone_is_lost_and_comes_back_with_its_text(bench: Workbench) -> None:
    with bench.store as store:
        store.judge("undo a commit", store.search("undo a commit", k=1)[0])
    bench.write({"git.md": "# Undo\n\nSomething else entirely stands here now.\n"})
    bench.ingest()
    with bench.store as store:
        assert [(one.state, one.uri) for one in store.judgements()] == [("lost", "")]
    bench.write({"git.md": f"# Undo\n\n{UNDO}\n"})
    bench.ingest()
    with bench.store as store:
        assert [(one.state, one.uri) for one in store.judgements()] == [("found", "git.md")]


def test_a_short_quotation_is_not_looked_for_in_other_documents(bench: Workbench) -> None:
    with bench.store as store:
        store.judge("what is ground", uri="mill.md", quotation="wheat and rye")
    bench.write({"mill.md": None, "bread.md": "# Bread\n\nMade of wheat and rye.\n"})
    bench.ingest(allow_delete=True)
    with bench.store as store:
        assert only(store.judgements()).state == "lost"


def test_judging_needs_no_lock_and_many_may_judge_while_a_run_commits(bench: Workbench) -> None:
    with bench.store as store:
        hit = store.search("undo a commit", k=1)[0]
        bench.write({"more.md": "# More\n\nText.\n"})
        run = threading.Thread(target=bench.ingest)
        run.start()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: store.judge(f"undo {n % 20}", hit, by=f"person {n}"), range(60)))
        run.join()
    with bench.store as store:
        assert store.snapshot.number == 2
        assert len(store.judgements()) == 60


def test_sql_and_the_views_for_duckdb_show_what_counts(bench: Workbench) -> None:
    with bench.store as store:
        hit = store.search("undo a commit", k=1)[0]
        kept = store.judge("undo a commit", hit, by="Ada")
        gone = store.judge("grind wheat", hit, False, by="Bo")
        store.withdraw(gone.judgement_id)
        statement = "SELECT query, verdict, judged_by, uri FROM judgements"
        expected = [("undo a commit", "right", "Ada", "git.md")]
        assert [tuple(row.values()) for row in store.sql(statement).to_pylist()] == expected
    with duckdb.connect(":memory:") as connection:
        connection.execute((bench.root / "views.sql").read_text())
        assert connection.execute(statement).fetchall() == expected
        (created,) = connection.execute("SELECT created::VARCHAR FROM judgements").fetchall()[0]
    assert created.startswith(kept.created[:10])


def test_a_damaged_judgement_is_named_and_set_aside(bench: Workbench) -> None:
    with bench.store as store:
        store.judge("undo a commit", store.search("undo a commit", k=1)[0])
    (path,) = (one for one in (bench.root / judgements.FOLDER).glob("*.parquet") if one.stem != "none")
    path.write_bytes(b"PAR1")
    assert [(one.kind, path.name in one.message) for one in verify(bench.root)] == [("judgements", True)]
    assert any("a judgement" in line for line in repair(bench.root, never).done)
    assert verify(bench.root) == []
