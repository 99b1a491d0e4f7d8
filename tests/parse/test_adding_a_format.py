"""A format is added with a reader and a record: what the guide says of it is all that has to be done."""

import sys
from types import ModuleType

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.detect.type_scores import detect
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.dispatch import file_type
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.formats import FORMATS, Format, ParseOptions, _form

RECIPE = b"Rye bread\n=========\n500 g rye\n"


def parse_recipe(data: bytes, _: ParseOptions) -> Parsed:
    canvas = Canvas()
    title, _rule, *lines = data.decode().splitlines()
    canvas.heading(title, 1)
    for line in lines:
        canvas.item(line, 1)
    return canvas.parsed(title)


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Format:
    room = ModuleType("docmill.tasks.parse.recipes")
    room.parse_recipe = parse_recipe  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, room.__name__, room)
    decides = {"content_type": "structured", "because": "the file is a recipe"}
    signs = {"holds": "", "begins": r"%RECIPE\b"}
    form = _form("recipe", 1, "recipes.parse_recipe", ".recipe", "recipes", "lines", **signs, **decides)
    monkeypatch.setitem(FORMATS, form.name, form)
    # What is made of all records when the program begins:
    monkeypatch.setitem(file_type._BY_SUFFIX, ".recipe", "recipe")
    return form


def test_a_record_is_enough_for_a_suffix_a_beginning_a_reader_and_a_content_type(recipe: Format) -> None:
    found = detect_file_type("bread.recipe", RECIPE)
    assert found.format == "recipe"
    assert detect_file_type("bread.txt", b"%RECIPE\n" + RECIPE).format == "recipe"
    parsed = recipe.parse(RECIPE, ParseOptions())
    assert parsed.text == "# Rye bread\n\n- 500 g rye"
    verdict = detect(parsed, found)
    assert (verdict.content_type, verdict.evidence) == ("structured", ("the file is a recipe",))


def test_no_suffix_signature_or_label_stands_in_two_records() -> None:
    for signs in ("suffixes", "signatures", "streams", "labels"):
        said = [sign for form in FORMATS.values() if form.name != "code" for sign in getattr(form, signs)]
        assert len(said) == len(set(said)), signs


def test_every_format_that_a_record_names_as_akin_names_it_too() -> None:
    for form in FORMATS.values():
        assert {other for other in form.akin & FORMATS.keys() if form.name not in FORMATS[other].akin} == set()
