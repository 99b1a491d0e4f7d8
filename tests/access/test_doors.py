"""Access at the doors of a server: a token has its principals, and its answers are those of their documents alone."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from docmill.flows.serving.access import Access, TokenFile
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.audit import AuditLog
from docmill.flows.serving.http.http_app import LOOK_S, http_app
from docmill.flows.serving.mcp.mcp_server import RESOURCE, mcp_http_app, mcp_server
from docmill.flows.serving.open_stores import OpenStores
from docmill.storage.errors import ConfigError
from tests.access.company import PRINCIPALS, files, founded, visible
from tests.kit.workbench import Workbench
from tests.serving.http_server import running

pytestmark = pytest.mark.usefixtures("fake_model")

TOKENS = {f"token-of-{'-'.join(one)}-0123456789": one for one in PRINCIPALS}
HIDDEN = ("board/only-board.md", "sealed/pack.zip/in.zip/deep.md", "absent.md")
"""Documents that none of these principals, or only one of them, may see, and one that does not exist."""
REFRESH_S = 10.0
"""Seconds within which a server must have forgotten a document; the guide tells how long it takes."""


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    return founded(tmp_path_factory.mktemp("company"), files())


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> TokenFile:
    path = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    path.write_text("".join(f'"{token}" = {json.dumps(principals)}\n' for token, principals in TOKENS.items()))
    return TokenFile(path)


def served(root: Path, access: Access, audit: AuditLog | None = None) -> Any:
    """Return the application of `docmill serve` over one store."""
    return http_app(OpenStores({"handbook": root}, access.without_asker), Searching({}), access, audit=audit)


@pytest.fixture(scope="module")
def url(company: Workbench, tokens: TokenFile) -> Iterator[str]:
    access = Access(port=0, tokens=tokens)
    with running(served(company.root, access), access) as found:
        yield found


@pytest.fixture(scope="module", params=[*TOKENS], ids=lambda token: "-".join(TOKENS[token]))
def token(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def alone(token: str, tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Return a store of the documents of a token's principals alone."""
    return founded(tmp_path_factory.mktemp("alone"), visible(files(), TOKENS[token]))


def questions(company: Workbench) -> Iterator[tuple[str, str, Any]]:
    """Yield requests of every path: method, path and body."""
    for query in ("mill wheel", "zeppelin300", "Vertrag"):
        yield "POST", "/search", {"query": query, "k": 30}
    yield "POST", "/search", {"query": "mill", "principals": ["board"]}
    for parameter in ("principals=board", "prefix=board/", "where=uri LIKE 'board%25'"):
        yield "GET", f"/documents?limit=1000&{parameter}", None
    for uri in (*HIDDEN, "open/handbook.md", "board/public.md"):
        yield "GET", f"/documents/{uri}", None
        for path in ("outline", "cuts", "places", "original"):
            yield "GET", f"/{path}?uri={uri}", None
        yield "POST", "/trial", {"uri": uri, "strategy": "recursive", "options": {"size": 60}}
    for row in sorted(company.chunks(), key=lambda row: row.chunk_id)[::40]:
        yield "GET", f"/chunks/{row.chunk_id}?before=2&after=2&parent=true", None
        yield "GET", f"/near/{row.chunk_id}", None
    for statement in (
        "SELECT uri, chunks FROM documents ORDER BY uri",
        "SELECT count(*) AS n FROM embeddings",
        "SELECT",
    ):
        yield "POST", "/sql", {"query": statement}
        yield "POST", "/rows", {"query": statement, "max_rows": 100, "max_characters": 100_000, "seconds": 20}
    for path in ("/facets", "/newest", "/snapshots", "/status", "/ignored?q=the Vertrag und nicht", "/diff/1/1"):
        yield "GET", path, None


_APART = {"created", "run_id", "bytes", "store", "similarity", "source_runs"}


