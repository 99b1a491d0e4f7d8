"""What `--json` prints has the fields that the reference lists, with their types, and no other."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import jsonschema
import pytest

from tests.kit.making.make_reference import JSON_SCHEMA
from tests.kit.making.printed_json.json_cases import cases
from tests.kit.making.printed_json.json_fields import PRINTED
from tests.kit.making.printed_json.json_meanings import fields_of
from tests.kit.making.printed_json.json_samples import COMMANDS, UNSAMPLED, samples
from tests.kit.making.printed_json.json_schema import made, schema_of
from tests.kit.making.reference.commands_page import commands, named

TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "any": (object,),
}
NEVER = {  # a plan has the fields of a run; no gate judges it, and it embeds nothing
    "plan": {"gate.*", "embedding.calls", "embedding.left"}
}


def leaves(value: Any, known: set[str], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each field; a key that the reference spells `*` is spelled so."""
    if isinstance(value, dict) and path not in known:
        for key, inner in value.items():
            near = f"{path}.{key}".lstrip(".")
            free = f"{path}.*".lstrip(".")
            has = any(one == near or one.startswith((f"{near}.", f"{near}[")) for one in known)
            yield from leaves(inner, known, near if has else free)
    elif isinstance(value, list) and path not in known:
        for inner in value:
            yield from leaves(inner, known, f"{path}[]")
    else:
        yield path, value
        # A field that may be null, and one that has rows for its elements, has a row of its own.
        if isinstance(value, dict) or any(one.startswith(f"{path}[]") for one in known):
            yield from leaves(value, known - {path}, path)


def test_every_command_with_json_is_described_and_run() -> None:
    every = [(full, command) for name in commands() for full, command in named(name)]
    with_json = {name for name, command in every if any("--json" in one.opts for one in command.params)}
    assert with_json == {*PRINTED} == {*COMMANDS, *UNSAMPLED}


@pytest.mark.slow
@pytest.mark.usefixtures("fake_model")  # whose processes start warm: a third of the CPU time
def test_commands_print_the_fields_of_the_reference_and_what_their_schemas_allow() -> None:
    """In one test: the commands take half a minute, once in each process that has a test of them."""
    schemas, rarer = json.loads(JSON_SCHEMA.read_text(encoding="utf-8"))["$defs"], cases()
    for name, ordinary in samples().items():
        printed = [ordinary, *rarer.get(name, ())]
        _check_fields(name, [one for value in printed for one in (value if isinstance(value, list) else [value])])
        for value in printed:
            jsonschema.validate(value, schemas[name])


def _check_fields(name: str, objects: Sequence[Any]) -> None:
    fields = {field.path: field for field in fields_of(name)}
    found = [pair for one in objects for pair in leaves(one, {*fields})]
    seen = {path for path, _ in found}
    assert seen - {*fields} == set(), f"{name}: the reference lacks these"
    assert {path for path in {*fields} - seen if not _excused(name, path)} == set(), f"{name}: no sample has these"
    for path, value in found:
        assert _is(value, fields[path].type), f"{name}: {path} is {value!r}, not {fields[path].type}"


def test_the_schema_is_that_of_the_code_and_refuses_another_type() -> None:
    assert JSON_SCHEMA.read_text(encoding="utf-8") == made(), "write it: python -m tests.kit.making.make_reference"
    schema = schema_of("search")
    jsonschema.Draft202012Validator.check_schema(schema)
    with pytest.raises(jsonschema.ValidationError, match="is not of type 'number'"):
        jsonschema.validate([{"score": "high"}], schema)


def _excused(name: str, path: str) -> bool:
    return any(path == one or (one.endswith("*") and path.startswith(one[:-1])) for one in NEVER.get(name, ()))


def _is(value: Any, described: str) -> bool:
    """Return whether a value has a type, such as "integer or null" or "array of text"."""
    if described.startswith("array of "):
        return isinstance(value, list) and all(_is(one, described.removeprefix("array of ")) for one in value)
    kinds = tuple(kind for name in described.split(" or ") for kind in TYPES[name])
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds or object in kinds)
