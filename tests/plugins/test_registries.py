"""A plugin that cannot be used is named with its distribution, and harms nothing else."""

import logging
from pathlib import Path
from typing import Any

import pytest

from docmill.storage.errors import ConfigError, QueryError, Rejected
from docmill.storage.plugins.registry import Registry
from docmill.storage.schema import Element, Parsed
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.candidates.search_options import SearchOptions
from docmill.storage.search.rank.steps.rerankers import RERANKERS
from docmill.tasks.chunking.route import Route
from docmill.tasks.context.context_input import context_input_of
from docmill.tasks.context.contextualizers import CONTEXTUALIZERS, nothing
from docmill.tasks.counting.counter import counter_of
from docmill.tasks.counting.tokens import Tokens
from docmill.tasks.split.parts.outline import Outline
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.strategy_options import Options
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.strategies import SPLITTERS, options_of
from tests.kit.documents import tokenizer
from tests.plugins.distributions import write_distribution

pytestmark = pytest.mark.usefixtures("fresh")

GOOD = """
from docmill.plugins import Options, Span

class Whole:
    version = 1
    options = Options

    def split(self, part, options):
        return [Span(part.start, part.end)]
"""


def with_plugins(
    registry: Registry[Any], site: Path, patch: pytest.MonkeyPatch, code: str, **entries: str
) -> Registry[Any]:
    """Install the distribution `acme`, whose module has some code, and return the registry."""
    module = f"acme_{site.name.replace('-', '_')}"
    group = registry.seam.group.removeprefix("docmill.")
    write_distribution(site, "acme", {f"{group}/{n}": f"{module}:{o}" for n, o in entries.items()}, {module: code})
    patch.syspath_prepend(site)
    return registry


def test_a_strategy_put_into_the_registry_by_a_program_is_refused_at_once() -> None:
    # Worker processes would not know it, and would reject every document.
    with pytest.raises(TypeError, match="does not support item assignment"):
        SPLITTERS["mine"] = SPLITTERS["fixed"]  # type: ignore[index]


def test_a_plugin_is_found_by_the_name_of_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = with_plugins(SPLITTERS, tmp_path, monkeypatch, GOOD, whole="Whole")
    assert found["whole"].version == "acme 1.0, 1"
    assert list(found) == [*SPLITTERS.own, "whole"]
    assert [(one.name, one.distribution, one.version, one.problem) for one in found.listed()] == [
        ("whole", "acme", "1.0", "")
    ]


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("Other = 1", "AttributeError: module .* has no attribute 'Whole'"),
        ("class Whole:\n    version = 1", r"TypeError: it lacks split, options of docmill\.plugins\.SplitterPlugin"),
        (GOOD.replace("= Options", "= dict"), "TypeError: its options must be a dataclass that extends"),
        (GOOD.replace("version = 1", "version = property()"), "TypeError: it lacks version of "),
        (GOOD.replace("version = 1", "version = object"), "TypeError: its version must be a number or a text"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_named_and_the_others_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, problem: str
) -> None:
    found = with_plugins(SPLITTERS, tmp_path, monkeypatch, code, whole="Whole")
    write_distribution(
        tmp_path, "good", {"splitters/good": f"good_{tmp_path.name}:Whole"}, {f"good_{tmp_path.name}": GOOD}
    )
    for _ in range(2):
        with pytest.raises(ConfigError, match=f"^strategy 'whole' of acme 1.0 cannot be used: {problem}"):
            found["whole"]
    assert found["good"].name == "good"
    assert found["fixed"] is SPLITTERS["fixed"]
    assert {one.name: bool(one.problem) for one in found.listed()} == {"good": False, "whole": True}


def test_a_name_of_ours_is_refused_with_both_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = with_plugins(SPLITTERS, tmp_path, monkeypatch, GOOD, fixed="Whole")
    said = "strategy 'fixed' is one of docmill's own; that of acme 1.0 is not used and needs another name"
    with caplog.at_level(logging.WARNING, "docmill.plugins"):
        assert found["recursive"] is SPLITTERS["recursive"]
        assert found["fixed"] is SPLITTERS["fixed"]
    assert [record.getMessage() for record in caplog.records] == [said]
    assert [one.problem for one in found.listed()] == [said]


def test_a_name_that_two_distributions_give_is_refused_with_both_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = with_plugins(SPLITTERS, tmp_path, monkeypatch, GOOD, whole="Whole")
    write_distribution(tmp_path, "bolt", {"splitters/whole": "anything:at_all"}, {})
    with pytest.raises(ConfigError, match=r"given by (acme 1.0 and bolt 1.0|bolt 1.0 and acme 1.0); uninstall all but"):
        found["whole"]
    assert [one.distribution for one in found.listed() if "uninstall" in one.problem] != []


def test_a_name_that_nothing_gives_names_the_nearest_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = with_plugins(SPLITTERS, tmp_path, monkeypatch, GOOD, whole="Whole")
    with pytest.raises(ConfigError, match="strategy 'whol' does not exist; the nearest is 'whole'"):
        found["whol"]


TEXT = "One two. Three four.\n\nFive."


def split(spans: str) -> str:
    """Return the code of a splitter that returns these spans."""
    return GOOD.replace("[Span(part.start, part.end)]", spans)


