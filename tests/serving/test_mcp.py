"""The MCP server, asked by the client of the protocol's SDK over both transports, and in plain JSON-RPC."""

import asyncio
import json
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import CallToolResult, ResourceTemplateReference, TextContent, TextResourceContents
from mcp_types.methods import validate_server_result

from docmill.flows.config.settings import Settings
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.mcp.mcp_server import RunTools, mcp_http_app, mcp_server
from docmill.flows.serving.open_stores import OpenStores
from tests.kit.workbench import Workbench
from tests.serving.http_server import running

TOKEN = "0123456789abcdef"
GIT = "# Undo\n\nTo undo a commit, reset the branch.\n\n## Redo\n\nTo redo it, look into the reflog.\n"
ESSAY = "\n\n".join(f"Paragraph {n} speaks of the {word} mill and its wheel." for n, word in enumerate("abcdefgh"))
READING = [
    "search", "similar", "get_document", "get_outline", "get_section", "get_chunk", "get_figure", "list_documents",
    "facets", "sql", "status", "diff", "asked_queries", "replay",
]  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    assert fake_model
    routes = [{"glob": "deep/essay.txt", "strategy": "recursive", "options": {"size": 24}}]
    own = Workbench(tmp_path_factory.mktemp("asked"), {"routes": routes})
    own.write({"git.md": GIT, "deep/essay.txt": ESSAY, "deep/größe 1?.md": "# Size\n\nIt is large.\n"})
    own.ingest()
    own.write({"deep/mill.md": "# Mill\n\nThe mill grinds wheat.\n"})
    own.ingest()
    return own


