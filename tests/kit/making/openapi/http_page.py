"""The page on the paths of `docmill serve`, from its OpenAPI description."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from docmill.flows.config.settings import SearchSettings
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.guard import MOST_BYTES
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from tests.kit.making.reference.markdown import code, entries, page, prose

HEAD = f"""\
The paths of [`docmill serve`](../guides/http.md); `/openapi.json` also has the greatest length of each text. Each
answer is one object of JSON with `store` and `snapshot`; other fields are those of [`--json`](json.md). `left_out` is
null, or says what did not fit into `max_characters`. A request may have {MOST_BYTES:,} bytes."""
FAILED = """\
The body is `{"error": {"kind": ..., "message": ..., "retry": ..., "status": ...}}`, with the fields of an
[error of the command line](errors.md#what-a-command-prints); `status` is that of HTTP."""

SHARED = """\
## Parameters that paths share

Most paths take these, too: in the query of the address, or in the body."""
SHARED_BY = 3
"""A parameter that as many paths describe alike is described once."""
RANKING = {*SearchSettings.model_fields}
"""Fields of a search that are settings, which are described with these."""
Row = tuple[str, str, str]


def made() -> str:
    """Return the page."""
    told = asyncio.run(_description())
    every = [(path, method, one) for path, methods in told["paths"].items() for method, one in methods.items()]
    counted = Counter(row for _, _, one in every for row in _rows(one, told))
    shared = [row for row, number in counted.items() if number >= SHARED_BY]
    parts = [part for path, method, one in every for part in _path(f"{method.upper()} {path}", one, told, shared)]
    return page("HTTP", HEAD, SHARED, entries(shared), *parts, "## Failures", FAILED, _failures(told))


async def _description() -> dict[str, Any]:
    app: Any = http_app(OpenStores({"store": Path("store")}), Searching({}), Access())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        told: dict[str, Any] = (await client.get("/openapi.json")).json()
        return told


def _path(title: str, one: dict[str, Any], told: dict[str, Any], shared: list[Row]) -> Iterator[str]:
    yield f"## {code(title)}"
    yield prose(one["description"])
    if body := one.get("requestBody"):
        schema = _named(body["content"]["application/json"]["schema"], told)
        yield f"The body is an object, such as {code(json.dumps(schema['examples'][0]))}."
    rows = _rows(one, told)
    ranking = [row[0] for row in rows if row[0].strip("`") in RANKING]
    yield entries(row for row in rows if row not in shared and row[0] not in ranking)
    if ranking:
        yield f"Also these keys of [`[search]`](settings.md#search), for one search: {', '.join(ranking)}."


def _rows(one: dict[str, Any], told: dict[str, Any]) -> list[Row]:
    """Return the rows of parameters, and of the fields of the body."""
    rows = [_parameter(each) for each in one.get("parameters", ())]
    if body := one.get("requestBody"):
        schema = _named(body["content"]["application/json"]["schema"], told)
        needed = schema.get("required", ())
        rows += [
            (code(name), _values(each, name in needed), prose(each["description"]))
            for name, each in schema["properties"].items()
        ]
    return rows


def _named(schema: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = told["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _parameter(one: dict[str, Any]) -> Row:
    return code(one["name"]), _values(one["schema"], one["required"]), prose(one["description"])


def _values(schema: dict[str, Any], required: bool) -> str:
    """Return the type and bounds of a value, and its default."""
    default = _default(schema)
    return ", ".join(filter(None, [_type(schema), "required" * required, default and f"default {default}"]))


def _type(one: dict[str, Any]) -> str:
    """Return the type of a value, with its values or its bounds."""
    return " or ".join(_kind(each) for each in one.get("anyOf", [one]) if each.get("type") != "null")


def _kind(one: dict[str, Any]) -> str:
    if "enum" in one:
        return ", ".join(map(code, one["enum"]))
    low = f" from {one['minimum']:,.10g}" if "minimum" in one else ""
    above = f" above {one['exclusiveMinimum']:,.10g}" if "exclusiveMinimum" in one else ""
    high = f" to {one['maximum']:,.10g}" if "maximum" in one else ""
    return f"{one['type']}{low}{above}{high}"


def _default(one: dict[str, Any]) -> str:
    value = one.get("default")
    return "" if value in (None, "") else code(str(value).lower() if isinstance(value, bool) else value)


def _failures(told: dict[str, Any]) -> str:
    every = told["paths"]["/search"]["post"]["responses"]
    return entries([(code(status), prose(one["description"])) for status, one in every.items()][1:])
