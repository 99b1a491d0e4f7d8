"""The page on JSON: a sample of what every command prints with `--json`; its schema says what each field means."""

import json
from collections.abc import Iterator
from typing import Any

from tests.kit.making.printed_json.json_fields import PRINTED
from tests.kit.making.printed_json.json_meanings import fields_of
from tests.kit.making.printed_json.json_samples import ENDLESS, samples
from tests.kit.making.reference.markdown import block, code, page, prose, table

HEAD = """\
A command with `--json` prints one JSON document on standard output: UTF-8, one object or one array. Notes and progress
go to standard error, and so does an [error](errors.md#what-a-command-prints), as one line of JSON. Offsets are
half-open and count code points. Fields keep their names and types within a minor version; new fields may be added.

A [JSON Schema](json-schema.json) has the type and the meaning of each field, in one definition for each command.

The samples are real: they come from a store of two short documents and an empty file, with models made for tests.
Their times are set to one value, and long arrays are cut to two elements."""
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
_FREE = ("publish", "verify", "plugins", *ENDLESS)  # an empty array says nothing, so a table lists the fields


def made() -> str:
    """Return the page."""
    found = samples()
    links = ", ".join(f"[{code(name)}](#docmill-{name.replace(' ', '-')})" for name in PRINTED)
    return page(
        "JSON", HEAD, f"The commands: {links}.", *(part for name in PRINTED for part in _section(name, found.get(name)))
    )


def _section(name: str, sample: Any) -> Iterator[str]:
    yield f"## {code(f'docmill {name}')}"
    yield f"It prints {PRINTED[name].about}."
    if name in _FREE:
        rows = [(code(field.path), field.type, prose(field.meaning)) for field in fields_of(name)]
        yield table(("field", "type", "meaning"), rows)
    else:
        shown = _settled(sample[:1] if name == "doctor" else sample)
        yield block(json.dumps(shown, indent=2, ensure_ascii=False), "json")


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