def bare(value: Any) -> Any:
    """Return an answer without what any two stores differ in, with rounded numbers."""
    if isinstance(value, dict):
        return {name: bare(one) for name, one in value.items() if name not in _APART}
    if isinstance(value, list):
        return [bare(one) for one in value]
    return round(value, 6) if isinstance(value, float) else value


def test_http_answers_as_if_hidden_documents_did_not_exist(
    url: str, token: str, alone: Workbench, company: Workbench
) -> None:
    access, asked = Access(port=0), [*questions(company)]
    head = {"Authorization": f"Bearer {token}"}
    with running(served(alone.root, access), access) as other, httpx.Client(timeout=60) as client:
        for method, path, body in asked:
            told = client.request(method, url + path, json=body, headers=head)
            truth = client.request(method, other + path, json=body)
            assert (told.status_code, bare(told.json())) == (truth.status_code, bare(truth.json())), (path, body)
    assert httpx.get(f"{url}/metrics", headers=head).status_code == 403
    shown = httpx.get(f"{url}/map", headers=head, timeout=60).json()
    assert sorted(shown["chunk_id"]) == sorted(row.chunk_id for row in alone.chunks())


def test_mcp_answers_as_if_hidden_documents_did_not_exist(
    token: str, alone: Workbench, company: Workbench, tokens: TokenFile, tmp_path: Path
) -> None:
    chunk = next(row for row in company.chunks() if row.uri == HIDDEN[0]).chunk_id
    tools: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "zeppelin300 mill", "k": 50, "explain": True}),
        ("list_documents", {"limit": 1000}),
        ("status", {}),
        ("sql", {"query": "SELECT uri FROM chunks ORDER BY ALL", "max_rows": 1000, "max_characters": 200_000}),
        ("facets", {"name": "team"}),
        ("facets", {"name": "tags", "query": "zeppelin300 mill"}),
        ("diff", {"old": 1, "text": True}),
        ("diff", {"old": 2}),
        ("get_figure", {"key": chunk}),
        ("get_chunk", {"chunk_id": chunk}),
        ("similar", {"chunk_id": chunk}),
        *((tool, {"uri": uri}) for uri in HIDDEN for tool in ("get_document", "get_outline")),
        *(("get_section", {"uri": uri, "section": "1"}) for uri in HIDDEN),
    ]
    asked: list[tuple[str, dict[str, Any]]] = []
    asked += [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in tools]
    asked += [("resources/read", {"uri": f"docmill://document/{uri}"}) for uri in HIDDEN]
    named = {"ref": {"type": "ref/resource", "uri": RESOURCE}, "argument": {"name": "uri", "value": "board/"}}
    asked.append(("completion/complete", named))
    access, log = Access(port=0, tokens=tokens), tmp_path / "audit.jsonl"
    narrowed = mcp_server(
        OpenStores({"handbook": company.root}, access.without_asker), Searching({}), None, AuditLog(log)
    )
    whole = mcp_server(OpenStores({"handbook": alone.root}), Searching({}))
    apps = (mcp_http_app(narrowed, access), mcp_http_app(whole, Access()))
    with running(apps[0], access) as one, running(apps[1], Access(port=0)) as other:
        for method, params in asked:
            answer, truth = (_result(at, token, method, params) for at in (one, other))
            assert answer == truth, params
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["verb"] for line in lines] == [name for name, _ in tools] + ["resource"] * len(HIDDEN)
    assert all(line["principals"] == sorted(TOKENS[token]) for line in lines)


def _result(url: str, token: str, method: str, params: dict[str, Any]) -> Any:
    """Return what a server answers to a call of the protocol, without what any two stores differ in."""
    told = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    head = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    answer = httpx.post(
        f"{url}/mcp", json=told, headers={**head, "Authorization": f"Bearer {token}"}, timeout=60, trust_env=False
    ).json()
    result = answer.get("result", answer.get("error"))
    if "structuredContent" in result:
        return bare(result["structuredContent"])
    return result


def test_a_request_without_a_token_of_the_file_has_no_answer(url: str) -> None:
    for head in ({}, {"Authorization": "Bearer token-of-nobody-0123456789"}):
        assert httpx.get(f"{url}/status", headers=head).status_code == 401


