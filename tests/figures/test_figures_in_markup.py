"""Figures from files beside Markdown and other markup: where each picture is; the text of Markdown stays the file."""

import time
from pathlib import Path

import pytest

from docmill.storage.keys import hash_bytes
from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.dispatch.parser import faults
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pictures import picture_files
from docmill.tasks.parse.pictures.picture_files import names_in
from docmill.tasks.work.document.process import figure_rows
from tests.kit.workbench import Workbench
from tests.kit.writers.figures import drawn

ONE, TWO = drawn(1), drawn(2)
BESIDE = {"pics/a.png": ONE, "pics/b (2).png": TWO, "é.png": drawn(3)}
BODY = """\
---
title: Lagoon
---
# The lagoon ![logo](pics/a.png)

![Bars by *month*](pics/a.png "Figure 1: Chlorophyll")

See ![a [small] chart](<pics/b (2).png>) in [![Bars](pics/a.png)](https://example.org/a.png), or `![no](pics/a.png)`.

<!-- <img src="pics/a.png"> -->

```
![no](pics/a.png)
```

- ![Depth][depth] of each buoy
- ![gone](pics/gone.png), ![far](https://example.org/x.png), \\![no](pics/a.png)

| name | shown |
|---|---|
| one | ![Cell](./pics/b%20(2).png) |

> Said by ![Quoted](é.png)

<p align="center"><img alt="Tag &amp; bars" src="pics/a.png?raw=1"></p>

Words <IMG src='é.png' title="Map"> within.

[depth]: pics/a.png
"""


def read(text: str, form: str, pictures: dict[str, bytes] | None = None) -> Parsed:
    options = ParseOptions(pictures=BESIDE if pictures is None else pictures)
    return parse(text.encode(), FileType(form), options)


def figures(parsed: Parsed) -> list[Element]:
    return [one for one in parsed.elements if one.kind == "figure"]


def shown(bench: Workbench, uri: str) -> list[str]:
    with bench.store as store:
        return [figure.key for figure in store.figures(uri)]


def apart(body: str) -> tuple[str, dict[str, bytes]]:
    """Return a text in which each place names a picture of its own, and the pictures beside it."""
    many = dict(BESIDE)
    for number in range(body.count("pics/a.png")):
        body = body.replace("pics/a.png", f"p{number}.png", 1)
        many[f"p{number}.png"] = drawn(10 + number)
    return body, many


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_a_picture_is_where_its_markup_is_and_the_text_is_the_file(ends: str) -> None:
    body, many = apart(BODY.replace("\n", ends))
    parsed = read(body, "markdown", many)
    assert parsed.text == body
    assert faults(parsed) == []
    assert [(one.attributes.get("alt", ""), parsed.text[one.start_char : one.end_char]) for one in figures(parsed)] == [
        ("logo", "![logo](p0.png)"),
        ("Bars by *month*", '![Bars by *month*](p1.png "Figure 1: Chlorophyll")'),
        ("a [small] chart", "![a [small] chart](<pics/b (2).png>)"),
        ("Bars", "![Bars](p2.png)"),
        ("Depth", "![Depth][depth]"),
        ("Cell", "![Cell](./pics/b%20(2).png)"),
        ("Quoted", "![Quoted](é.png)"),
        ("Tag & bars", '<img alt="Tag &amp; bars" src="p7.png?raw=1">'),
        ("", "<IMG src='é.png' title=\"Map\">"),
    ]
    assert {one.key for one in parsed.pictures} == {one.attributes["key"] for one in figures(parsed)}
    assert [one.line for one in figures(parsed)] == [4, 6, 8, 8, 16, 21, 23, 25, 27]
    named = set(names_in("a.md", body.encode()))
    assert named == {*many, "pics/gone.png"} - {"pics/a.png"}, "also those of code, which are not shown"


def test_a_picture_alone_is_no_paragraph_and_says_its_caption() -> None:
    parsed = read('Words.\n\n![Bars](pics/a.png "Figure 1: Chlorophyll")\n', "markdown")
    assert [one.kind for one in parsed.elements] == ["paragraph", "figure"]
    (row,) = figure_rows(parsed)
    assert (row["caption"], row["alt"], row["key"]) == ("Figure 1: Chlorophyll", "Bars", hash_bytes(ONE))
    plain = read(BODY, "markdown", {})
    assert figures(plain) == []
    assert "figures_left_out" not in plain.metadata


def test_decoration_of_a_readme_is_counted() -> None:
    parsed = read("# A\n\n" + "![badge](pics/a.png) " * 3 + "![b](<pics/b (2).png>)\n", "markdown")
    assert [one.key for one in parsed.pictures] == [hash_bytes(TWO)]
    assert parsed.metadata["figures_left_out"] == {"decoration": 3}


