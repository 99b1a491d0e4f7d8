"""The server over HTTP: what it answers, whom it turns away, and that it follows its store."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from docmill.flows.serving.access import Access, TokenFile
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.connections import bound
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.json_text import json_text
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.query_notes import QueryNotes
from docmill.storage.errors import ConfigError
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.history import query_log
from docmill.storage.snapshots.history.query_log import LogBounds
from docmill.storage.snapshots.history.retention import Retention
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.http_server import running

GIT = "# Undo\n\nTo undo a commit, reset the branch.\n"
TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    first = {"git.md": GIT, "deep/größe 1?.md": "# Size\n\nIt is large.\n", "empty.txt": ""}
    return make_bench(first, {"deep/mill.md": "# Mill\n\nThe mill grinds wheat.\n"})


@pytest.fixture(scope="module")
def client(bench: Workbench) -> Iterator[httpx.Client]:
    access = Access(port=0)
    app = http_app(OpenStores({"handbook": bench.root}), Searching({"spread": 0.1}), access)
    with running(app, access) as url, httpx.Client(base_url=url, timeout=60, trust_env=False) as own:
        yield own


def told(answer: httpx.Response, status: int) -> str:
    """Return the message of a failure with a status."""
    error = answer.json()["error"]
    assert (answer.status_code, error["status"]) == (status, status)
    message: str = error["message"]
    return message


def test_answers_do_not_wait_for_acknowledgements() -> None:
    with bound(Access(port=0)) as own:
        assert own.proto == socket.IPPROTO_TCP  # without it, asyncio leaves Nagle's algorithm on


def test_what_a_client_judges_is_kept_listed_and_taken_back(client: httpx.Client) -> None:
    hit = client.post("/search", json={"query": "undo a commit", "k": 1}).json()["hits"][0]
    body = {"query": "undo a commit", "by": "Ada"}
    right = {**body, "chunk_id": hit["chunk_id"], "at": 2}
    assert client.post("/judgements", json=right).json()["judgement"]["verdict"] == "right"
    marked = {**body, "uri": "git.md", "quotation": "reset the branch"}
    assert client.post("/judgements", json=marked).json()["judgement"]["verdict"] == "answer"
    listed = client.get("/judgements", params={"query": "UNDO a commit"}).json()
    assert (listed["judging"], listed["left_out"]) == (True, None)
    assert [(one["verdict"], one["state"], one["now"]["uri"]) for one in listed["judgements"]] == [
        ("answer", "found", "git.md")  # the same passage again, and more exactly
    ]
    gone = client.post(f"/judgements/{listed['judgements'][0]['judgement_id']}/withdrawn").json()["withdrawn"]
    assert gone["quotation"] == "reset the branch"
    assert client.get("/judgements").json()["judgements"] == []
    assert "no judgement" in told(client.post("/judgements/none/withdrawn"), 400)
    assert "say what answers" in told(client.post("/judgements", json=body), 400)
    assert "no document" in told(client.post("/judgements", json={**marked, "uri": "no.md"}), 400)
    assert told(client.post("/judgements", json={**marked, "quotation": "x" * 4001}), 422)
    assert told(client.post("/judgements", content="{}"), 422)


def test_queries_are_logged_once_they_are_whole_and_told_to_those_who_see_everything(
    make_bench: MakeBench, tmp_path: Path
) -> None:
    bench = make_bench({"git.md": GIT}, {"mill.md": "# Mill\n\nThe mill grinds wheat.\n"})
    access, notes = Access(port=0), QueryNotes(LogBounds(), "http", every_s=0.05, typing_s=0.3)
    app = http_app(OpenStores({"own": bench.root}), Searching({}, notes=notes), access)
    with running(app, access) as url, httpx.Client(base_url=url, timeout=60, trust_env=False) as own:
        for query in ("un", "undo a", "undo a commit"):
            assert own.post("/search", json={"query": query}).status_code == 200
        own.post("/search", json={"query": "grind", "typing": True})
        own.post("/search", json={"query": "knitting", "where": "format = 'pdf'"})
        for _ in range(200):
            listed = own.get("/queries").json()
            if len(listed["queries"]) == 2:
                break
            time.sleep(0.05)
        assert listed["logging"] is True
        assert {one["query"]: (one["times"], one["hits"]) for one in listed["queries"]} == {
            "knitting": (1, 0), "undo a commit": (1, 2),
        }  # fmt: skip
        assert [one["query"] for gap in own.get("/gaps").json()["gaps"] for one in gap["queries"]] == ["knitting"]
        moved = own.get("/replay/1/2").json()
        assert (moved["before"], moved["snapshot"], len(moved["queries"])) == (1, 2, 2)
        own.post("/search", json={"query": "asked at the end"})
    assert "asked at the end" in {one.query for one in query_log.read(bench.root)}, (
        "what was left is written at the end"
    )
    file = tmp_path / "tokens.toml"
    file.write_text(f'"{"s" * 16}" = ["sales"]\n"{"a" * 16}" = ["*"]\n')
    access = Access(port=0, tokens=TokenFile(file))
    app = http_app(OpenStores({"own": bench.root}, access.without_asker), Searching({}), access)
    with running(app, access) as url:
        for path in ("/queries", "/gaps", "/replay/1/2"):
            for letter, status in (("s", 403), ("a", 200)):
                sent = {"Authorization": f"Bearer {letter * 16}"}
                assert httpx.get(f"{url}{path}", headers=sent, trust_env=False).status_code == status


def test_a_foreign_page_judges_nothing_and_a_server_may_take_no_judgements(
    client: httpx.Client, bench: Workbench
) -> None:
    body = {"query": "undo", "relevant": False}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        assert "pages of" in told(client.post("/judgements", json=body, headers=headers), 403)
        text = {**headers, "Content-Type": "text/plain"}
        assert "pages of" in told(client.post("/judgements", content=json.dumps(body), headers=text), 403)
    assert client.get("/judgements").json()["judgements"] == []
    access = Access(port=0)
    closed = http_app(OpenStores({"handbook": bench.root}), Searching({}), access, judging=False)
    with running(closed, access) as url, httpx.Client(base_url=url, trust_env=False) as own:
        assert "--no-judging" in told(own.post("/judgements", json=body), 403)
        assert "--no-judging" in told(own.post("/judgements/x/withdrawn"), 403)
        assert own.get("/judgements").json()["judging"] is False


def test_a_search_answers_as_the_library_does(client: httpx.Client, bench: Workbench) -> None:
    answer = client.post("/search", json={"query": "undo a commit", "k": 2, "weight": 0.5}).raise_for_status().json()
    with bench.store as store:
        hits = store.search("undo a commit", k=2, weight=0.5, spread=0.1)
        assert answer["hits"] == json.loads(json_text([asdict(hit) for hit in hits]))
        assert (answer["store"], answer["snapshot"]) == ("handbook", store.snapshot.number)
    assert answer["left_out"] is None
    older = client.post("/search", json={"query": "mill", "at": 1, "mode": "keyword"}).json()
    assert (older["snapshot"], older["hits"]) == (1, [])


def test_documents_and_chunks_are_read(client: httpx.Client) -> None:
    listed = client.get("/documents", params={"limit": 2}).json()
    assert [one["uri"] for one in listed["documents"]] == ["deep/größe 1?.md", "deep/mill.md"]
    rest = client.get("/documents", params={"after": listed["next"]}).json()
    assert ([one["uri"] for one in rest["documents"]], rest["next"]) == (["git.md"], None)
    filtered = client.get("/documents", params={"where": "uri LIKE 'g%'"}).json()
    assert [one["uri"] for one in filtered["documents"]] == ["git.md"]
    for path in ("/documents/deep/gr%C3%B6%C3%9Fe%201%3F.md", "/documents/deep%2Fgr%C3%B6%C3%9Fe%201%3F.md"):
        assert client.get(path).json()["text"] == "# Size\n\nIt is large.\n"
    part = client.get("/documents/git.md", params={"start_char": 2, "end_char": 6}).json()
    assert (part["text"], part["document"]["format"]) == ("Undo", "markdown")
    hit = client.post("/search", json={"query": "undo"}).json()["hits"][0]
    assert client.get(f"/chunks/{hit['chunk_id']}", params={"before": 1}).json()["chunk"]["text"] == hit["text"]


def test_sql_status_snapshots_and_diff(client: httpx.Client, bench: Workbench) -> None:
    rows = client.post("/sql", json={"query": "SELECT uri FROM documents ORDER BY uri DESC", "max_rows": 1}).json()
    assert (rows["rows"], rows["left_out"]["rows_at_least"]) == ([{"uri": "git.md"}], 1)
    status = client.get("/status").json()
    with bench.store as store:
        assert {**status["status"], "bytes": 0} == {**json.loads(json_text(store.status())), "bytes": 0}
    assert [one["snapshot"] for one in client.get("/snapshots").json()["snapshots"]] == [1, 2]
    changes = client.get("/diff/1/2").json()["difference"]["documents"]
    assert [one["after"] for one in changes] == ["deep/mill.md"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("POST", "/search", {"query": " "}, 400, "the query is empty"),
        ("POST", "/search", {"query": "x", "where": "no_column"}, 400, "no_column"),
        ("POST", "/search", {"query": "x", "k": 0}, 422, "k must be at least 1, got 0"),
        ("POST", "/search", {"query": "x", "rerank": "some/model"}, 422, "there is no rerank here"),
        ("POST", "/search", {"query": "x", "at": 99}, 404, "no snapshot 99"),
        ("POST", "/search", {"query": "x", "store": "other"}, 404, "this server has handbook"),
        ("GET", "/documents/no.md", None, 404, "no document 'no.md'"),
        ("GET", "/documents/a/b%0Ac%2Fd.md", None, 404, r"no document 'a/b\nc/d.md'"),
        ("GET", "/documents/git.md?start_char=99", None, 400, "start_char must be in"),
        ("GET", "/documents/git.md?at=no-tag", None, 404, "no snapshot or tag"),
        ("GET", "/documents?where=1%20=", None, 400, "where must be one SQL predicate"),
        ("GET", "/documents?wher=true&at=1", None, 422, "there is no wher here"),
        ("GET", "/facets/format?at=1&prefix=a", None, 422, "there is no prefix here"),
        ("GET", "/facets?snapshot=1", None, 422, "there is no snapshot here"),
        ("GET", f"/chunks/{'f' * 32}", None, 404, "no chunk"),
        ("POST", "/sql", {"query": "DELETE FROM chunks"}, 400, "SELECT"),
        ("POST", "/sql", {"query": "SELECT * FROM read_text('/etc/passwd')"}, 400, "no files"),
        ("POST", "/sql", {"query": "SELECT count(*) FROM range(99999999999)", "seconds": 0.2}, 400, "was stopped"),
        ("GET", "/diff/1/9", None, 404, "no snapshot 9"),
        ("GET", "/nowhere", None, 404, "there is no path '/nowhere'; /openapi.json lists the paths"),
        ("GET", "/page/nowhere.js", None, 404, "there is no path '/page/nowhere.js'"),
        ("GET", "/status/", None, 404, "there is no path '/status/'"),
        ("GET", f"/{'x' * 200}", None, 404, "xxx…;"),
        ("GET", "/search", None, 405, "/search takes OPTIONS, POST, got GET"),
        ("DELETE", "/judgements", None, 405, "/judgements takes GET, HEAD, OPTIONS, POST, got DELETE"),
        ("POST", "/", None, 405, "/ takes GET, HEAD, OPTIONS, got POST"),
    ],
)
def test_a_wrong_request_is_explained(
    client: httpx.Client, method: str, path: str, body: Any, status: int, said: str
) -> None:
    assert said in told(client.request(method, path, json=body), status)
    # The page of docmill reads from the body that it was refused: a browser logs a failing status as an error.
    quiet = client.request(method, path, json=body, headers={"Docmill-Page": "1"})
    assert quiet.status_code == 200
    assert (quiet.json()["error"]["status"], said in quiet.json()["error"]["message"]) == (status, True)


@pytest.mark.parametrize("path", ["/healthz", "/status", "/documents/git.md", "/", "/openapi.json", "/page/page.css"])
def test_a_path_that_takes_get_takes_head_and_names_its_methods(client: httpx.Client, path: str) -> None:
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert {"content-type", "content-length"} <= head.headers.keys()
    assert head.headers["content-length"] == str(len(whole.content))
    asked = client.options(path)
    assert (asked.status_code, asked.content, asked.headers["allow"]) == (204, b"", "GET, HEAD, OPTIONS")
    assert client.options("/nowhere").status_code == 404


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "query is missing"),
        ({"query": 1}, "query must be a text, got 1"),
        ({"query": "x", "k": 2000}, "k must be at most 1000, got 2000"),
        ({"query": "x", "k": "many"}, "k must be a whole number, got 'many'"),
        ({"query": "x", "k": 1.5}, "k must be a whole number, got 1.5"),
        ({"query": "x", "mode": "best"}, "mode must be 'hybrid', 'vector' or 'keyword', got 'best'"),
        ({"query": "x", "at": [1]}, "at must be a whole number or a text, got [1]"),
        ({"query": "x", "parents": 7}, "parents must be true or false, got 7"),
        ({"query": "x", "store": "x" * 201}, "store must have at most 200 characters, got 201"),
        ({"query": "\ud800"}, "query must be a text of whole characters"),
        ({"query": "x", "k": 0, "limit": 2}, "there is no limit here; k must be at least 1, got 0"),
        ([], "the body must be an object of JSON"),
    ],
)
def test_a_malformed_request_is_told_in_words_what_would_be_right(client: httpx.Client, body: Any, said: str) -> None:
    answer = client.post("/search", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert said in told(answer, 422)


def test_a_request_without_a_body_or_with_a_broken_one_is_told_so(client: httpx.Client) -> None:
    kind = {"Content-Type": "application/json"}
    assert told(client.post("/search"), 422) == "the body of the request is missing"
    assert "the body is not JSON: " in told(client.post("/search", content="{", headers=kind), 422)
    assert "must be an object of JSON" in told(client.post("/search", content="query=x"), 422)
    assert told(client.get("/documents?limit=0&at=1"), 422) == "limit must be at least 1, got '0'"


ODD = ["\0", "..", "/etc/passwd", "%00", "\n", "-1", "9" * 100, "\u202e", " ", "'", "x" * 199, "\x1b[31m"]


@pytest.mark.parametrize("odd", ODD)
def test_odd_names_are_refused_without_a_fault_and_without_a_folder_of_this_machine(
    client: httpx.Client, bench: Workbench, odd: str
) -> None:
    paths = "/documents", "/status", "/documents/git.md", "/diff/1/2", "/snapshots", f"/chunks/{'f' * 32}"
    of_page = "/facets", "/newest", "/map", "/near/x", "/cuts?uri=git.md", "/original?uri=git.md", "/ignored?q=x"
    for path in (*paths, *of_page):
        for name in ("at", "store", "where", "uri"):
            answer = client.get(path, params={**httpx.URL(path).params, name: odd})
            assert answer.status_code < 500, (path, name)
            assert answer.status_code == 200 or str(bench.folder) not in answer.text, (path, name)
    for path in ("/search", "/sql", "/rows"):
        answer = client.post(path, json={"query": "SELECT 1", "at": odd})
        assert (answer.status_code, str(bench.folder) in answer.text) == (404, False), path
    told_at = told(client.get("/documents", params={"at": "no-tag"}), 404)
    assert told_at.startswith("handbook has no snapshot or tag 'no-tag'")


def test_a_fault_is_told_as_an_error_and_says_nothing_of_the_machine(bench: Workbench, tmp_path: Path) -> None:
    own = bench.copy(tmp_path / "damaged")
    for path in (own.root / "tables").rglob("*.parquet"):
        path.unlink()
    access = Access(port=0)
    with running(http_app(OpenStores({"own": own.root}), Searching({}), access), access) as url:
        answer = httpx.post(f"{url}/sql", json={"query": "SELECT * FROM chunks"}, timeout=60, trust_env=False)
    assert "is missing; to find everything that is: docmill verify" in told(answer, 500)
    assert str(tmp_path) not in answer.text


def test_answers_and_requests_are_bounded(client: httpx.Client) -> None:
    rows = {"query": "SELECT range AS n FROM range(500)", "max_characters": 1000}
    answer = client.post("/sql", json=rows).json()
    assert 0 < len(answer["rows"]) < 500
    assert answer["left_out"]["rows_at_least"] == 500 - len(answer["rows"])
    assert "1,048,576 bytes" in told(client.post("/search", content=b"x" * (1 << 21)), 413)

    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 50_000

    assert "1,048,576 bytes" in told(client.post("/search", content=endless()), 413)


def test_strangers_are_turned_away(client: httpx.Client) -> None:
    for host in ("evil.example", "evil.example:8642", "127.0.0.1.evil.example", ""):
        assert "--allow-host" in told(client.get("/status", headers={"Host": host}), 421)
    for origin in ("https://evil.example", "null"):
        assert "--allow-origin" in told(client.get("/status", headers={"Origin": origin}), 403)
    for site in ("cross-site", "same-site"):
        assert "pages of other sites" in told(client.get("/status", headers={"Sec-Fetch-Site": site}), 403)
    assert "--allow-host" in told(client.get("/status", headers={"Host": "192.0.2.1"}), 421)  # no token, no other names
    own = f"http://{client.base_url.host}:{client.base_url.port}"
    answer = client.get("/status", headers={"Origin": own, "Sec-Fetch-Site": "same-origin"})
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def test_a_token_is_demanded_and_named_sites_may_ask(bench: Workbench) -> None:
    site = "https://wiki.example.org"
    access = Access(port=0, token=TOKEN, origins=(site,), hosts=("docs.example.org",))
    app = http_app(OpenStores({"store": bench.root}), Searching({}), access)
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with running(app, access) as url, httpx.Client(base_url=url, trust_env=False) as client:
        for wrong in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {TOKEN}"}):
            answer = client.get("/status", headers=wrong)
            assert told(answer, 401) == "send the token: Authorization: Bearer TOKEN"
            assert answer.headers["www-authenticate"] == "Bearer"
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/metrics").status_code == 401
        asks = {**bearer, "Origin": site, "Sec-Fetch-Site": "cross-site", "Host": "docs.example.org"}
        answer = client.get("/status", headers=asks)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, site)
        asked = {
            "Origin": site,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        }
        assert client.options("/search", headers=asked).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "docs.example.org"])
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match=r"can be reached by others and needs a token"):
        Access(host)
    with pytest.raises(ConfigError, match="at least 16 characters, got 3"):
        Access(host, token="abc")
    assert Access(host, token=TOKEN).host == host


def test_what_is_counted_is_told_to_prometheus(client: httpx.Client) -> None:
    client.post("/search", json={"query": "mill", "mode": "keyword"})
    text = client.get("/metrics").raise_for_status().text
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["docmill_searches_total", "handbook", "keyword"] >= 1
    assert found["docmill_request_seconds_count", "/search"] >= 1
    assert found["docmill_documents", "handbook"] == 3
    assert found["docmill_rejects", "handbook"] == 1
    assert found["docmill_snapshot", "handbook"] == 2
    assert 0 < found["docmill_snapshot_age_seconds", "handbook"] < 3600


def test_the_description_has_examples_and_every_path(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    assert {*described["paths"]} == {
        "/search", "/documents", "/documents/{uri}", "/chunks/{chunk_id}", "/sql", "/snapshots", "/diff/{old}/{new}",
        "/facets/{name}", "/figures/{key}", "/status", "/healthz", "/metrics", "/judgements",
        "/judgements/{judgement_id}/withdrawn", "/queries", "/gaps", "/replay/{old}/{new}",
    }  # fmt: skip
    schemas = described["components"]["schemas"]
    for path, schema in (("/search", "SearchQuestion"), ("/sql", "StatementQuestion")):
        for example in schemas[schema]["examples"]:
            assert client.post(path, json=example).status_code == 200
    silent = [path for path, one in described["paths"].items() for each in one.values() if not each.get("description")]
    assert silent == []


def follow(bench: Workbench, requests: int, commits: int) -> None:
    """Ask while the store is written: each answer is of one snapshot, in which all documents say the same edition."""
    names = [f"d{n}.md" for n in range(6)]

    def write(edition: int) -> None:
        bench.write({name: f"# Edition\n\nOf {name} this is edition {edition}.\n" for name in names})
        bench.ingest()

    write(1)
    access = Access(port=0)
    app = http_app(OpenStores({"store": bench.root}), Searching({}), access)
    editions: dict[int, set[str]] = {}
    lock, written = threading.Lock(), threading.Event()

    def ask(number: int) -> int:
        answer = (
            connection.post("/search", json={"query": f"which edition is {number}", "k": 6}).raise_for_status().json()
        )
        said = {hit["text"].rpartition("edition ")[2] for hit in answer["hits"]}
        assert len(answer["hits"]) == len(names)
        with lock:
            editions.setdefault(answer["snapshot"], set()).update(said)
        return 1

    def change() -> None:
        try:
            for edition in range(2, commits + 2):
                write(edition)
            compact(bench.root, Retention(keep_snapshots=2))
            vacuum(bench.root, Retention(keep_snapshots=1))
        finally:
            written.set()

    with running(app, access) as url, httpx.Client(base_url=url, timeout=60, trust_env=False) as connection:
        writer = threading.Thread(target=change)
        writer.start()
        with ThreadPoolExecutor(8) as threads:
            done = sum(threads.map(ask, range(requests)))
            while not written.is_set():
                done += sum(threads.map(ask, range(8)))
        writer.join()
        time.sleep(1)
        last = connection.get("/status").json()["status"]
        assert connection.post("/search", json={"query": "edition"}).json()["snapshot"] == last["snapshot"]
    assert done >= requests
    mixed = {number: said for number, said in editions.items() if len(said) != 1}
    assert mixed == {}
    assert bench.store.snapshot.number == last["snapshot"]
    assert len(editions) >= 2


def test_no_answer_is_wrong_while_the_store_is_written(tmp_path: Path, fake_model: str) -> None:
    assert fake_model
    follow(Workbench(tmp_path), requests=60, commits=2)


@pytest.mark.soak
def test_ten_thousand_requests_while_ten_commits_a_compaction_and_a_vacuum_pass(
    tmp_path: Path, fake_model: str
) -> None:
    assert fake_model
    follow(Workbench(tmp_path), requests=10_000, commits=10)
