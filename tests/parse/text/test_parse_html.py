"""HTML: a page becomes Markdown with exact elements, and no page is too deep or too broken."""

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions

PAGE = """\
<!DOCTYPE html><html lang="de"><head><title> A page </title><style>p {}</style>
<meta name="description" content="What it is"><meta property="article:published_time" content="2025-01-02">
<script>var x = "<p>no</p>";</script></head>
<body><nav><a href="/">Home</a></nav>
<h1>Top   <em>heading</em></h1>
<p>One<br>two &amp; <a href="https://example.org/a">a <b>link</b></a>, <code>code()</code>.
<p hidden>secret</p>
<ul><li>first<ul><li>nested <li>again</ul><li><p>second</p><p>more of it</p></ul>
<ol start="3"><li>three<li>four</ol>
<blockquote><p>said</p></blockquote>
<pre><code class="language-Python">def f():
    return 1
</code></pre>
<table><caption>Sizes</caption><tr><th>Name<th>Size</tr><tr><td>a|b<td rowspan=2>1<br>2</tr><tr><td>c</tr></table>
<dl><dt>Term<dd>Meaning</dl>
<footer>© the firm</footer></body></html>
"""

DRAWN = """\
Home

# Top heading

One
two & a link, `code()`.

- first
  - nested
  - again
- second

more of it

3. three
4. four

> said

```python
def f():
    return 1
```

Sizes

| Name | Size |
| --- | --- |
| a\\|b | 1 2 |
| c | 1 2 |

Term

Meaning

© the firm"""


def html(text: str | bytes) -> Parsed:
    return parse(text.encode() if isinstance(text, str) else text, FileType("html"), ParseOptions())


def test_a_page_is_drawn_as_markdown() -> None:
    assert html(PAGE).text == DRAWN


def test_its_elements_are_what_the_page_says() -> None:
    parsed = html(PAGE)
    found = [(one.kind, one.level) for one in parsed.elements]
    assert found[:6] == [
        ("furniture", 0),
        ("title", 1),
        ("paragraph", 0),
        ("list_item", 1),
        ("list_item", 2),
        ("list_item", 2),
    ]
    assert parsed.elements[2].attributes["links"] == [{"text": "a link", "url": "https://example.org/a"}]
    (table,) = [one for one in parsed.elements if one.kind == "table"]
    cells = [["Name", "Size"], ["a|b", "1 2"], ["c", "1 2"]]
    assert table.attributes == {"caption": "Sizes", "cells": cells, "header_rows": 1}
    assert parsed.elements[-1].kind == "furniture"


def test_the_head_gives_title_and_metadata() -> None:
    parsed = html(PAGE)
    assert parsed.title == "A page"
    expected = {"language": "de", "description": "What it is", "created": "2025-01-02", "encoding": "utf-8"}
    assert parsed.metadata == expected


def test_a_page_without_title_takes_its_first_heading() -> None:
    assert html("<h2>Two</h2><h1>One</h1><p>text").title == "One"


def test_a_table_that_lays_out_a_page_is_no_table() -> None:
    parsed = html("<table><tr><td>menu</td><td><h1>Page</h1><table><tr><td>a<td>b<tr><td>c<td>d</table></table>")
    assert parsed.text == "menu\n\n# Page\n\n| a | b |\n| --- | --- |\n| c | d |"


def test_a_page_of_furniture_alone_is_a_page() -> None:
    parsed = html("<nav><ul><li>one<li>two</ul></nav>")
    assert [one.kind for one in parsed.elements] == ["paragraph", "paragraph"]


@pytest.mark.parametrize("depth", [300, 1_900, 30_000])
def test_depth_loses_no_text(depth: int) -> None:
    parsed = html("<div>" * depth + "<p>deep</p>" + "</div>" * depth)
    assert parsed.text == "deep"


def test_a_page_too_deep_in_paragraphs_is_rejected_with_the_reason() -> None:
    with pytest.raises(Rejected, match="nested deeper"):
        html("<table><tr><td>" * 5_000 + "deep")


def test_the_declared_encoding_counts_where_the_text_is_not_utf8() -> None:
    page = '<meta charset="windows-1251"><p>Привет, мир'
    assert html(page.encode("cp1251")).text == "Привет, мир"
    assert html(page.encode()).text == "Привет, мир"
    assert html("<p>Schlüssel, größer".encode("utf-16")).text == "Schlüssel, größer"


def test_a_page_of_scripts_holds_no_text() -> None:
    with pytest.raises(Rejected, match="no_text"):
        html("<html><script>let a = 1</script></html>")


