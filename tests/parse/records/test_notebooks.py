"""Notebooks: what cells showed, as far as it is text."""

import json
from typing import Any

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions


def read(form: str, text: str) -> Parsed:
    return parse(text.encode(), FileType(form), ParseOptions())


OUTPUTS = [
    ({"text/plain": ["<IPython.core.display.Markdown object>"], "text/markdown": ["**So** it is"]}, "**So** it is"),
    ({"text/plain": "<IPython.core.display.HTML object>", "text/html": "<p>A <b>page</b></p>"}, "A page"),
    ({"text/html": "<table><tr><th>a<th>b<tr><td>1<td>2</table>"}, "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    (
        {
            "text/plain": "   a  b\n0  1  2",
            "text/html": "<style>td {}</style><table><tr><th>a<th>b<tr><td>1<td>2",
        },
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
    ),
    ({"text/plain": "Array(3)", "text/html": "<table><tr><td>Bytes<td>24</table><svg></svg>"}, "```\nArray(3)\n```"),
    ({"text/latex": "$x^2$"}, "$x^2$"),
    ({"text/plain": "   c\n0  1", "text/html": "<table></table>"}, "```\n   c\n0  1\n```"),
    ({"text/plain": "<Figure size 640x480 with 1 Axes>", "image/png": "iVBORw0KGgo="}, ""),
    ({"text/plain": "[<matplotlib.lines.Line2D at 0x7f0a2c>]"}, ""),
]


@pytest.mark.parametrize(("shown", "text"), OUTPUTS)
def test_what_a_cell_showed_is_text(shown: dict[str, Any], text: str) -> None:
    outputs = [{"output_type": "display_data", "data": shown, "metadata": {}}]
    cells = [{"cell_type": "code", "source": "x", "outputs": outputs}]
    parsed = read("ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    assert parsed.text.removeprefix("```python\nx\n```").lstrip() == text


def test_of_a_bar_of_progress_its_last_state_stays() -> None:
    outputs = [{"output_type": "stream", "name": "stderr", "text": ["10%\r55%\r", "100%\r\ndone\n"]}]
    cells = [{"cell_type": "code", "source": "", "outputs": outputs}]
    parsed = read("ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    assert parsed.text == "```\n100%\ndone\n```"


def test_a_cell_has_the_language_of_its_magic() -> None:
    cells = [{"cell_type": "code", "source": f"%%{name}\nx"} for name in ("bash", "sh", "R", "time")]
    parsed = read("ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    languages = [one.attributes["language"] for one in parsed.elements if one.kind == "code"]
    assert languages == ["bash", "bash", "r", "python"]