@pytest.fixture(scope="module")
def url(bench: Workbench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve two stores over HTTP, of which clients may ingest the first."""
    other = Workbench(tmp_path_factory.mktemp("other"))
    other.write({"snow.txt": "It snows in the mountains.\n"})
    other.ingest()
    stores = OpenStores({"handbook": bench.root, "weather": other.root})
    given = {"sources": [str(bench.docs)], "embedding": {"model": "token-counts"}, **bench.settings}
    runs = RunTools(Settings(store=bench.root, **given), "handbook")
    access = Access(port=0)
    with running(mcp_http_app(mcp_server(stores, Searching({}), runs), access), access) as found:
        yield f"{found}/mcp"


def ask(url: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
    """Do some work with a client of a server."""

    async def connected() -> Any:
        async with Client(url) as client:
            return await work(client)

    return asyncio.run(connected())


def call(url: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the answer of a tool, which is the same for programs and for models."""
    result: CallToolResult = ask(url, lambda client: client.call_tool(tool, arguments))
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    assert json.loads(content.text) == result.structured_content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def refused(url: str, tool: str, **arguments: Any) -> str:
    """Return what a model is told of a call that failed."""
    result: CallToolResult = ask(url, lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_a_model_judges_only_where_it_is_allowed_to(bench: Workbench, tmp_path: Path) -> None:
    own, access = bench.copy(tmp_path / "own"), Access(port=0)
    app = mcp_http_app(mcp_server(OpenStores({"own": own.root}), Searching({}), judging=True), access)
    with running(app, access) as found:
        judging = f"{found}/mcp"
        hit = call(judging, "search", query="undo a commit", k=1)["hits"][0]
        made = call(judging, "judge", query="undo", relevant=True, by="Ada", chunk_id=hit["chunk_id"])
        assert made["judgement"]["quotation"] == hit["text"]
        assert call(judging, "judge", query="parking", relevant=False, by="Ada")["judgement"]["verdict"] == "absent"
        assert "say what answers" in refused(judging, "judge", query="undo", relevant=True, by="Ada")
        tools = ask(judging, lambda client: client.list_tools()).tools
        assert [(tool.name, tool.annotations.read_only_hint) for tool in tools][-1] == ("judge", False)
    with own.store as store:
        assert [one.judgement.judged_by for one in store.judgements()] == ["Ada", "Ada"]


def test_a_model_is_told_what_each_tool_does_with_examples(url: str) -> None:
    async def work(client: Client) -> None:
        assert client.server_info
        assert client.server_info.name == "docmill"
        assert "Stores: handbook, weather." in (client.instructions or "")
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [*READING, "plan", "ingest"]
        for tool in tools:
            assert tool.annotations
            assert tool.annotations.read_only_hint == (tool.name != "ingest")
            Draft202012Validator.check_schema(tool.input_schema)
            check = Draft202012Validator({**tool.input_schema, "additionalProperties": False})
            _, _, examples = (tool.description or "").partition("Example")
            found = [line.strip() for line in examples.splitlines() if line.startswith("    {")]
            assert found, f"{tool.name} has no example"
            for example in found:
                check.validate(json.loads(example))
            silent = [name for name, one in tool.input_schema["properties"].items() if not one.get("description")]
            assert silent == [], tool.name

    ask(url, work)


def test_a_hit_can_be_cited_and_read_on(url: str, bench: Workbench) -> None:
    answer = call(url, "search", query="undo a commit", k=2)
    assert (answer["store"], answer["snapshot"], answer["left_out"]) == ("handbook", 2, None)
    hit = answer["hits"][0]
    assert (hit["uri"], hit["line"], hit["headings"]) == ("git.md", 1, ["Undo"])
    assert bench.store.document("git.md").text[hit["start_char"] : hit["end_char"]] == hit["text"]
    explained = call(url, "search", query="undo a commit", k=1, explain=True)["hits"][0]
    assert {"keyword_score", "vector_score", "terms", "steps"} <= {*explained}
    assert call(url, "search", query="mill", where="uri = 'deep/mill.md'", mode="keyword")["hits"][0]["rank"] == 1
    around = call(url, "get_chunk", chunk_id=hit["chunk_id"])
    assert around["chunk"]["text"] == hit["text"]
    assert around["parent"] is None
    near = call(url, "similar", chunk_id=hit["chunk_id"], k=2)
    assert len(near["hits"]) == 2
    assert hit["chunk_id"] not in {one["chunk_id"] for one in near["hits"]}


def test_neighbours_come_in_the_order_of_the_document(url: str, bench: Workbench) -> None:
    ids = [row.chunk_id for row in bench.chunks() if row.uri == "deep/essay.txt"]
    answer = call(url, "get_chunk", chunk_id=ids[2], before=2, after=1)
    found = [one["chunk_id"] for one in (*answer["before"], answer["chunk"], *answer["after"])]
    assert found == ids[:4]


def test_a_document_is_read_whole_by_parts_and_by_sections(url: str) -> None:
    whole = call(url, "get_document", uri="git.md")
    assert (whole["text"], whole["start_char"], whole["end_char"]) == (GIT, 0, len(GIT))
    assert whole["document"]["title"] == "Undo"
    part = call(url, "get_document", uri="git.md", start_char=2, end_char=6)
    assert (part["text"], part["left_out"]) == ("Undo", None)
    sections = call(url, "get_outline", uri="git.md")["sections"]
    assert [(one["number"], one["heading"], one["characters"]) for one in sections] == [
        ("1", "Undo", len(GIT)),
        ("1.1", "Redo", len(GIT) - GIT.index("## Redo")),
    ]
    section = call(url, "get_section", uri="git.md", section="redo")
    assert (section["section"]["number"], section["text"]) == ("1.1", GIT[GIT.index("## Redo") :])


def test_an_answer_is_bounded_and_says_what_was_left_out(url: str, bench: Workbench) -> None:
    text = "".join(f"Line {n} of a long text about the sea and its ships.\n" for n in range(200))
    bench.write({"long.md": f"# Sea\n\n{text}"})
    bench.ingest()
    answer = call(url, "get_document", uri="long.md", max_characters=1000)
    assert answer["text"].endswith(".\n")
    assert 800 < len(answer["text"]) <= 1000
    read, start = "", 0
    while True:
        answer = call(url, "get_document", uri="long.md", start_char=start, max_characters=5000)
        read += answer["text"]
        if answer["left_out"] is None:
            break
        assert answer["left_out"]["characters"] == len(text) + len("# Sea\n\n") - len(read)
        start = answer["left_out"]["next_start_char"]
    assert read == f"# Sea\n\n{text}"
    hits = call(url, "search", query="ships of the sea", k=10, max_characters=2000)
    assert len(json.dumps(hits["hits"])) < 2400
    assert hits["left_out"]["hits"] > 0
    rows = call(url, "sql", query="SELECT range AS n FROM range(500)", max_rows=7)
    assert [row["n"] for row in rows["rows"]] == [*range(7)]
    assert rows["left_out"]["rows_at_least"] == 1


def test_documents_are_listed_by_pages_and_counted_in_sql(url: str) -> None:
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        answer = call(url, "list_documents", limit=2, after=after)
        seen += [one["uri"] for one in answer["documents"]]
        after = answer["next"]
    assert seen == sorted({*seen})
    assert {"git.md", "deep/mill.md"} <= {*seen}
    assert [one["uri"] for one in call(url, "list_documents", prefix="git")["documents"]] == ["git.md"]
    counted = call(url, "sql", query="SELECT count(*) AS n, 1.5::DECIMAL AS d, DATE '2026-01-02' AS day FROM documents")
    assert counted["columns"] == ["n", "d", "day"]
    assert counted["rows"][0]["n"] == len(seen)
    assert call(url, "sql", query="SELECT * FROM rejects")["rows"] == []


def test_stores_stand_side_by_side(url: str) -> None:
    status = call(url, "status", store="weather")
    assert (status["store"], status["status"]["documents"]) == ("weather", 1)
    assert status["stores"] == ["handbook", "weather"]
    assert call(url, "search", query="snow mountains", store="weather")["hits"][0]["uri"] == "snow.txt"
    assert "no store 'other'; this server has handbook, weather" in refused(url, "status", store="other")


def test_older_snapshots_are_read_and_compared(url: str, bench: Workbench) -> None:
    assert call(url, "list_documents", at=1, prefix="deep/m")["documents"] == []
    newest = bench.store.snapshot.number
    answer = call(url, "diff", old=1, new=2)
    assert [(one["kind"], one["after"]) for one in answer["difference"]["documents"]] == [("added", "deep/mill.md")]
    assert answer["counts"]["chunks"] == 1
    assert call(url, "diff", old="1")["difference"]["new"] == newest


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "search",
            {"query": "undo", "limit": 2, "filter": "x"},
            "there is no limit, filter here; search takes query, k, mode",
        ),
        ("status", {"colour": "red"}, "there is no colour here; status takes"),
        ("search", {"query": " "}, "the query is empty"),
        ("search", {"query": "mill", "where": "no_column = 1"}, "no_column"),
        ("search", {"query": "mill", "k": 0}, "k must be at least 1, got 0"),
        ("search", {"query": "mill", "mode": "fuzzy"}, "mode must be 'hybrid', 'vector' or 'keyword', got 'fuzzy'"),
        ("search", {"k": 1}, "query is missing"),
        ("search", {"query": "mill", "at": 99}, "no snapshot 99"),
        ("get_document", {"uri": "no.md"}, "no document 'no.md'"),
        ("get_document", {"uri": "git.md", "start_char": 9999}, "start_char must be in"),
        ("get_section", {"uri": "git.md", "section": "9"}, "no section '9'; name one by its number: 1 Undo, 1.1 Redo"),
        ("get_chunk", {"chunk_id": "f" * 32}, "no chunk"),
        ("sql", {"query": "DROP TABLE chunks"}, "SELECT"),
        ("sql", {"query": "SELECT 1 AS a, 2 AS a"}, "two columns have one name"),
        ("sql", {"query": "SELECT * FROM read_text('/etc/passwd')"}, "no files"),
        ("diff", {"old": "no-tag"}, "no snapshot or tag 'no-tag'"),
    ],
)
def test_a_wrong_call_is_explained_to_the_model(url: str, tool: str, arguments: dict[str, Any], said: str) -> None:
    assert said in refused(url, tool, **arguments)


