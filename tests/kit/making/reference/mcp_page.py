"""The page on the tools of `docmill mcp`, as a client sees them."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from docmill.flows.config.settings import Settings
from tests.kit.making.reference.markdown import code, page, prose, table

HEAD = """\
The tools of [`docmill mcp`](../guides/mcp.md); a client also gets what each returns, with examples. `plan` and `ingest`
exist only with `--allow-ingest`, `judge` only with `--allow-judging`. Each answer is one object: in
`structuredContent`, and as the same JSON in a text. It has `store` and `snapshot`; fields of hits, chunks, documents
and snapshots are those of [`--json`](json.md).

Documents are resources, too: `{resource}`."""

SHARED = """\
## Arguments that tools share

A tool says below which of these it takes, too."""
SHARED_BY = 3
"""An argument that as many tools describe alike is described once."""
COLUMNS = ("argument", "type", "default", "meaning")
Row = tuple[str, str, str, str]


def made() -> str:
    """Return the page."""
    # Here, because each process of the tests imports this module, and `mcp` takes a second of CPU time.
    from docmill.flows.serving.answers import Searching
    from docmill.flows.serving.open_stores import OpenStores
    from docmill.flows.serving.protocol.mcp_runs import RunTools
    from docmill.flows.serving.protocol.mcp_server import RESOURCE, mcp_server

    runs = RunTools(Settings(sources=("docs",)), "store")
    tools = asyncio.run(
        mcp_server(OpenStores({"store": Path("store")}), Searching({}), runs, judging=True).list_tools()
    )
    counted = Counter(row for tool in tools for row in _rows(tool))
    shared = [row for row, number in counted.items() if number >= SHARED_BY]
    head = HEAD.format(resource=RESOURCE)
    return page("MCP", head, SHARED, table(COLUMNS, shared), *(_tool(tool, shared) for tool in tools))


def _tool(tool: Any, shared: list[Row]) -> str:
    rows = _rows(tool)
    own = table(COLUMNS, [row for row in rows if row not in shared])
    also = ", ".join(row[0] for row in rows if row in shared)
    first = prose(" ".join(tool.description.partition("\n\n")[0].split()))
    return "\n\n".join(filter(None, [f"## `{tool.name}`", first, own, also and f"Also {also}."]))


def _rows(tool: Any) -> list[Row]:
    return [
        (code(name), _type(one), _default(name, one, tool.input_schema), prose(one.get("description", "")))
        for name, one in tool.input_schema["properties"].items()
    ]


def _type(one: dict[str, Any]) -> str:
    """Return the type of an argument, with its values or bounds."""
    if "enum" in one:
        return ", ".join(map(code, one["enum"]))
    kinds = [each["type"] for each in one.get("anyOf", [one]) if each["type"] != "null"]
    bounds = f" from {one['minimum']:,}" if "minimum" in one else ""
    return " or ".join(kinds) + bounds + (f" to {one['maximum']:,}" if "maximum" in one else "")


def _default(name: str, one: dict[str, Any], schema: dict[str, Any]) -> str:
    if name in schema.get("required", ()):
        return "required"
    value = one.get("default")
    return "" if value in (None, "") else code(str(value).lower() if isinstance(value, bool) else value)