def test_the_audit_log_has_who_asked_what_and_no_text(company: Workbench, tokens: TokenFile, tmp_path: Path) -> None:
    path, access = tmp_path / "audit.jsonl", Access(port=0, tokens=tokens)
    token = next(one for one in TOKENS if TOKENS[one] == ["all"])
    head = {"Authorization": f"Bearer {token}"}
    with running(served(company.root, access, AuditLog(path)), access) as url, httpx.Client(headers=head) as client:
        found = client.post(f"{url}/search", json={"query": "zeppelin mill"}, timeout=60).json()["hits"]
        client.get(f"{url}/documents/open/notice.md")
        client.get(f"{url}/documents/{HIDDEN[0]}")
        client.post(f"{url}/sql", json={"query": "SELECT text AS uri FROM chunks LIMIT 2"})
        client.get(f"{url}/no-such-path")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["verb"], line["hits"], line["uris"], line.get("failed")) for line in lines] == [
        ("POST /search", len(found), [*dict.fromkeys(hit["uri"] for hit in found)], None),
        ("GET /documents/{uri:any_path}", 1, ["open/notice.md"], None),
        ("GET /documents/{uri:any_path}", 0, [], "404"),
        ("POST /sql", 2, [], None),
    ]
    assert {(*line["principals"], line["client"]) for line in lines} == {("all", "127.0.0.1")}
    assert "zeppelin" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigError, match="cannot be written"):
        AuditLog(tmp_path)


def test_a_document_that_was_revoked_is_gone_within_seconds(tmp_path: Path, tokens: TokenFile) -> None:
    bench = founded(tmp_path, {"plan.md": "# Plan\n\nThe zeppelin lands.\n", "other.md": "# Other\n\nA mill.\n"})
    access = Access(port=0, tokens=tokens)
    head = {"Authorization": f"Bearer {next(one for one in TOKENS if TOKENS[one] == ['all'])}"}

    def uris(url: str) -> list[str]:
        found = httpx.post(f"{url}/search", json={"query": "zeppelin", "k": 5}, headers=head).json()
        return [hit["uri"] for hit in found["hits"]]

    with running(served(bench.root, access), access) as url:
        assert "plan.md" in uris(url)
        bench.write({"plan.md.meta.toml": 'access = ["board"]\n'})
        report = bench.ingest()
        assert (report.parsed, report.embedded) == (0, 0)
        until = time.monotonic() + REFRESH_S
        while "plan.md" in uris(url) and time.monotonic() < until:
            time.sleep(LOOK_S / 5)
        assert uris(url) == ["other.md"]
        old = httpx.post(f"{url}/search", json={"query": "zeppelin", "at": 1}, headers=head).json()
        assert [hit["uri"] for hit in old["hits"]] == ["other.md"], "an old snapshot shows what was revoked since"


def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({"0123456789abcdef": ["sales"], "sha256:" + "0" * 64: ["*", "sales"]}))
    tokens = TokenFile(path)
    assert tokens.principals_of("0123456789abcdef") == frozenset({"sales"})
    assert tokens.principals_of("sha256:" + "0" * 64) is None, "a digest is no token"
    path.write_text("{}")
    os.utime(path, (1, 1))
    assert tokens.principals_of("0123456789abcdef") is None, "no token is taken from a file that cannot be used"
    path.write_text(json.dumps({"0123456789abcdef": ["board"]}))
    assert tokens.principals_of("0123456789abcdef") == frozenset({"board"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "needs a line for each token"),
        ('"short" = ["sales"]', "at least 16 characters, got 5"),
        ('"0123456789abcdef" = "sales"', "must be a list"),
        ('"0123456789abcdef" = [""]', "1 to 1,000 characters"),
        ("=", "cannot be read"),
    ],
)
def test_a_token_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said) as refused:
        TokenFile(path)
    assert "0123456789abcdef" not in str(refused.value)