def test_documents_are_resources(url: str) -> None:
    async def work(client: Client) -> None:
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "docmill://document/{+uri}{?store}"
        for uri in ("git.md", "git%2Emd"):
            (content,) = (await client.read_resource(f"docmill://document/{uri}")).contents
            assert isinstance(content, TextResourceContents)
            assert (content.text, content.mime_type) == (GIT, "text/markdown")
        for uri, said in (("deep/gr%C3%B6%C3%9Fe%201%3F.md", "# Size"), ("snow.txt?store=weather", "It snows")):
            (content,) = (await client.read_resource(f"docmill://document/{uri}")).contents
            assert isinstance(content, TextResourceContents)
            assert content.text.startswith(said)
        for wrong in ("no.md", "../../etc/passwd", "git.md?store=other"):
            with pytest.raises(MCPError, match=r"no document|no store"):
                await client.read_resource(f"docmill://document/{wrong}")
        ref = ResourceTemplateReference(uri=template.uri_template)
        found = await client.complete(ref, {"name": "uri", "value": "deep/m"})
        assert found.completion.values == ["deep/mill.md"]

    ask(url, work)


def test_an_ingest_is_answered_from_at_once(url: str, bench: Workbench) -> None:
    before = call(url, "status")["snapshot"]
    bench.write({"new.md": "# New\n\nA zeppelin lands on the lake.\n"})
    assert call(url, "plan")["documents"]["added"] == 1
    report = call(url, "ingest")
    assert (report["snapshot"], report["documents"]["added"], report["problems"]) == (before + 1, 1, [])
    answer = call(url, "search", query="zeppelin")
    assert (answer["snapshot"], answer["hits"][0]["uri"]) == (before + 1, "new.md")
    assert call(url, "search", query="zeppelin", at=before, mode="keyword")["hits"] == []