def drawn(body: str) -> Parsed:
    return parse(f"<html><body>{body}</body></html>".encode(), FileType("html"), ParseOptions())


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<h2>Use <a href="#use" class="headerlink">¶</a></h2>', "## Use"),
        ('<h2><a href="#use">#</a> Use</h2>', "## Use"),
        ('<dl><dt>run(x)<a href="#run">¶</a></dt></dl>', "run(x)"),
        ('<p>In <a href="law.html#2">§</a> two</p>', "In § two"),
        ('<ol><li><a href="#ref-1">^</a> Ann, <i>Mills</i>. <a href="#r">↩</a></li></ol>', "1. Ann, Mills."),
        (
            "<h3><button>How do I reset?</button></h3><p>Hold <button>OK</button>it.</p>",
            "### How do I reset?\n\nHold it.",
        ),
        ("<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</rt></ruby></p>", "漢(kan)字(ji)"),
        (
            "<p>So <math><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi></mrow>"
            '<annotation encoding="application/x-tex">E=m</annotation></semantics></math>.</p>',
            "So $E=m$.",
        ),
        ("<p>So <math><mi>a</mi> <mo>+</mo> <mi>b</mi></math>.</p>", "So $a + b$."),
        ('<ol type="a"><li>one<li>two<ol type="I" start="4"><li>in</ol></ol>', "a. one\nb. two\n  IV. in"),
        ('<ol><li>one<li value="7">two<li>three</ol>', "1. one\n7. two\n8. three"),
    ],
)
def test_lines_say_what_a_reader_of_the_page_sees(page: str, text: str) -> None:
    assert drawn(page).text == text


def test_a_table_with_lists_and_pictures_in_its_cells_keeps_its_rows() -> None:
    page = (
        "<table><tr><th>Plan<th>Has<th>Free</tr>"
        "<tr><td>Mini<style>td {}</style><td>Some:<ul><li>one user<li>mail</ul><td><img alt='yes'></tr>"
        "<tr><td>Maxi <span style='display: none'>2</span>(<img alt=up>)<td>Ten<p>users</p>"
        "<td><a href='https://example.org/buy'>buy</a></tr></table>"
    )
    table = drawn(page).elements[0]
    assert table.attributes["cells"] == [
        ["Plan", "Has", "Free"],
        ["Mini", "Some: one user; mail", "yes"],
        ["Maxi ( )", "Ten users", "buy"],
    ]
    assert table.attributes["links"] == [{"text": "buy", "url": "https://example.org/buy"}]


def test_lists_of_links_in_a_header_are_its_menu() -> None:
    languages = "<ul><li><a href='/de'>Deutsch</a></li></ul><ul><li>See <a href='/x'>this</a></li></ul>"
    parsed = drawn(f"<header><h1>Duck</h1>{languages}</header><p>Text.</p><ul><li><a href='/a'>a</a></li></ul>")
    assert [one.kind for one in parsed.elements] == ["title", "furniture", "list_item", "paragraph", "list_item"]


def test_the_header_of_a_table_stands_below_its_empty_rows_and_between_its_empty_columns() -> None:
    rows = "<tr><td><td><td></tr><tr><td>Class<td><td>Symbol</tr><tr><td>Common<td><td>GLXZ 5</tr>"
    (table,) = drawn(f"<table>{rows}</table>").elements
    assert (table.attributes["header_rows"], table.attributes["cells"][0]) == (1, ["Class", "Symbol"])


def test_a_table_that_lays_out_a_page_is_none() -> None:
    page = "<table role=presentation><tr><th>Menu<th>x<tr><td><ul><li>one</ul><td>Some text.</table>"
    assert [one.kind for one in drawn(page).elements] == ["paragraph", "paragraph", "list_item", "paragraph"]


def test_a_heading_keeps_its_links() -> None:
    heading = drawn("<h2><a href='/post'>A post</a></h2><p>Text</p>").elements[0]
    assert (heading.kind, heading.attributes["links"]) == ("title", [{"text": "A post", "url": "/post"}])


TALE = "The mill stood on a hill, and nobody knew who had built it there.\nIts sails had not turned for many years.\n\n"


@pytest.mark.parametrize(
    ("pre", "kinds"),
    [
        (TALE * 6, ["paragraph"]),
        (f"CHAPTER I\n\n{TALE * 6}", ["title", "paragraph"]),
        (TALE * 2, ["code"]),
        ("".join(f"def f{n}(x): return [x, {n}] if x < {n} else g(x)\n\n" for n in range(20)), ["code"]),
        ("".join(f"2024-05-06 10:00:{n} INFO started server on port {n}\n\n" for n in range(10, 30)), ["code"]),
        (f"<code>{TALE * 6}</code>", ["code"]),
    ],
)
def test_a_text_as_it_was_typed_is_no_code(pre: str, kinds: list[str]) -> None:
    found = [one.kind for one in drawn(f"<pre>{pre}</pre>").elements]
    assert list(dict.fromkeys(found)) == kinds


