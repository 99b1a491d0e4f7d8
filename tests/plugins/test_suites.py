"""The suites of `docmill.testing` hold for our own and find what is wrong with a plugin."""

from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.context.contextualizers import CONTEXTUALIZERS
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.testing import (
    ParserSuite,
    Sample,
    SplitterSuite,
    check_contexts,
    check_damaged,
    check_document,
    check_parsed,
    documents,
)
from tests.kit.drawing import examples
from tests.kit.making import make_golden
from tests.plugins.distributions import write_distribution

CODE = """
from itertools import count
from docmill.plugins import Options, Span

calls = count(1)

class Splitter:
    version = 1
    options = Options

    def split(self, part, options):
        return [Span(part.start, part.end)] if part.text[part.start : part.end].strip() else []

class Turns(Splitter):
    def split(self, part, options):
        middle = part.start + 4 * next(calls)
        return [Span(part.start, middle), Span(middle, part.end)]

class Loses(Splitter):
    def split(self, part, options):
        return [Span(part.start, part.start + 1)]

class Context:
    version = 1

    def say(self, setting, span, lead):
        return setting.parsed.text[: next(calls)]
"""


class OfWholes(SplitterSuite):
    strategy = "wholes"


class OfLosses(SplitterSuite):
    strategy = "losses"


@pytest.fixture
def bad(tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution of bad plugins."""
    entries = {"wholes": "Splitter", "turns": "Turns", "losses": "Loses"}
    targets = {f"splitters/{name}": f"bad_plugins:{target}" for name, target in entries.items()}
    write_distribution(
        tmp_path, "bad", targets | {"contextualizers/changes": "bad_plugins:Context"}, {"bad_plugins": CODE}
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert fresh is None


@pytest.mark.parametrize("path", make_golden.samples(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_our_parsers_keep_what_the_suite_asks_of_others(path: Path) -> None:
    data = path.read_bytes()
    sample = Sample(path.name, data, detect_file_type(path.name, data).format)
    check_damaged(sample, 2)
    if "\nrejected: " not in make_golden.reading(path):
        check_parsed(sample)


@pytest.mark.parametrize("contextualizer", CONTEXTUALIZERS.own)
@examples(8)
@given(parsed=documents(), limit=st.sampled_from([32, 64, 256]))
def test_our_contextualizers_keep_what_the_suite_asks_of_others(
    contextualizer: str, parsed: Parsed, limit: int
) -> None:
    check_contexts(parsed, limit, contextualizer)


PARSERS_OF_OTHERS = """
from itertools import count
from docmill.plugins import Element, NoOptions, Parsed

calls = count(1)

class Parser:
    version = 1
    options = NoOptions
    formats = {"{name}": (".{name}",)}

    def parse(self, data, format, options):
        text = data.decode({errors})
        return Parsed(text, (Element("paragraph", 0, len(text), line={line}),), {title})
"""
SOUND = {"name": "card", "errors": "errors='replace'", "title": "'Rye'", "line": "0"}


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("change", "found_by"),
    [
        ({}, ""),
        ({"errors": ""}, "damage"),
        ({"title": "f'Rye of day {next(calls)}'"}, "parsed"),
        ({"line": "7"}, "parsed"),
    ],
)
def test_the_suite_of_parsers_finds_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], found_by: str
) -> None:
    module, code = f"cards_{tmp_path.name.replace('-', '_')}", PARSERS_OF_OTHERS
    for name, value in {**SOUND, **change}.items():
        code = code.replace(f"{{{name}}}", value)
    write_distribution(tmp_path, "bad", {"parsers/cards": f"{module}:Parser"}, {module: code})
    monkeypatch.syspath_prepend(tmp_path)

    class OfCards(ParserSuite):
        parser = "cards"
        samples: ClassVar = {"rye.card": "Rye, flour, water, a warm place; überall.".encode()}

    for name, test in (
        ("parsed", OfCards().test_samples_are_read_with_exact_spans_and_the_same_again),
        ("damage", OfCards().test_damaged_and_empty_files_are_read_or_rejected_with_a_reason),
    ):
        with pytest.raises(AssertionError) if name == found_by else nullcontext():
            test()


@pytest.mark.usefixtures("bad")
def test_bad_plugins_fail() -> None:
    parsed = Parsed("The mill grinds. Then it stands still.", ())
    with pytest.raises(AssertionError):
        check_document(parsed, 64, "turns", {})
    with pytest.raises(AssertionError):
        OfWholes().test_a_new_sentence_makes_few_new_chunks()
    with pytest.raises(Rejected, match="no span holds"):
        OfLosses().test_a_long_single_line_is_split()
    with pytest.raises(AssertionError):
        check_contexts(parsed, 64, "changes")
