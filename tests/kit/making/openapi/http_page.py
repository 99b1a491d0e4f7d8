"""The page on the paths of `docmill serve`, from its OpenAPI description."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.guard import MOST_BYTES
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.web.http_app import http_app
from tests.kit.making.reference.markdown import block, code, page, prose, table

HEAD = f"""\
The paths of [`docmill serve`](../guides/http.md), as `/openapi.json` describes them. Each answer is one object of JSON.
It has `store` and `snapshot`; fields of hits, chunks, documents and snapshots are those of [`--json`](json.md).
`left_out` is null, or says what did not fit into `max_characters`. A request may have {MOST_BYTES:,} bytes."""
FAILED = """\
The body is `{"error": {"kind": ..., "message": ..., "retry": ..., "status": ...}}`, with the fields of an
[error of the command line](errors.md#what-a-command-prints); `status` is that of HTTP."""


def made() -> str:
    """Return the page."""
    told = asyncio.run(_description())
    parts = [part for path, methods in told["paths"].items() for part in _path(path, methods, told)]
    return page("HTTP", HEAD, *parts, "## Failures", FAILED, _failures(told))


async def _description() -> dict[str, Any]:
    app: Any = http_app(OpenStores({"store": Path("store")}), Searching({}), Access())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        told: dict[str, Any] = (await client.get("/openapi.json")).json()
        return told


def _path(path: str, methods: dict[str, Any], told: dict[str, Any]) -> Iterator[str]:
    for method, one in methods.items():
        yield f"## `{method.upper()} {path}`"
        yield prose(one["description"])
        yield table(("parameter", "type", "default", "meaning"), map(_parameter, one.get("parameters", ())))
        if body := one.get("requestBody"):
            yield from _body(_named(body["content"]["application/json"]["schema"], told))


def _body(schema: dict[str, Any]) -> Iterator[str]:
    yield "The body is an object, such as:"
    yield block(json.dumps(schema["examples"][0]), "json")
    needed = schema.get("required", ())
    rows = [
        (code(name), _type(one), "required" if name in needed else _default(one), prose(one["description"]))
        for name, one in schema["properties"].items()
    ]
    yield table(("field", "type", "default", "meaning"), rows)


def _named(schema: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = told["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _parameter(one: dict[str, Any]) -> tuple[str, str, str, str]:
    default = "required" if one["required"] else _default(one["schema"])
    return code(one["name"]), _type(one["schema"]), default, prose(one["description"])


def _type(one: dict[str, Any]) -> str:
    """Return the type of a value, with its values or its bounds."""
    return " or ".join(_kind(each) for each in one.get("anyOf", [one]) if each.get("type") != "null")


def _kind(one: dict[str, Any]) -> str:
    if "enum" in one:
        return ", ".join(map(code, one["enum"]))
    low = f" from {one['minimum']:,.10g}" if "minimum" in one else ""
    above = f" above {one['exclusiveMinimum']:,.10g}" if "exclusiveMinimum" in one else ""
    high = f" to {one['maximum']:,.10g}" if "maximum" in one else ""
    length = f" of at most {one['maxLength']:,} characters" if "maxLength" in one else ""
    return f"{one['type']}{low}{above}{high}{length}"


def _default(one: dict[str, Any]) -> str:
    value = one.get("default")
    return "" if value in (None, "") else code(str(value).lower() if isinstance(value, bool) else value)


def _failures(told: dict[str, Any]) -> str:
    every = told["paths"]["/search"]["post"]["responses"]
    return table(
        ("status", "meaning"), [(code(status), prose(one["description"])) for status, one in every.items()][1:]
    )
