"""Main content of pages: boxes beside the one with the prose are furniture, unless they hold what belongs to it."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.format import FileType, ParseOptions

PROSE = "<p>The mill stands on the river below the town, and its wheel has turned there for three hundred years.</p>"
ARTICLE = f"<div><div>{PROSE * 5}</div></div>"


def read(body: str) -> Parsed:
    return parse(f"<html><body>{body}</body></html>".encode(), FileType("html"), ParseOptions())


def furniture(body: str) -> str:
    parsed = read(body)
    return " ".join(parsed.text[one.start_char : one.end_char] for one in parsed.elements if one.kind == "furniture")


def test_boxes_beside_the_prose_are_furniture_in_whatever_they_are_named() -> None:
    related = "<div><h3>Elsewhere</h3><p>Three mills to see</p></div>"
    share = "<ul><li>Share</li><li>Print</li></ul>"
    said = furniture(f"<h1>The mill</h1>{ARTICLE}{related}<div>{share}</div>")
    assert [word in said for word in ("Elsewhere", "Three mills", "Share", "Print")] == [True] * 4
    assert "river" not in said
    assert "The mill" not in said


@pytest.mark.parametrize(
    "box",
    [
        "<div><h1>Terms of the mill</h1></div>",
        "<div><table><tr><th>Wheel</th><th>m</th></tr><tr><td>oak</td><td>5</td></tr></table></div>",
        "<div><pre><code>grind(wheat)</code></pre></div>",
        "<div><dl><dt>Bran</dt><dd>The husk of grain.</dd></dl></div>",
        f"<section>{PROSE * 2}</section>",
    ],
    ids=["heading", "table", "listing", "terms", "prose"],
)
def test_boxes_with_content_of_their_own_are_read(box: str) -> None:
    assert not furniture(f"{ARTICLE}{box}")


def test_notes_beside_the_prose_are_read() -> None:
    marked = ARTICLE.replace("river", 'river<sup><a href="#n1">1</a></sup>', 1)
    assert not furniture(f'{marked}<div><p id="n1">1 The Alder.</p></div>')


def test_a_page_of_little_prose_has_no_main_content() -> None:
    assert not furniture(f"<div>{PROSE * 3}</div><div><p>Three mills to see</p></div>")
    assert furniture(f"<div>{PROSE * 4}</div><div><p>Three mills to see</p></div>")


def test_teasers_of_links_are_no_prose() -> None:
    teasers = PROSE.replace("<p>", '<p><a href="/x">').replace("</p>", "</a></p>") * 3
    assert "river" in furniture(f"<h1>The mill</h1>{ARTICLE}<div>{teasers}</div>")
