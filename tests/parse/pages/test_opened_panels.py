"""Panels that a page hides until a reader opens them, levels of lists, and pages saved as one file."""

import pytest

from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.markup.html.hypertext import parse_html
from tests.kit.parsed import found

WORDS = "<p>Oil the wheel before the first frost.</p>"


def read(body: str) -> list[tuple[str, str]]:
    page = f"<html><head><title>Mill</title></head><body><main><h1>Mill</h1>{body}<p>Tail.</p></main></body></html>"
    return found(parse_html(page.encode(), ParseOptions()))[1:-1]


@pytest.mark.parametrize(
    ("body", "above"),
    [
        (f"<div role=tabpanel hidden>{WORDS}</div>", []),
        (f"<button data-bs-target='#a'>More</button><div id=a style='display:none'>{WORDS}</div>", []),
        (f"<a href='#' aria-controls=a>More about it</a><div id=a aria-hidden=true>{WORDS}</div>",
         [("paragraph", "More about it")]),
        (f"<div><div id=x>Rye.</div><div id=y style='display: none;'>{WORDS}</div></div>", [("paragraph", "Rye.")]),
        (f"<button aria-expanded=false>Frost</button><div style='display:none'>{WORDS}</div>", [("title", "## Frost")]),
        (f"<button>What about frost?</button><div hidden>{WORDS}</div>", [("title", "## What about frost?")]),
        (f"<h3><button aria-expanded=false>Frost</button></h3><div hidden>{WORDS}</div>", [("title", "### Frost")]),
    ],
)  # fmt: skip
def test_a_panel_that_the_page_opens_is_read_below_the_button_that_names_it(
    body: str, above: list[tuple[str, str]]
) -> None:
    assert read(body) == [*above, ("paragraph", "Oil the wheel before the first frost.")]


@pytest.mark.parametrize(
    "body",
    [
        f"<div hidden>{WORDS}</div>",
        f"<button aria-controls=a>Menu</button><ul id=a role=menu hidden><li>{WORDS}</li></ul>",
        "<button aria-controls=a>Menu</button><div id=a hidden><a href=/a>One page</a> <a href=/b>Two pages</a></div>",
        f"<button data-target='#a'>Join</button><div id=a class='modal fade' hidden>{WORDS}</div>",
        f"<button data-target='#a'>Join</button><div id=a hidden>{WORDS}<input name=mail></div>",
        "<button aria-expanded=false>Share</button><div hidden>or copy</div>",
        f"<nav><button aria-expanded=false>Docs</button><div hidden>{WORDS}</div></nav>",
    ],
)
def test_menus_dialogs_and_what_nothing_opens_stay_hidden(body: str) -> None:
    assert read(body) == []


@pytest.mark.parametrize(
    "body",
    [
        "<ul class='lst-kix_a1-0'><li>rye</li></ul><ul class='lst-kix_a1-1'><li>winter</li></ul>",
        "<ul><li>rye</li><li class='ql-indent-1'>winter</li></ul>",
        "<ul><li aria-level=1>rye</li></ul><ul><li aria-level=2>winter</li></ul>",
        "<p style='mso-list:l0 level1 lfo1'><span style='mso-list:Ignore'>·</span>rye</p>"
        "<p style='text-indent:-18pt;mso-list:l0 level2 lfo1'><span style='mso-list:Ignore'>o </span>winter</p>",
        "<ul><li>rye</li><ul><li>winter</li></ul></ul>",
    ],
)
def test_an_item_has_the_level_that_it_or_its_list_states(body: str) -> None:
    assert read(body) == [("list_item", "- rye"), ("list_item", "- winter")]
    page = parse_html(body.encode(), ParseOptions())
    assert [one.level for one in page.elements] == [1, 2]


SAVED = """{head}MIME-Version: 1.0
Content-Type: multipart/related; boundary="b"

--b
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable
Content-Location: https://mill.example/wheel

<html><head><title>M=FChle</title></head><body><h1>Wheel</h1><p>It turns.</p></body></html>
--b
Content-Type: image/png
Content-Transfer-Encoding: base64
Content-Location: https://mill.example/a.png

AAAA
--b--
"""


@pytest.mark.parametrize("name", ["page.mht", "page.mhtml", "page.doc", "page"])
@pytest.mark.parametrize(
    "head", ["From: <Saved by a browser>\nSubject: Other\n", "Subject: Exported\nMessage-ID: <1@x>\n"]
)
def test_a_page_saved_as_one_file_is_the_page(name: str, head: str) -> None:
    data = SAVED.format(head=head).encode()
    assert detect_file_type(name, data) == FileType("mht")
    parsed = parse(data, FileType("mht"), ParseOptions())
    assert (parsed.title, parsed.text) == ("Mühle", "# Wheel\n\nIt turns.")


def test_a_mail_with_parts_is_no_saved_page() -> None:
    head = "From: a@mill.example\nTo: b@mill.example\nSubject: Wheel\n"
    assert detect_file_type("a.eml", SAVED.format(head=head).encode()) == FileType("eml")
