"""What `--json` prints has the fields that the reference lists, with their types, and no other."""

import json
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def printed() -> dict[str, list[Any]]:
    """What each command prints, in the ordinary case and in rarer ones."""
    rarer = cases()
    return {name: [value, *rarer.get(name, ())] for name, value in samples().items()}


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
@pytest.mark.parametrize("name", COMMANDS)
def test_the_fields_of_a_command_are_those_of_the_reference(name: str, printed: dict[str, list[Any]]) -> None:
    fields = {field.path: field for field in fields_of(name)}
    objects = [one for value in printed[name] for one in (value if isinstance(value, list) else [value])]
    seen = dict.fromkeys(path for one in objects for path, _ in leaves(one, {*fields}))
    assert {*seen} - {*fields} == set(), "the reference lacks these"
    unseen = {path for path in {*fields} - {*seen} if not _excused(name, path)}
    assert unseen == set(), "no sample has these"
    for one in objects:
        for path, value in leaves(one, {*fields}):
            assert _is(value, fields[path].type), f"{path} is {value!r}, not {fields[path].type}"


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_prints_is_valid_by_its_schema(name: str, printed: dict[str, list[Any]]) -> None:
    schema = json.loads(JSON_SCHEMA.read_text(encoding="utf-8"))["$defs"][name]
    for value in printed[name]:
        jsonschema.validate(value, schema)


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
