"""Main content of pages: boxes beside prose are furniture by place, name or first words, unless they hold content."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions

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


ROOF = "<p>A new roof is needed above the old wheel, and the town has to find the money for it.</p>"
LONG = PROSE * 30  # beside which an introduction is too little to count


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<h1>The mill</h1><div>{}</div><div>{}</div>", ""),
        ("<div>{}</div><h1>The mill</h1><div>{}</div>", "A new roof is needed"),  # the teaser of another page
        (
            "<h1>The mill</h1><div>{0}</div><div>{1}{0}</div>",
            "A new roof",
        ),
        ("<h1>The mill</h1><aside>{}</aside><div>{}</div>", "A new roof is needed"),
    ],
    ids=["below the title", "above it", "repeated", "aside"],
)
def test_an_introduction_in_a_box_of_its_own_is_read(page: str, said: str) -> None:
    found = furniture(page.format(ROOF, LONG))
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_notes_beside_the_prose_are_read() -> None:
    marked = ARTICLE.replace("river", 'river<sup><a href="#n1">1</a></sup>', 1)
    assert not furniture(f'{marked}<div><p id="n1">1 The Alder.</p></div>')


def test_a_page_of_little_prose_has_no_main_content() -> None:
    assert not furniture(f"<div>{PROSE * 3}</div><div><p>Three mills to see</p></div>")
    assert furniture(f"<div>{PROSE * 4}</div><div><p>Three mills to see</p></div>")


def test_teasers_of_links_are_no_prose() -> None:
    teasers = PROSE.replace("<p>", '<p><a href="/x">').replace("</p>", "</a></p>") * 3
    assert "river" in furniture(f"<h1>The mill</h1>{ARTICLE}<div>{teasers}</div>")


OTHERS = '<p><a href="/x">Three mills to see</a></p><p><a href="/y">A miller retires</a></p>'


def within(box: str, page: str = "<div><h1>The mill</h1>{prose}{box}{prose}</div>") -> str:
    return furniture(page.format(prose=PROSE * 3, box=box))


@pytest.mark.parametrize(
    "named",
    [
        'class="sharedaddy"',
        'class="article__share-buttons"',
        'class="socialLinks"',
        'id="comments"',
        'class="newsletter"',
        'class="relatedArticles"',
        'class="tag-list"',
        'class="teaser"',
    ],
)
def test_boxes_within_the_text_are_furniture_by_their_names(named: str) -> None:
    assert "Three mills" in within(f"<div {named}>{OTHERS}</div>")


@pytest.mark.parametrize(
    "box",
    [
        f'<section id="comments"><h2>Comments</h2>{PROSE}</section>',
        f'<div class="social-security"><p>{PROSE}</p></div>',
        '<div class="next-steps"><p>Clean the race before winter.</p></div>',
        '<p class="teaser">A wheel that turns.</p>',
        '<div class="related-case"><p>The wheel of Alder Mill.</p></div>',
        '<div class="ads"><table><tr><th>Wheel</th></tr><tr><td>oak</td></tr></table></div>',
        f'<div class="comments">{PROSE * 20}</div>',
    ],
    ids=["section", "security", "steps", "lead", "case", "data", "forum"],
)
def test_names_say_nothing_of_what_may_be_text(box: str) -> None:
    assert not within(box)


@pytest.mark.parametrize(
    "box",
    [
        f"<section><h3>Related articles</h3>{OTHERS}</section>",
        f"<h3>Das k\u00f6nnte Sie auch interessieren:</h3><div>{OTHERS}</div>",
        f"<div><p>Lire aussi</p><div>{OTHERS}</div></div>",
        '<h3>Tags</h3><ul><li><a href="/t">Three mills</a></li></ul>',
        '<p>Read more</p><a href="/x"><div>Three mills to see</div></a>',
    ],
    ids=["en", "de", "fr", "tags", "card"],
)
def test_words_above_other_pages_make_furniture_of_these(box: str) -> None:
    assert "Three mills" in within(box)


def test_a_chapter_that_is_named_like_a_list_of_links_is_read() -> None:
    assert not within(f"<h2>Comments</h2>{PROSE}")
    assert not within(
        '<h2>Tags</h2><ul><li>Rye has <a href="/r">a tag</a> of its own, and <a>so has</a> oat.</li></ul>'
    )


def test_notes_of_rights_are_furniture_and_the_words_of_a_licence_are_read() -> None:
    assert within("<p>\u00a9 Ann Miller</p>") == "\u00a9 Ann Miller"
    assert not within("<p>Copyright holders grant everybody the right to grind.</p>")


def test_the_main_element_is_the_main_content_beside_much_prose() -> None:
    page = "<main><h1>The mill</h1>{prose}</main><div>{box}</div>"
    assert "teaser" in within(f"<p>A teaser of another article. {PROSE[3:] * 4}", page)
    assert "river" not in within("<p>Three mills to see</p>", page)


def test_a_column_beside_an_article_is_furniture_and_a_note_within_it_is_read() -> None:
    note = "<aside><p>The wheel turns, as this box explains at length.</p></aside>"
    assert "wheel" in furniture(f"<article><h1>The mill</h1>{PROSE}</article>{note}")
    assert not furniture(f"<article><h1>The mill</h1>{PROSE}{note}</article>")


def test_contents_beside_the_main_content_stay_contents() -> None:
    entries = "".join(f'<li><a href="#{name}">{name}</a></li>' for name in ("Race", "Wheel", "Stone"))
    parsed = read(f'<div class="sidebar"><div class="toc"><ul>{entries}</ul></div></div><main>{PROSE * 5}</main>')
    assert [one.kind for one in parsed.elements[:3]] == ["toc"] * 3
