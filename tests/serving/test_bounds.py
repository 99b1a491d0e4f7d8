"""Every answer keeps to its bound: no value is so large that it comes whole."""

import json
from typing import Any

import pytest

from docmill.flows.serving import answers
from docmill.flows.serving.answers import within
from docmill.flows.serving.json_text import json_text
from docmill.flows.serving.open_stores import OpenStores, ServedStore
from tests.kit.workbench import Workbench

MOST = 2000
SLACK = 600  # of keys, counts and advice around what is bounded


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> ServedStore:
    assert fake_model
    own = Workbench(tmp_path_factory.mktemp("bounded"))
    front = "---\n" + "".join(f"key{n}: {'word ' * 40}\n" for n in range(40)) + "---\n"
    own.write({"long.md": f"{front}# Sea\n\n{'Ships sail on the sea. ' * 20}\n"})
    own.write({f"bad{n}.pdf": b"%PDF-1.4 nothing" for n in range(60)})
    own.ingest()
    return OpenStores({"store": own.root}).get()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT repeat('x', 100_000) AS t, 1 AS n",
        "SELECT list(range) AS l FROM range(50_000)",
        "SELECT {'a': repeat('y', 50_000)} AS s",
        "SELECT " + ", ".join(f"repeat('z', 1000) AS c{n}" for n in range(9)),
    ],
)
def test_one_row_of_a_statement_may_not_be_too_large(served: ServedStore, statement: str) -> None:
    answer = answers.sql(served, statement, 10, 20.0, MOST)
    assert len(json_text(answer)) < MOST + SLACK
    assert "characters left out" in json.dumps(answer["rows"])
    assert {*answer["rows"][0]} == {*answer["columns"]}


def test_what_a_file_says_of_itself_may_not_be_too_large(served: ServedStore) -> None:
    answer = answers.document(served, "long.md", 0, 1000, MOST)
    assert len(json_text(answer["document"])) < MOST + SLACK
    assert answer["document"]["uri"] == "long.md"


def test_a_status_names_as_many_unreadable_files_as_fit(served: ServedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answers.status(served, 200_000)
    assert whole["left_out"] is None
    assert whole["status"] == served.store.status()
    many: dict[str, Any] = {f"folder/file-{n}.txt": "permission denied" for n in range(500)}
    status = {**served.store.status(), "unreadable": many}
    monkeypatch.setattr(type(served.store), "status", lambda _: status)
    answer = answers.status(served, MOST)
    assert len(json_text(answer)) < MOST + SLACK + len(json_text(served.store.snapshot.vector_state()))
    shown = answer["status"]["unreadable"]
    assert 0 < len(shown) < 500
    assert answer["left_out"]["entries"] == 500 - len(shown)


def test_snapshots_that_do_not_fit_are_the_oldest(served: ServedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**served.store.history()[0], "snapshot": n} for n in range(1, 101)]
    monkeypatch.setattr(type(served.store), "history", lambda _: rows)
    answer = answers.snapshots(served, MOST)
    assert len(json_text(answer)) < MOST + SLACK
    shown = [row["snapshot"] for row in answer["snapshots"]]
    assert shown == [*range(101 - len(shown), 101)]
    assert answer["left_out"]["snapshots"] == 100 - len(shown)


def test_a_text_is_cut_before_anything_else() -> None:
    item = {"uri": "a.md", "text": "word " * 1000, "context": "above " * 10}
    ((shown,), left) = within([item], MOST)
    assert left == 0
    assert (shown["uri"], shown["context"]) == (item["uri"], item["context"])
    assert shown["text_left_out"] == 5000 - len(shown["text"])
    assert len(json_text(shown)) <= MOST + 40


def test_a_line_of_json_has_no_line_end_of_unicode() -> None:
    value = {"query": "one\u2028two\u2029three\x85four"}
    assert json.loads(json_text(value)) == value
    assert len(json_text(value).splitlines()) == 1
