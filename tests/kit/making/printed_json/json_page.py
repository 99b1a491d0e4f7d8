"""The page on JSON: a sample of what every command prints with `--json`; its schema says what each field means."""

import json
from typing import Any

from tests.kit.making.printed_json.json_fields import PRINTED
from tests.kit.making.printed_json.json_samples import samples
from tests.kit.making.reference.markdown import block, code, entries, page

HEAD = """\
A command with `--json` prints one JSON document in UTF-8 on standard output. Notes and progress go to standard error,
and so does an [error](errors.md#what-a-command-prints), as one line of JSON. Offsets are half-open and count code
points. Fields keep their names and types within a minor version; new fields may be added.

A [JSON Schema](json-schema.json) has the type and the meaning of each field, in one definition for each command. The
samples below come from a store of two short documents and an empty file, with all times set to one value."""
_TIME = "2026-01-31T12:00:00.000+00:00"
_SET: dict[str, Any] = {
    "created": _TIME,
    "first_seen": _TIME,
    "last_seen": _TIME,
    "succeeded": _TIME,
    "address": "/home/ada/docs",
    "run_id": "20260131T120000000000-1",
    "bytes": 150_000,
    "minutes": 0.0,
}
"""Values that differ from run to run, and what the page shows for them."""
_SECONDS = 0.1
_MOST = 2  # elements of an array that a sample shows
_DECIMALS = 3
SHOWN = ("ingest", "search")
"""Commands with a sample; the schema has the fields of all."""
_WIDTH = 116  # of a line of a sample


def made() -> str:
    """Return the page."""
    found = samples()
    alike: dict[str, list[str]] = {}
    for name in PRINTED:
        alike.setdefault(PRINTED[name].about, []).append(_command(name))
    rows = [(", ".join(names), f"{about[0].upper()}{about[1:]}.") for about, names in alike.items()]
    shown = (part for name in SHOWN for part in (f"## {code(f'docmill {name}')}", _sample(found[name])))
    return page("JSON", HEAD, entries(rows), *shown)


def _command(name: str) -> str:
    return f"[{code(name)}](#docmill-{name.replace(' ', '-')})" if name in SHOWN else code(name)


def _sample(value: Any) -> str:
    return block(_written(_settled(value)), "json")


def _written(value: Any, indent: str = "") -> str:
    """Return JSON with each object and array on one line where it fits."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= _WIDTH or not isinstance(value, dict | list):
        return short
    inner = f"{indent}  "
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"{inner}{_written(one, inner)}" for one in value) + f"\n{indent}]"
    lines = (f"{inner}{json.dumps(name)}: {_written(one, inner)}" for name, one in value.items())
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _settled(value: Any, key: str = "") -> Any:
    """Return a sample whose values are the same in each run."""
    if key in _SET and value:
        return _SET[key]
    if isinstance(value, dict):
        inner = {name: _SECONDS if key == "seconds" else _settled(one, name) for name, one in value.items()}
        return inner | {"found": "3.11.7 on Linux x86_64"} if value.get("name") == "python" else inner
    if isinstance(value, list):
        return [_settled(one) for one in value[:_MOST]]
    return round(value, _DECIMALS) if isinstance(value, float) else value
