"""Split trials: by the settings a document is split as it is stored; by others, otherwise; nothing is stored."""

import pytest
from starlette.testclient import TestClient

from docmill.flows.config.settings import Settings
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from tests.kit.workbench import MakeBench

DOCUMENTS: dict[str, str | bytes] = {
    "mill.md": "# Mill\n\n" + "\n\n".join(f"Wheel {number} turns by day and by night." * 6 for number in range(12)),
    "prices.csv": "name,price\n" + "".join(f"thing {number},{number}\n" for number in range(300)),
    "tree.md": "---\ndocmill: {strategy: hierarchical}\n---\n\n# One\n\nA leaf.\n\n## Two\n\n" + "Another leaf. " * 90,
}


@pytest.fixture(scope="module")
def client(make_bench: MakeBench) -> TestClient:
    bench = make_bench(DOCUMENTS, split={"structure": {"size": 90}})
    settings = Settings(split={"structure": {"size": 90}})
    app = http_app(OpenStores({"own": bench.root}), Searching({}), Access(), settings)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def trial(client: TestClient, uri: str, **asked: object) -> list[tuple[int, int]]:
    answer = client.post("/trial", json={"uri": uri, **asked})
    assert answer.status_code == 200, answer.text
    return [(one["start_char"], one["end_char"]) for one in answer.json()["chunks"] if one["leaf"]]


@pytest.mark.parametrize("uri", list(DOCUMENTS))
def test_by_the_settings_a_document_is_split_as_it_is_stored(client: TestClient, uri: str) -> None:
    statement = f"SELECT start_char, end_char FROM chunks WHERE uri = '{uri}' AND len(children) = 0 ORDER BY ordinal"
    rows = client.post("/sql", json={"query": statement}).json()["rows"]
    assert trial(client, uri) == [(row["start_char"], row["end_char"]) for row in rows]
    assert len(rows) > 1


def test_options_make_other_chunks_and_nothing_is_stored(client: TestClient) -> None:
    small, large = (trial(client, "mill.md", strategy="recursive", options={"size": size}) for size in (40, 200))
    assert len(small) > len(large) > 1
    assert client.get("/newest").json()["snapshot"] == 1
    asked = {"uri": "mill.md", "strategy": "recursive", "options": {"size": 40}, "query": "Wheel 7 turns by day"}
    chunks = client.post("/trial", json=asked).json()["chunks"]
    assert len(chunks) == len(small)
    assert all(-1 <= one["score"] <= 1.0001 for one in chunks)
    assert len({one["score"] for one in chunks}) > 1
    with_vectors = trial(client, "mill.md", strategy="semantic")
    assert with_vectors[-1][1] == large[-1][1]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"strategy": "recursve"}, "the nearest is 'recursive'"),
        ({"strategy": "recursive", "options": {"sise": 3}}, "has no option 'sise'"),
        ({"strategy": "recursive", "options": {"size": "many"}}, "size"),
        ({"uri": "nothing.md"}, "no document 'nothing.md'"),
    ],
)
def test_a_wrong_trial_is_refused_in_words(client: TestClient, asked: dict[str, object], said: str) -> None:
    answer = client.post("/trial", json={"uri": "mill.md", **asked})
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]


def test_each_strategy_is_listed_with_its_options(client: TestClient) -> None:
    listed = {
        one["name"]: {option["name"] for option in one["options"]}
        for one in client.get("/strategies").json()["strategies"]
    }
    assert {"size", "separators"} <= listed["recursive"]
    assert "structure" in listed


def test_the_cuts_of_a_document_are_those_of_the_tables(client: TestClient) -> None:
    found = client.get("/cuts", params={"uri": "tree.md"}).json()
    columns = "chunk_id, ordinal, start_char, end_char, len(children) AS children, headings, parent_id"
    [*rows] = rows_of(client, f"SELECT {columns} FROM chunks WHERE uri = 'tree.md' ORDER BY ordinal")
    assert [{name: one[name] for name in rows[0]} for one in found["chunks"]] == rows
    regions = rows_of(client, "SELECT start_char, content_type, options FROM routing WHERE uri = 'tree.md'")
    assert [{name: one[name] for name in regions[0]} for one in found["regions"]] == regions
    assert client.get("/cuts", params={"uri": "nothing.md"}).status_code == 400
    near = client.get(f"/near/{found['chunks'][0]['chunk_id']}").json()["hits"]
    assert 0 < len(near) <= 5


def rows_of(client: TestClient, statement: str) -> list[dict[str, object]]:
    answers = [client.post("/rows", json={"query": statement}).json() for _ in range(2)]
    assert answers[0] == answers[1]
    rows: list[dict[str, object]] = answers[0]["rows"]
    return rows
