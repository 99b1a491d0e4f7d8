"""Answers ahead: what the page asks is answered once for a snapshot, also for a server that starts again."""

import json
import shutil
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.responses import Response

from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.page import answers_ahead
from docmill.flows.serving.page.answers_ahead import AnswersAhead, KeptAnswers
from docmill.flows.serving.page.page_bundle import questions
from docmill.flows.serving.page.page_questions import RowsQuestion
from docmill.storage.errors import StoreError
from docmill.storage.snapshots.history import snapshots
from docmill.storage.sql import statement_pool
from docmill.storage.sql.statement_pool import StatementPool
from tests.kit.workbench import Workbench

AHEAD = {**questions("LISTS"), **questions()}


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    """Return a store of one document."""
    assert fake_model
    made = Workbench(tmp_path)
    made.write({"git.md": "# Undo\n\nTo undo a commit, reset the branch.\n"})
    made.ingest()
    return made


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time by which answers are made ahead, in seconds, to be set."""
    set_to = [0.0]
    monkeypatch.setattr(answers_ahead, "time", SimpleNamespace(monotonic=lambda: set_to[0], time=time.time))
    return set_to


def asked(statement: str) -> RowsQuestion:
    return RowsQuestion(query=statement, max_rows=100_000, max_characters=5_000_000)


def rows(ahead: AnswersAhead, stores: OpenStores, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(bytes(ahead.rows(stores.get(), asked(AHEAD[name])).body))["rows"]
    return found


def facets(ahead: AnswersAhead, stores: OpenStores) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(bytes(ahead.facets(stores.get()).body))["rows"]
    return found


def test_the_page_is_answered_ahead_while_it_is_open_and_over_a_restart(bench: Workbench) -> None:
    stores = OpenStores({"handbook": bench.root})
    ahead = AnswersAhead(stores, settle_s=0)
    kept = bench.root / "cache" / "page"
    ahead.look()
    assert [path.name for path in kept.iterdir()] == ["1"]
    bench.write({"mill.md": "# Mill\n\nThe mill grinds.\n"})
    bench.ingest()
    stores.take_up()
    ahead.look()
    assert [path.name for path in kept.iterdir()] == ["1"]  # nobody has a page open
    ahead.note_page()
    ahead.look()
    assert [path.name for path in kept.iterdir()] == ["2"]  # and those about the other snapshot are gone
    before = {name: rows(ahead, stores, name) for name in AHEAD}
    counted = facets(ahead, stores)
    assert [row["uri"] for row in before["documents"]] == ["git.md", "mill.md"]
    assert {tuple(row.values()) for row in counted} == {
        ("content_type", "narrative", 2),
        ("format", "markdown", 2),
        ("year", time.strftime("%Y"), 2),
    }
    again = OpenStores({"handbook": bench.root})
    again.get()
    shutil.rmtree(bench.root / "tables")  # so that nothing can be counted any more
    fresh = AnswersAhead(again)
    for own, from_stores in ((ahead, stores), (fresh, again)):
        assert {name: rows(own, from_stores, name) for name in before} == before
        assert facets(own, from_stores) == counted
    with pytest.raises(StoreError):
        fresh.rows(again.get(), asked("SELECT count(*) FROM documents"))
    snapshots.path_of(bench.root, 1).unlink()  # as a vacuum does
    with pytest.raises(StoreError):
        rows(fresh, again, "snapshots")


def test_a_server_that_starts_answers_what_the_first_view_asks(bench: Workbench) -> None:
    stores = OpenStores({"handbook": bench.root})
    ahead = AnswersAhead(stores)
    ahead.begin()
    [kept] = (bench.root / "cache" / "page" / "1").iterdir()
    assert json.loads(kept.read_bytes())["rows"] == facets(ahead, stores) != []


def test_all_but_a_first_view_waits_until_no_page_has_been_opened_for_a_while(
    bench: Workbench, now: list[float]
) -> None:
    stores = OpenStores({"handbook": bench.root})
    ahead = AnswersAhead(stores, settle_s=2.0)
    for number in ("1", "2"):
        began = now[0]
        for after, opened, waits in ((0.0, False, True), (1.5, True, True), (2.5, False, True), (3.6, False, False)):
            now[0] = began + after
            ahead.note_page()
            if opened:
                ahead.facets(stores.get())
            ahead.look()
            assert (len([*(bench.root / "cache" / "page" / number).iterdir()]) == 1) == waits
        bench.write({"mill.md": "# Mill\n\nThe mill grinds.\n"})
        bench.ingest()
        stores.take_up()


def test_a_page_that_is_opened_meanwhile_comes_first(
    bench: Workbench, now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = OpenStores({"handbook": bench.root})
    ahead = AnswersAhead(stores, settle_s=2.0)
    ahead.look()
    asked_of = ahead.rows
    answered: list[str] = []

    def opened_meanwhile(served: Any, one: RowsQuestion, **kept: float) -> Response:
        answered.append(one.query)
        if len(answered) == 3:
            ahead.facets(served)
        return asked_of(served, one, **kept)

    monkeypatch.setattr(ahead, "rows", opened_meanwhile)
    now[0] = 2.0
    ahead.look()
    ahead.look()
    assert answered == [*AHEAD.values()][:3]
    now[0] = 4.0
    ahead.look()
    assert answered[3:] == [*AHEAD.values()]
    ahead.look()
    assert answered[3:] == [*AHEAD.values()], "each once"


def test_two_that_ask_the_same_at_once_wait_for_one_answer() -> None:
    kept, begun, go, made = KeptAnswers(), threading.Event(), threading.Event(), []

    def answer() -> Response:
        begun.set()
        go.wait(20)
        made.append(1)
        return Response(b"answer")

    found: list[Response] = []
    threads = [threading.Thread(target=lambda: found.append(kept.get("question", answer))) for _ in range(2)]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    go.set()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert found[0] is found[1] is kept.get("question", answer)


def test_a_failed_answer_is_told_and_not_kept() -> None:
    kept = KeptAnswers()

    def fail() -> Response:
        raise StoreError("gone")

    with pytest.raises(StoreError, match="gone"):
        kept.get("question", fail)
    assert kept.get("question", lambda: Response(b"there")).body == b"there"


def test_a_list_of_chunks_has_the_beginnings_of_their_texts(tmp_path: Path, fake_model: str) -> None:
    assert fake_model
    bench = Workbench(tmp_path)
    bench.write(
        {"git.md": "# Undo\n\nTo undo a commit, reset the branch.\n", "mill.md": "# Mill\n\nThe mill grinds.\n"}
    )
    bench.ingest()
    stores = OpenStores({"handbook": bench.root})
    ahead = AnswersAhead(stores)
    listed = RowsQuestion(query="SELECT chunk_id FROM chunks ORDER BY uri DESC", texts=20)
    found = json.loads(bytes(ahead.rows(stores.get(), listed).body))["rows"]
    assert [(row["uri"], row["text"], row["cut"]) for row in found] == [
        ("mill.md", "# Mill\n\nThe mill gri", True),
        ("git.md", "# Undo\n\nTo undo a co", True),
    ]
    nothing = RowsQuestion(query="SELECT uri FROM chunks", texts=20)
    assert json.loads(bytes(ahead.rows(stores.get(), nothing).body))["rows"] == []


def test_a_process_for_statements_is_ready_while_a_page_is_open(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = StatementPool()
    monkeypatch.setattr(statement_pool, "_pool", own)
    ahead = AnswersAhead(OpenStores({"handbook": bench.root}), settle_s=0)
    ahead.look()
    own.close()  # as after a minute without a statement
    ahead.look()
    assert not own._idle  # nobody has a page open
    ahead.note_page()
    ahead.look()
    assert len(own._idle) == 1
    own.close()
    ahead.look()
    assert not own._idle  # it was used a moment ago
