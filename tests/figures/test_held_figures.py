"""Figures that Markdown and other markup hold themselves, in `data:` addresses, and notebooks as attachments."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from docmill.storage.keys import hash_bytes
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.parser import faults
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.work.document.process import figure_rows
from tests.kit.workbench import Workbench
from tests.kit.writers.figures import data_uri, drawn

ONE, TWO, THREE, FOUR, FIVE = map(drawn, range(1, 6))


def read(text: str, form: str = "markdown", pictures: dict[str, bytes] | None = None) -> Parsed:
    parsed = parse(text.encode(), FileType(form), ParseOptions(pictures=pictures or {}))
    assert faults(parsed) == []
    return parsed


def figure(picture: bytes) -> str:
    return f"docmill:figure/{hash_bytes(picture)}"


def shown(parsed: Parsed) -> list[tuple[str, str]]:
    """Return the key of each figure, and its words."""
    return [(row["key"], row["alt"]) for row in figure_rows(parsed)]


def test_the_key_of_a_picture_stands_in_place_of_its_address() -> None:
    body = "# The lagoon ![logo]({})\n\n![Bars][image1]\n\nSee ![depth](<{}> 'Map') and <img src=\"{}\" alt=Tag>.\n\n"
    body += "![Beside](a.png)\n\n[image1]: <{}>\n"
    parsed = read(body.format(*map(data_uri, (ONE, TWO, THREE, FOUR))), pictures={"a.png": FIVE})
    assert parsed.text == body.format(*map(figure, (ONE, TWO, THREE, FOUR)))
    keys = [*map(hash_bytes, (ONE, FOUR, TWO, THREE, FIVE))]
    assert shown(parsed) == [*zip(keys, ("logo", "Bars", "depth", "", "Beside"), strict=True)]
    assert {one.key: one.data for one in parsed.pictures} == dict(zip(keys, (ONE, FOUR, TWO, THREE, FIVE), strict=True))


def test_an_address_in_code_or_among_words_stays_as_it_is() -> None:
    body = f"# A\n\n```\n{data_uri(ONE)}\n```\n\nAs `{data_uri(TWO)}` or {data_uri(THREE)} says.\n\n"
    assert (read(body).text, read(body).pictures) == (body, ())
    both = read(f"{body}![Four]({data_uri(FOUR)})\n")
    assert both.text == f"{body}![Four]({figure(FOUR)})\n"
    assert shown(both) == [(hash_bytes(FOUR), "Four")]


def test_what_is_no_figure_is_counted_and_long_no_more() -> None:
    logo = f"![logo]({data_uri(ONE)}) "
    parsed = read(f"# A\n\n{logo * 3}![svg](data:image/svg+xml;base64,PHN2Zy8+) ![b](data:image/png;base64,AAAA)\n")
    assert parsed.metadata["figures_left_out"] == {"decoration": 3, "unread": 2}
    assert (parsed.pictures, "base64" in parsed.text) == ((), False)


def test_a_large_picture_takes_a_time_that_grows_with_its_length_alone() -> None:
    address = "data:image/png;base64," + "iVBO" * 4_000_000
    began = time.process_time()
    assert len(read(f"# A\n\n![a]({address}) {address}\n").text) < 20_000_000
    for piece in ("data:image/", "data:image/png;a=b", "![a](data:image/png;base64,AAAA"):
        read(piece * (400_000 // len(piece)))
    assert time.process_time() - began < 20


MARKUP = {
    "rst": "Lagoon\n======\n\n.. figure:: {}\n   :alt: Bars\n\n   Figure 1: Bloom\n\nEnd.\n",
    "asciidoc": "= Lagoon\n:imagesdir: pics\n\n.Figure 1: Bloom\nimage::{}[Bars]\n\nEnd.\n",
    "textile": "h1. Lagoon\n\n!{}(Bars)!\n\nFigure 1: Bloom\n\nEnd.\n",
    "typst": '= Lagoon\n\n#figure(image("{}", alt: "Bars"), caption: [Figure 1: Bloom])\n\nEnd.\n',
}


@pytest.mark.parametrize("form", MARKUP)
def test_markup_that_is_drawn_shows_what_it_holds(form: str) -> None:
    (row,) = figure_rows(parsed := read(MARKUP[form].format(data_uri(ONE)), form))
    assert (row["key"], row["caption"]) == (hash_bytes(ONE), "Figure 1: Bloom")
    assert f"({figure(ONE)})" in parsed.text


def test_a_cell_of_a_notebook_shows_what_is_attached_to_it() -> None:
    attached = {
        name: {"image/png": data_uri(data).partition(",")[2]} for name, data in (("a b.png", ONE), ("c.png", TWO))
    }
    source = (
        "# Lagoon\n\n![Bars](attachment:a%20b.png)\n\nSee **bold** ![c](attachment:c.png) here ![no](attachment:no.png)"
    )
    cell = {"cell_type": "markdown", "source": source, "attachments": attached}
    parsed = read(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}), "ipynb")
    assert shown(parsed) == [(hash_bytes(ONE), "Bars"), (hash_bytes(TWO), "c")]
    assert parsed.text == (
        f"# Lagoon\n\n![Bars]({figure(ONE)})\n\nSee **bold**  here ![no](attachment:no.png)\n\n![c]({figure(TWO)})"
    )
    (words,) = (one for one in parsed.elements if one.kind == "paragraph")
    text, marks = parsed.text[words.start_char : words.end_char], words.attributes["marks"]
    unread = "".join(text[one:stop] for one, stop in zip(marks[::2], marks[1::2], strict=True))
    assert unread == "****![](attachment:no.png)"
    others: list[Any] = [{"a b.png": "no"}, [], {"a b.png": {"text/plain": "x"}}]
    for other in others:
        assert not read(json.dumps({"cells": [cell | {"attachments": other}]}), "ipynb").pictures


@pytest.mark.usefixtures("fake_model")
def test_a_figure_that_a_readme_holds_is_found_and_embeds_no_address(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, {"parse": {"ocr": False}, "chunk": {"figures": True}})
    bench.write({"readme.md": f"# Lagoon\n\nThe bloom of June.\n\n![Bars by month]({data_uri(ONE)})\n"})
    bench.ingest()
    with bench.store as store:
        (hit,) = store.search("bars month", 3, where="role = 'figure'")
        assert hit.text == f"![Bars by month]({figure(ONE)})"
        assert store.figure(hash_bytes(ONE)).data == ONE
    assert bench.ingest().snapshot is None