@pytest.mark.parametrize(
    ("spans", "problem"),
    [
        ("[Span(0, 20)]", r"ValueError: no span holds 'Five.', within \[20, 27\)$"),
        ("[Span(3, 27)]", r"ValueError: no span holds 'One', within \[0, 3\)"),
        ("[Span(0, 99)]", r"ValueError: the span \[0, 99\) is empty, out of order, or not in \[0, 27\)"),
        ("[Span(-1, 27)]", r"ValueError: the span \[-1, 27\)"),
        ("[Span(0, 27), Span(4, 4)]", r"ValueError: the span \[4, 4\)"),
        ("[Span(8, 27), Span(0, 8)]", r"ValueError: no span holds 'One two.', within \[0, 8\)"),
        ("None", "TypeError: 'NoneType' object is not iterable"),
        ("[part]", "TypeError: "),
        ("[('a', 'b')]", "TypeError: "),
        ("1 / 0", r"ZeroDivisionError: division by zero \(acme.*\.py, line \d+\)$"),
        ("__import__('json').loads('no')", r"JSONDecodeError: .* \(acme.*\.py, line \d+\)$"),
    ],
)
def test_wrong_spans_and_exceptions_reject_the_document_and_name_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spans: str, problem: str
) -> None:
    found = with_plugins(SPLITTERS, tmp_path, monkeypatch, split(spans), whole="Whole")["whole"]
    part = Part.whole(Parsed(TEXT, ()), Tokens(TEXT, tokenizer()))
    with pytest.raises(Rejected, match=f"plugin_failed: strategy 'whole' of acme 1.0 failed: {problem}"):
        found.split(part, Options())


def test_a_splitter_may_leave_out_what_ours_leave_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = with_plugins(SPLITTERS, tmp_path, monkeypatch, split("[Span(9, 20)]"), whole="Whole")["whole"]
    parsed = Parsed(TEXT, (Element("front_matter", 0, 8), Element("furniture", 22, 27)))
    assert found.split(Part.whole(parsed, Tokens(TEXT, tokenizer())), Options()) == [Span(9, 20)]


OPTIONS = """
from {package} import dataclass
from docmill.plugins import Options, Span

@dataclass(frozen=True)
class Words(Options):
    words: int = 3

    def __post_init__(self):
        Options.__post_init__(self)
        if self.words < 1:
            raise ValueError(f"words must be at least 1, got {{self.words}}")

class Whole:
    version = 1
    options = Words

    def split(self, part, options):
        return [Span(part.start, part.end)]
"""


@pytest.mark.parametrize("package", ["dataclasses", "pydantic.dataclasses"])
def test_options_of_a_plugin_are_checked_as_ours_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    with_plugins(SPLITTERS, tmp_path, monkeypatch, OPTIONS.format(package=package), whole="Whole")
    found: Any = options_of("whole", {"words": 2, "size": 100, "optimize": {"min_tokens": 9}})
    assert (found.words, found.size, found.optimize.min_tokens) == (2, 100, 9)
    for wrong, said in (
        ({"words": 0}, "whole: .*words must be at least 1, got 0"),
        ({"size": 3}, r"whole: size must be an integer in \[16, 32768\], got 3"),
        ({"wrods": 2}, "whole has no option 'wrods'; the nearest is 'words'"),
    ):
        with pytest.raises(ConfigError, match=said):
            Route("whole", wrong)


CONTEXT = """
class Says:
    version = 1

    def say(self, setting, span, lead):
        return {said}
"""


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("None", "AttributeError: 'NoneType' object has no attribute 'encode'"),
        ("chr(0xD800)", "UnicodeEncodeError: "),
        ("setting.nothing", "AttributeError: "),
    ],
)
def test_a_contextualizer_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, problem: str
) -> None:
    found = with_plugins(CONTEXTUALIZERS, tmp_path, monkeypatch, CONTEXT.format(said=said), says="Says")["says"]
    parsed = Parsed(TEXT, ())
    setting = context_input_of(parsed, Outline(parsed), counter_of(tokenizer()), 8)
    with pytest.raises(Rejected, match=f"plugin_failed: contextualizer 'says' of acme 1.0 failed: {problem}"):
        found.say(setting, Span(0, 8), nothing)


def test_a_context_beyond_the_budget_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = CONTEXT.format(said="'many words ' * 50")
    found = with_plugins(CONTEXTUALIZERS, tmp_path, monkeypatch, code, says="Says")["says"]
    parsed = Parsed(TEXT, ())
    setting = context_input_of(parsed, Outline(parsed), counter_of(tokenizer()), 8)
    assert found.say(setting, Span(0, 8), nothing) == " ".join(["many words"] * 4)


SCORES = """
class Scores:
    version = 1

    def score(self, question, chunks):
        return {scores}
"""


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ("[1.0]", r"ValueError: 2 chunks need as many finite scores, got \[1.0\]"),
        ("[1.0, float('nan')]", "ValueError: 2 chunks need as many finite scores"),
        ("['a', 'b']", "ValueError: could not convert string to float"),
        ("chunks[7]", "IndexError: "),
    ],
)
def test_a_reranker_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scores: str, problem: str
) -> None:
    found = with_plugins(RERANKERS, tmp_path, monkeypatch, SCORES.format(scores=scores), scores="Scores")["scores"]

    nothing_else: Any = None
    with pytest.raises(QueryError, match=f"reranker 'scores' of acme 1.0 failed: {problem}"):
        found.score(Query("mill", SearchOptions(), nothing_else), [nothing_else, nothing_else])
