"""JSON Schema of what each command prints with `--json`, made from the fields that the reference describes."""

import json
from collections.abc import Iterable
from typing import Any

from tests.kit.making.printed_json.json_fields import PRINTED
from tests.kit.making.printed_json.json_meanings import JsonField, fields_of

Schema = dict[str, Any]

_KINDS: dict[str, Schema] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "object": {"type": "object"},
    "any": {},
}


def made() -> str:
    """Return the file: one definition for each command, by its name."""
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of docmill print with --json",
        "$defs": {name: schema_of(name) for name in PRINTED},
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def schema_of(command: str) -> Schema:
    """Return the schema of the object that a command prints, or of each object of the array that it prints."""
    schema = _closed(fields_of(command))
    return {"type": "array", "items": schema} if PRINTED[command].about.startswith("an array") else schema


def _closed(fields: Iterable[JsonField]) -> Schema:
    """Return the schema of an object; no field is required, since some appear only where they say something."""
    whole: Schema = {"type": "object"}
    for field in fields:
        place = whole
        for part in field.path.replace("[]", ".[]").split("."):
            place = _inner(place, part)
        place |= _of_kind(field.type, place)
        if field.meaning:
            place["description"] = field.meaning
    return whole


def _inner(place: Schema, part: str) -> Schema:
    """Return the schema of a part of a path within that of the part before it; make it where there is none."""
    place["type"] = _also(place.get("type"), "array" if part == "[]" else "object")
    inner: Schema
    if part in ("[]", "*"):
        inner = place.setdefault("items" if part == "[]" else "additionalProperties", {})
    else:
        inner = place.setdefault("properties", {}).setdefault(part, {})
    return inner


def _also(held: Any, kind: str) -> Any:
    """Return the types of a schema, and `kind` with them."""
    kinds = [held] if isinstance(held, str) else held or []
    return [*kinds, kind] if kinds and kind not in kinds else held or kind


def _of_kind(described: str, place: Schema) -> Schema:
    """Return the schema of a type such as "integer or null" or "array of text"."""
    if described.startswith("array of "):
        items = _of_kind(described.removeprefix("array of "), {})
        return {"type": _also(place.get("type"), "array"), "items": place.get("items", {}) | items}
    kinds = [_KINDS[name]["type"] for name in described.split(" or ") if _KINDS[name]]
    return {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}