def test_answers_have_the_form_of_the_protocol(url: str) -> None:
    """Ask as any client in any language would, by the handshake of an older revision."""

    def post(method: str, params: dict[str, Any]) -> dict[str, Any]:
        told = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
        answer = httpx.post(url, json=told, headers=headers, timeout=60, trust_env=False).raise_for_status().json()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", 1)
        result: dict[str, Any] = answer["result"]
        return result

    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "curl", "version": "1"}}
    for method, params in (
        ("initialize", client),
        ("tools/list", {}),
        ("tools/call", {"name": "search", "arguments": {"query": "mill"}}),
        ("resources/templates/list", {}),
        ("resources/list", {}),
        ("resources/read", {"uri": "docmill://document/git.md"}),
    ):
        validate_server_result(method, "2025-11-25", post(method, params))


def test_over_http_strangers_are_turned_away(bench: Workbench) -> None:
    access = Access(port=0, token=TOKEN, hosts=("docs.example.org",))
    app = mcp_http_app(mcp_server(OpenStores({"store": bench.root}), Searching({})), access)
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with running(app, access) as url, httpx.Client(trust_env=False) as client:
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({**bearer, "Host": "evil.example"}, 421),
            ({**bearer, "Origin": "http://evil.example"}, 403),
        ):
            answer = client.post(f"{url}/mcp", json={}, headers=headers)
            assert (answer.status_code, answer.json()["error"]["status"]) == (status, status)
        error = client.get(f"{url}/elsewhere", headers=bearer).json()["error"]
        assert error["message"] == "there is no path '/elsewhere'; MCP is at /mcp"
        assert client.post(f"{url}/mcp", content=b"x" * (1 << 21), headers=bearer).status_code == 413
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        accepted = {**bearer, "Accept": "application/json, text/event-stream"}
        for host in ("docs.example.org", socket.gethostname(), "localhost"):
            answer = client.post(f"{url}/mcp", json=asked, headers={**accepted, "Host": host})
            assert (host, answer.status_code) == (host, 200)


@pytest.mark.slow
def test_over_stdio_a_new_snapshot_is_taken_up_between_calls(
    bench: Workbench, token_counts_folder: Path, tmp_path: Path
) -> None:
    own = bench.copy(tmp_path / "own")
    command = ["-m", "tests.kit.docmill_with_fake_model", str(token_counts_folder), "mcp", f"own={own.root}"]
    server = StdioServerParameters(command=sys.executable, args=command, env={"PYTHONPATH": ":".join(sys.path)})

    async def work() -> None:
        async with Client(server) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == READING
            before = (await client.call_tool("search", {"query": "undo"})).structured_content
            own.write({"fresh.md": "# Fresh\n\nA heron stands in the pond.\n"})
            await asyncio.to_thread(own.ingest)
            after = (await client.call_tool("search", {"query": "heron"})).structured_content
            assert isinstance(before, dict)
            assert isinstance(after, dict)
            assert after["snapshot"] == before["snapshot"] + 1
            assert (after["store"], after["hits"][0]["uri"]) == ("own", "fresh.md")

    asyncio.run(work())
