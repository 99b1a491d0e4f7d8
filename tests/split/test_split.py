"""Every registered strategy keeps the promises that the rest of the pipeline relies on."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import ConfigError, Rejected
from docmill.storage.schema import Element, Parsed
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.strategies import SPLITTERS, options_of
from docmill.testing import (
    NEXT_TO_NOTHING,
    UNITS,
    check_chunks,
    check_document,
    check_long_line,
    check_part,
    chunks,
)
from tests.kit.documents import documents, tokenizer
from tests.kit.drawing import examples
from tests.kit.making.make_golden import PASSWORDS, samples

STRATEGIES = sorted(SPLITTERS)
each_strategy = pytest.mark.parametrize("strategy", STRATEGIES)
SENTENCE, LINE = "Sentence here, of some words. ", "12:00 a: b\n"

OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fixed", {"overlap": "25%"}),
    ("fixed", {"size": 100, "unit": "characters", "overlap": 90, "max_doc_size": 333}),
    ("fixed", {"size": 500, "unit": "characters", "overlap": "10%", "respect_sentences": True}),
    ("fixed", {"size": 16, "unit": "words", "overlap": 3, "anchored": True}),
    ("sliding_window", {"size": 32, "stride": 2}),
    ("sliding_window", {"size": 40, "unit": "words", "anchored": True}),
    ("sentence", {"size": 60, "overlap": 2}),
    ("separator", {"separator": ". "}),
    ("table", {"rows": 2}),
    ("structure", {"size": 30, "optimize": {"min_tokens": 20, "max_tokens": 40}, "summaries": True}),
    ("sliding_window", {"size": 24, "optimize": {"min_tokens": 10}}),
    ("hierarchical", {"summaries": True, "optimize": {"min_tokens": 30}}),
    ("qa", {"size": 64, "together": True}),
    ("page", {"size": 40, "small": 0}),
    ("slides", {"small": 60}),
    ("hierarchical", {"size": 64, "paragraph": 20, "sentences": False}),
)
"""Options that change what a strategy does; every strategy is tried with its defaults as well."""

CASES = [*((strategy, dict[str, Any]()) for strategy in STRATEGIES), *OPTIONS]
each_case = pytest.mark.parametrize(("strategy", "options"), CASES, ids=lambda value: str(value))


def texts_of(parsed: Parsed, strategy: str, **options: Any) -> list[str]:
    return [draft.text for draft in chunks(parsed, strategy, **options)]


@each_case
@examples(20)
@given(parsed=documents(), limit=st.sampled_from([32, 64, 256]))
def test_chunks_keep_every_promise(strategy: str, options: dict[str, Any], parsed: Parsed, limit: int) -> None:
    check_document(parsed, limit, strategy, options)


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_a_document_of_any_format_is_split_by_any_strategy(sample: Path) -> None:
    data = sample.read_bytes()
    try:
        parsed = parse(data, detect_file_type(sample.name, data), ParseOptions(passwords=PASSWORDS))
    except Rejected:
        return
    for strategy, options in CASES:
        check_chunks(parsed, chunks(parsed, strategy, **options), 256)


def test_a_cluster_that_two_elements_share_goes_with_the_first_of_them() -> None:
    first, second = "It. They. We. Bo", "\u0301th the mill they. Then."
    text = first + second
    parsed = Parsed(text, (Element("paragraph", 0, len(first)), Element("paragraph", len(first), len(text))))
    found = chunks(parsed, "hierarchical", summaries=True)
    check_chunks(parsed, found, 256)
    said = [draft.text for draft in found if draft.role == "sentence"]
    assert said == ["It.", "They.", "We.", "Bo\u0301", "th the mill they.", "Then."]
    assert [draft.text for draft in found if draft.role == "summary"] == ["o\u0301th the mill they."]


@each_case
@examples(10)
@given(parsed=documents(), data=st.data())
def test_a_part_is_split_as_the_whole_is(
    strategy: str, options: dict[str, Any], parsed: Parsed, data: st.DataObject
) -> None:
    start, end = sorted(data.draw(st.integers(0, len(parsed.text))) for _ in range(2))
    check_part(parsed, start, end, strategy, options)


@each_strategy
@pytest.mark.parametrize("text", NEXT_TO_NOTHING)
def test_next_to_nothing_is_at_most_one_chunk(strategy: str, text: str) -> None:
    assert texts_of(Parsed(text, ()), strategy) == ([text] if text.strip() else [])


@each_strategy
@pytest.mark.parametrize("unit", UNITS)
def test_a_long_single_line_is_split(strategy: str, unit: str) -> None:
    check_long_line(unit * (50_000 // len(unit)), strategy, {})


@pytest.mark.slow
@each_strategy
@pytest.mark.parametrize(
    ("size", "unit"),
    [
        (250_000, SENTENCE),
        (100_000, LINE),
        pytest.param(2_000_000, SENTENCE, marks=pytest.mark.soak),
        pytest.param(10_000_000, SENTENCE, marks=pytest.mark.soak),
        pytest.param(2_000_000, LINE, marks=pytest.mark.soak),
    ],
)
def test_a_line_of_up_to_megabytes_is_split(strategy: str, size: int, unit: str) -> None:
    check_long_line(unit * (size // len(unit)), strategy, {})


@each_strategy
def test_text_beside_what_is_left_out_in_mid_grapheme_is_kept(strategy: str) -> None:
    parsed = Parsed("gap\u0301", (Element("front_matter", 3, 4),))
    assert texts_of(parsed, strategy) == ["gap\u0301"]


@each_strategy
def test_an_endless_grapheme_is_not_cut_while_it_fits(strategy: str) -> None:
    endless = "e" + "\u0301" * 10_000
    assert any(endless in text for text in texts_of(Parsed(f"a {endless} b", ()), strategy))


@each_strategy
def test_a_wrong_option_names_the_nearest_right_one(strategy: str) -> None:
    with pytest.raises(ConfigError, match="nearest is 'size'"):
        Route(strategy, {"sise": 100})
    with pytest.raises(ConfigError, match=r"size must be an integer in \[16, \d+\], got 3"):
        options_of(strategy, {"size": 3})


def test_a_wrong_strategy_names_the_nearest_right_one() -> None:
    with pytest.raises(ConfigError, match="nearest is 'recursive'"):
        Route("recursiv")


def test_separators_that_begin_with_space_are_cut_before_and_others_after() -> None:
    text = "\n## ".join(["# a", *["word " * 90 + "end; " + "word " * 90 + "stop"] * 2])
    route = Route("recursive", {"separators": ["\n## ", "; "]})
    found = [draft.text for draft in chunk(Parsed(text, ()), "", route, tokenizer(), ChunkOptions(128))]
    assert any(part.startswith("## word") for part in found)
    assert any(part.endswith("end;") for part in found)


def test_a_quotation_mark_moves_only_sentences_near_it() -> None:
    rng = random.Random(4)
    words = ['the "mill"', 'ground "in', 'autumn" and', "'twas", "late (so they", "said)", "5 ' long", "in May"]
    text = "".join(f"It was {' '.join(rng.choices(words, k=12))} {n} times. " for n in range(300))
    for _ in range(20):
        at = text.index('"', rng.randrange(len(text) - 2000))
        before = {place for place, _ in prose_cuts(text, Span(0, len(text)))}
        without = text[:at] + text[at + 1 :]
        after = {place + (place >= at) for place, _ in prose_cuts(without, Span(0, len(without)))}
        assert all(abs(place - at) < 4 * 4096 for place in before ^ after)


def test_sentences_of_a_long_text_are_those_of_its_paragraphs() -> None:
    paragraph = "Dr. Quist came at 9 a.m. and went. Did he stay? No! The rest (see p. 4) is told by Mr. Petri. "
    found = {place for place, _ in prose_cuts(paragraph * 200, Span(0, len(paragraph * 200)))}
    own = {place for place, _ in prose_cuts(paragraph * 2, Span(0, len(paragraph * 2)))}
    assert found == {place + n * len(paragraph) for n in range(200) for place in own if place <= len(paragraph)} - {
        200 * len(paragraph)
    }