MARKUP = {
    "rst": "Lagoon\n======\n\n.. figure:: pics/a.png\n   :alt: Bars\n\n   Figure 1: Bloom\n\nSee |two|.\n\n"
    ".. |two| image:: pics/b.png\n",
    "org": "* Lagoon\n#+CAPTION: Figure 1: Bloom\n[[file:pics/a.png]]\n\nSee [[./pics/b.png]].\n",
    "latex": "\\documentclass{article}\\graphicspath{{pics/}}\\begin{document}\\section{Lagoon}\n\\begin{figure}\n"
    "\\includegraphics[width=2cm]{a}\\caption{Figure 1: Bloom}\\end{figure}\n\nSee \\includegraphics{pics/b.png}."
    "\\end{document}",
    "asciidoc": "= Lagoon\n:imagesdir: pics\n\n.Figure 1: Bloom\nimage::a.png[Bars]\n\nSee image:b.png[Two].\n",
    "textile": "h1. Lagoon\n\n!pics/a.png(Bars)!\n\nFigure 1: Bloom\n\nSee !pics/b.png!.\n",
    "typst": '= Lagoon\n\n#figure(image("pics/a.png"), caption: [Figure 1: Bloom])\n\nSee #box(image("pics/b.png")).\n',
}


@pytest.mark.parametrize("form", MARKUP)
def test_markup_that_is_drawn_shows_pictures_beside_it(form: str) -> None:
    suffix = {"latex": "tex", "asciidoc": "adoc", "typst": "typ"}.get(form, form)
    named = names_in(f"a.{suffix}", MARKUP[form].encode())
    assert {"pics/a.png", "pics/b.png"} <= {*named}
    parsed = read(MARKUP[form], form, {"pics/a.png": ONE, "pics/b.png": TWO})
    first, second = figure_rows(parsed)
    assert (first["key"], second["key"]) == (hash_bytes(ONE), hash_bytes(TWO))
    assert first["caption"] == "Figure 1: Bloom"
    assert not read(MARKUP[form], form, {}).pictures


@pytest.mark.usefixtures("fake_model")
def test_a_picture_beside_a_readme_is_found_and_a_change_of_it_embeds_nothing(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, {"parse": {"ocr": False}, "chunk": {"figures": True}})
    text = "# Lagoon\n\nThe bloom of June is in ![Bars by month](pics/a.png), of May in ![May](../out.png).\n"
    bench.write({"sub/readme.md": text, "sub/pics/a.png": ONE, "plain.md": "# Sea\n\nNo picture.\n"})
    (tmp_path / "out.png").write_bytes(TWO)
    (bench.docs / "sub" / "link.png").symlink_to(tmp_path / "out.png")
    (bench.docs / "sub" / "linked.md").write_text("![Link](link.png) and ![Up](../../out.png)\n")
    bench.ingest()
    assert shown(bench, "sub/readme.md") == [hash_bytes(ONE)]
    assert shown(bench, "sub/linked.md") == [], "a link is not followed, and nothing outside of the source is read"
    with bench.store as store:
        assert store.document("sub/readme.md").text == text
        (hit,) = store.search("bars month", 3, where="role = 'figure'")
        assert hit.text == "![Bars by month](pics/a.png)"
    assert bench.ingest().snapshot is None
    bench.write({"sub/pics/a.png": TWO})
    report = bench.ingest()
    assert (report.documents.changed, report.parsed, report.embedded) == (2, 2, 0)
    assert shown(bench, "sub/readme.md") == [hash_bytes(TWO)]
    (bench.docs / "sub").rename(bench.docs / "other")
    assert bench.ingest().parsed == 0


_PIECES = [
    "![", "[a", "![a[b]", "![x]", "![a](", "![a](b(", "[a]: ", "\n[", ".. |a", ".. image::", "[[file:", "!a",
    "\\includegraphics[", "\\includegraphics{", "\\graphicspath{{a}", "image:", "!(", "!{", 'image("', "<img src=",
]  # fmt: skip


@pytest.mark.parametrize("suffix", ["md", "rst", "org", "tex", "adoc", "textile", "typ"])
def test_hostile_markup_is_searched_in_a_time_that_grows_with_its_length_alone(suffix: str) -> None:
    for piece in _PIECES:
        began = time.process_time()
        names_in(f"p.{suffix}", (piece * (picture_files.PAGE_BYTES // len(piece) // 16)).encode())
        assert time.process_time() - began < 2, piece