def test_all_authors_of_a_page_are_told() -> None:
    names = ("author", "Ann Reed"), ("dc.creator", "Bo Lind"), ("author", "Ann Reed")
    head = "".join(f"<meta name='{name}' content='{content}'>" for name, content in names)
    assert html(f"<head>{head}<p>Text.").metadata["author"] == "Ann Reed, Bo Lind"


def test_the_words_for_a_picture_are_said_once_on_a_page() -> None:
    card = '<li><a href="/mill"><img src="/a.png" alt="The old mill"></a><p>The  old mill</p></li>'
    far = "<p>Text.</p>" * 50
    said = html(f'<ul>{card}</ul>{far}<img alt="Its wheel">{far}<img alt="Its wheel">').text
    assert said.count("old mill") == said.count("Its wheel") == 1


def test_menus_of_generated_references_are_furniture_and_the_usual_language_is_none() -> None:
    menu = '<div class="{0}"><ul class="{1}"><li>Prev</li><li>Next</li></ul><div>Detail:</div></div>'
    body = menu.format("subNav", "navList") + "<h2>Class Mill</h2><p>It turns the wheel of a mill, and grinds.</p>"
    code = '<div class="highlight-default"><pre>mill.turn()</pre></div>' + menu.format("bottomNav", "list")
    parsed = parse(f"<html><body>{body}{code}</body></html>".encode(), FileType("html"), ParseOptions())
    told = [parsed.text[one.start_char : one.end_char] for one in parsed.elements if one.kind != "furniture"]
    assert told == ["## Class Mill", "It turns the wheel of a mill, and grinds.", "```\nmill.turn()\n```"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("<code><div class=line><i>a</i> = 1</div><div class=line>b = 2</div></code>", "a = 1\nb = 2"),
        ("<div>one\n</div><div>two\n</div>", "one\ntwo"),
        ("<div>one</div>\n<div>  two</div>\n", "one\n  two"),
        ("<ol class=linenums><li>first()<li>second()</ol>", "first()\nsecond()"),
        ("<span>one</span> <span>line</span>", "one line"),
    ],
)
def test_the_lines_of_code_that_are_elements_are_lines(code: str, text: str) -> None:
    page = f"<h1>T</h1><pre>{code}</pre>"
    assert parse(page.encode(), FileType("html"), ParseOptions()).text == f"# T\n\n```\n{text}\n```"


def test_the_inside_of_an_element_of_the_pages_own_is_text() -> None:
    page = "<h1>T</h1><m-m><template shadowrootmode=open><p>Shown</p></template></m-m><template><p>No</p></template>"
    assert parse(page.encode(), FileType("html"), ParseOptions()).text == "# T\n\nShown"


def test_quotations_have_their_marks_and_their_sources() -> None:
    page = "<p>He said <q>go <b>now</b></q>.</p><blockquote><p>All turns.</p><footer>Ada</footer></blockquote>"
    parsed = parse(page.encode(), FileType("html"), ParseOptions())
    assert parsed.text == "He said \u201cgo now\u201d.\n\n> All turns.\n\n> Ada"
    assert "furniture" not in {one.kind for one in parsed.elements}


def test_a_reversed_list_counts_down() -> None:
    page = "<ol reversed><li>gold<li>silver</ol><ol reversed start=9><li>nine<li>eight</ol>"
    parsed = parse(page.encode(), FileType("html"), ParseOptions())
    assert parsed.text == "2. gold\n1. silver\n9. nine\n8. eight"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<div>One<br>two<br> <br/>Three</div><blockquote>a<br><br>b", "One\ntwo\n\nThree\n\n> a\n\n> b"),
        ("<ul><li>a<br><br>b</ul>", "- a\n  b"),
        ("<div role=heading aria-level=3>Gate</div><p>Open.", "### Gate\n\nOpen."),
        (
            "<p>So <span class=MathJax>x2</span><script type='math/tex'>x^2</script> and"
            "<script type='math/tex; mode=display'>y</script>",
            "So $x^2$ and $$y$$",
        ),
        (
            "<table><tfoot><tr><td>Sum<td>9</tfoot><thead><tr><th>Item<th>Qty</thead><tr><td>Tea<td>9</table>",
            "| Item | Qty |\n| --- | --- |\n| Tea | 9 |\n| Sum | 9 |",
        ),
    ],
)
def test_a_page_is_read_as_a_browser_shows_it(page: str, text: str) -> None:
    assert parse(page.encode(), FileType("html"), ParseOptions()).text == text
