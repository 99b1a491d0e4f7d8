"""The reference is what the code says: its pages are as the generator prints them, and the code says enough."""

import ast
import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import fields

import pytest

import docmill
from docmill.flows.cli.program import GROUPS
from docmill.flows.cli.terminal.exit_statuses import STATUSES, STATUSES_OF
from docmill.flows.config.configuration import keys
from docmill.flows.config.section import Unit
from docmill.storage.errors import REASONS, ConfigError
from docmill.tasks.context.contextualizers import CONTEXTUALIZERS
from docmill.tasks.detect.content_types import CONTENT_TYPES
from docmill.tasks.detect.type_scores import SCORES
from docmill.tasks.split.parts.strategy_options import Stated
from docmill.tasks.split.strategies import SPLITTERS, options_of
from tests.kit.house import MODULES, ROOT, name_of, syntax
from tests.kit.making.make_reference import FOLDER, PAGES
from tests.kit.making.reference.commands_page import commands, named
from tests.kit.making.reference.errors_page import REMEDIES
from tests.kit.making.reference.python_page import CLASSES, FUNCTIONS, TYPES
from tests.kit.making.reference.strategies_page import CONTEXTS

LEVELS_OF_EXIT = {
    "EXIT_DONE": 0,
    "FAILED": 1,
    "WRONG_USAGE": 2,
    "EXIT_PARTLY": 3,
    "EXIT_HELD": 4,
    "EXIT_UNREACHED": 5,
    "_INTERRUPTED": 130,
}


SLOW = ("json",)  # runs every command


@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in PAGES])
def test_a_page_is_as_the_code_says_it_today(name: str) -> None:
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert PAGES[name]() == text, "write it anew: python -m tests.kit.making.make_reference"


def test_every_page_of_the_reference_is_made_or_is_the_index() -> None:
    others = {path.stem for path in FOLDER.glob("*.md")} - {*PAGES}
    assert "index" in others
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert {name for name in PAGES if f"({name}.md)" not in index} == set()


def test_every_command_is_in_a_group_and_says_what_it_and_its_parameters_do() -> None:
    assert {name for names in GROUPS.values() for name in names} == {*commands()}
    every = [(full, command) for name in commands() for full, command in named(name)]
    silent = [name for name, command in every if not re.match(r"[A-Z].*\.", command.help or "")]
    assert silent == []
    bare = [f"{name} {one.name}" for name, command in every for one in command.params if not getattr(one, "help", "")]
    assert bare == []


def test_every_exit_status_in_the_code_has_a_meaning() -> None:
    assert set(_exits()) - {*STATUSES} == set()
    assert {*LEVELS_OF_EXIT.values()} <= {*STATUSES}
    assert {status for meanings in STATUSES_OF.values() for status in meanings} <= {*STATUSES}
    assert {*STATUSES_OF} <= {full for name in commands() for full, _ in named(name)}


def _exits() -> Iterator[int]:
    """Yield each number with which code of the command line ends: in `typer.Exit(...)`, or as a constant."""
    for path in MODULES:
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typer.Exit", "Exit"):
                yield from (one.value for one in _results(node.args) if isinstance(one.value, int))
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in LEVELS_OF_EXIT:
                assert ast.literal_eval(node.value) == LEVELS_OF_EXIT[ast.unparse(node.targets[0])], name_of(path)


def _results(values: list[ast.expr]) -> Iterator[ast.Constant]:
    """Yield the constants among values, those of both arms of a condition included."""
    for value in values:
        if isinstance(value, ast.IfExp):
            yield from _results([value.body, value.orelse])
        elif isinstance(value, ast.Constant):
            yield value


def test_every_number_among_the_settings_says_what_it_counts() -> None:
    numbers = [key for key in keys() if key.field.annotation in (int, float)]
    assert numbers
    assert [key.dotted for key in numbers if not any(isinstance(one, Unit) for one in key.field.metadata)] == []
    assert [key.dotted for key in keys() if not re.match(r"[A-Za-z].*\.$", key.field.description or "")] == []


@pytest.mark.parametrize("name", SPLITTERS)
def test_every_option_of_a_strategy_says_what_it_means_and_holds_to_its_bounds(name: str) -> None:
    for field in fields(SPLITTERS[name].options):
        stated: Stated = field.metadata["stated"]
        assert re.match(r"[A-Z].*\.$", stated.meaning), field.name
        if stated.low is not None and stated.high is not None:
            for wrong in (stated.low - 1, stated.high + 1, "1", True):
                with pytest.raises(ConfigError, match=field.name):
                    options_of(name, {field.name: wrong})
        elif isinstance(field.default, bool):
            with pytest.raises(ConfigError, match=field.name):
                options_of(name, {field.name: 1})


def test_every_reason_contextualizer_and_content_type_is_explained() -> None:
    assert list(REMEDIES) == list(REASONS)
    assert {*CONTEXTS} == {*CONTEXTUALIZERS}
    assert {*CONTENT_TYPES} == {*SCORES}


def public_calls() -> list[tuple[str, typing.Any]]:
    """Return the public functions, and the public methods of the public classes."""
    found = [(name, getattr(docmill, name)) for name in FUNCTIONS]
    for name in CLASSES[:1]:
        methods = inspect.getmembers(getattr(docmill, name), inspect.isfunction)
        found += [(f"{name}.{method}", one) for method, one in methods if not method.startswith("_")]
    return found


def test_the_page_on_python_has_every_public_name() -> None:
    assert {*FUNCTIONS, *CLASSES, *dict(TYPES), "errors", "__version__"} == {*docmill.__all__}


@pytest.mark.parametrize(("name", "call"), public_calls(), ids=[name for name, _ in public_calls()])
def test_a_public_call_has_types_and_says_its_arguments_result_errors_and_an_example(
    name: str, call: typing.Any
) -> None:
    text, signature = inspect.getdoc(call) or "", inspect.signature(call)
    parameters = {one: stated for one, stated in signature.parameters.items() if one != "self"}
    assert all(one.annotation is not inspect.Parameter.empty for one in parameters.values())
    assert signature.return_annotation is not inspect.Signature.empty
    assert "Examples:\n    >>> " in text
    if "those of `ingest`" in text:
        return
    arguments = text.partition("Args:\n")[2].partition("\n\n")[0]
    assert {one for one in parameters if not re.search(rf"^ +(\*\*)?{one}: ", arguments, re.MULTILINE)} == set()
    if signature.return_annotation not in (None, "None"):
        assert "Returns:\n" in text
        assert "Raises:\n" in text or name == "Store.history"


@pytest.mark.parametrize("name", ["Document", "Hit", "Report"])
def test_a_public_value_says_each_of_its_fields(name: str) -> None:
    kind = getattr(docmill, name)
    attributes = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^ {4}(\w+): ", attributes, re.MULTILINE) == [field.name for field in fields(kind)]


def test_the_pages_of_the_reference_are_not_run_as_commands() -> None:
    """A usage such as `docmill search [query]` is no command: it stands in a block of text."""
    assert [path.name for path in FOLDER.glob("*.md") if "```bash" in path.read_text("utf-8")] == []
    assert (ROOT / "mkdocs.yml").is_file()
