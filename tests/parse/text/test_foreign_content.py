"""Drawings and formulas in a page that are not closed: the page goes on after them, as browsers show it."""

from collections.abc import Iterator
from typing import Any

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.hypertext import page_tree, parse_html
from docmill.tasks.parse.records.notebook import parse_notebook
from tests.kit.drawing import examples

REST = "<p>After one.</p><div>After two.</div> tail"
DRAWN = ("Before it.", "After one.", "After two.", "tail")


def blocks(page: str) -> tuple[str, ...]:
    drawn = parse_html(f"<html><body><p>Before it.</p>{page}</body></html>".encode(), ParseOptions())
    return tuple(drawn.text.split("\n\n"))


@pytest.mark.parametrize(
    "start",
    [
        "<svg>",
        "<div><svg viewBox='0 0 1 1'><path d='M0'/><g><g>",
        "<svg><path d='M0'><g>",
        "<svg><title>In the drawing.</title>",
        "<svg><svg><g>",
        "<svg><desc>What is drawn.</desc>",
        "<svg><foreignObject><p>In the drawing.</p></foreignObject>",
        "<svg><section>",
        "<p>Before it. <svg>",
        "<embed src='film.swf'>",
        "<map name='areas'><area href='#a'>",
    ],
)
def test_what_follows_an_unclosed_drawing_is_read(start: str) -> None:
    assert tuple(dict.fromkeys(blocks(start + REST))) == DRAWN


@pytest.mark.parametrize("tag", ["p", "h2", "ul", "table", "blockquote", "pre", "dl", "center"])
def test_every_block_ends_a_drawing(tag: str) -> None:
    inner = {"ul": "<li>One word", "table": "<tr><td>One word", "dl": "<dt>One word"}.get(tag, "One word")
    page = blocks(f"<svg><g><{tag}>{inner}</{tag}>{REST}")
    assert "One word" in "\n".join(page)
    assert page[-3:] == DRAWN[1:]


def test_the_order_of_a_page_with_several_unclosed_drawings_stays() -> None:
    page = "<div>1<svg><g>x<p>2<svg><g><g><h2>3</h2>4</g>5</g></div><span>6<math><mi>a</mi><b>7</b></math>8</span>9"
    assert "".join(c for c in " ".join(blocks(page)) if c.isdigit()) == "123456789"
    assert "x" not in "".join(blocks(page))


def test_a_formula_that_is_not_closed_takes_no_words_from_the_page() -> None:
    assert blocks(f"<math><mi>a</mi><mo>+</mo><mi>b</mi>{REST}") == ("Before it.", "$a + b$", *DRAWN[1:])


def test_what_is_in_a_closed_drawing_stays_there() -> None:
    inner = "<title>Icon</title><desc>In it.</desc><foreignObject><div><p>A label</p></div></foreignObject>"
    assert blocks(f"<svg>{inner}</svg>{REST}") == DRAWN
    formula = "<math><mtext>for <b>all</b></mtext><mi>x</mi></math>"
    assert blocks(f"<p>So {formula} holds.</p>") == ("Before it.", r"So $\text{for all}x$ holds.")


def test_the_labels_of_a_drawing_are_read_under_its_title_and_its_title_is_not_that_of_the_page() -> None:
    drawing = "<svg><title>Way</title><text>Millrace <tspan>north</tspan></text><text>7</text><text>Wheel</text></svg>"
    parsed = parse_html(f"<body><h1>Flow</h1>{drawing}<p>End.</p></body>".encode(), ParseOptions())
    assert (parsed.title, parsed.text) == ("Flow", "# Flow\n\nWay: Millrace north; Wheel\n\nEnd.")
    assert blocks("<button><svg><title>Search</title></svg></button><p>After.</p>") == ("Before it.", "After.")


def test_a_font_ends_a_drawing_only_if_it_is_one_of_html() -> None:
    assert blocks("<svg><font><glyph/></font><desc>In it.</desc></svg><p>After.</p>") == ("Before it.", "After.")
    assert blocks("<svg><font color='red'>After.</font>") == ("Before it.", "After.")


TAGS = """
    svg math g path mi mtext foreignObject desc p div span section b h2 ul li br font font%color=red svg/ path/
"""


def words(node: Any, is_foreign: bool = False) -> Iterator[str]:
    """Yield the words of a tree outside of drawings and formulas, in the order of the page."""
    is_foreign = is_foreign or str(node.tag).rpartition("}")[2] in ("svg", "math")
    if not is_foreign:
        yield from (node.text or "").split()
    for child in node:
        yield from words(child, is_foreign)
        if not is_foreign:
            yield from (child.tail or "").split()


@examples(300)
@given(st.lists(st.sampled_from(TAGS.split()), min_size=1, max_size=12))
def test_unclosed_drawings_end_where_the_standard_ends_them(tags: list[str]) -> None:
    starts = (f"<{tag.replace('%', ' ')}> w{number} " for number, tag in enumerate(tags))
    page = f"<!doctype html><html><body>{''.join(starts)}"
    expected = html5lib.parse(page, treebuilder="lxml", namespaceHTMLElements=False).getroot()
    assert list(words(page_tree(page))) == list(words(expected))


def test_what_browsers_hide_to_the_end_of_the_page_stays_hidden() -> None:
    for tag in ("style", "script", "textarea", "iframe", "template"):
        assert blocks(f"<{tag}>{REST}") == ("Before it.",)


def test_unclosed_drawings_within_each_other_take_no_time() -> None:
    page = "<svg><g>" * 400 + "<p>word</p>" * 20_000
    assert len(blocks(page)) == 20_001


def test_the_output_of_a_notebook_goes_on_after_a_drawing() -> None:
    output = '{"output_type": "display_data", "metadata": {}, "data": {"text/html": ["<svg><g><p>After it.</p>"]}}'
    cell = f'{{"cell_type": "code", "metadata": {{}}, "source": ["plot()"], "outputs": [{output}]}}'
    data = f'{{"nbformat": 4, "nbformat_minor": 5, "metadata": {{}}, "cells": [{cell}]}}'
    assert "After it." in parse_notebook(data.encode(), ParseOptions()).text
