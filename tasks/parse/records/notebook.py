"""Jupyter notebooks: cells in order, Markdown unchanged, code in its language, outputs below it."""

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from docmill.storage.errors import Rejected
from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.hypertext import draw_tree, page_tree
from docmill.tasks.parse.markup.md.markdown_file import parse_markdown
from docmill.tasks.parse.pictures.addresses import of_data_uri

# The placeholder text of an output that only a picture or HTML can show.
_OBJECT = re.compile(r"\s*\[?<(?:[\w.]+ object|Figure\b[^<>]*|[^<>]* at 0x[0-9a-fA-F]+)>\]?\s*")
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_REWRITTEN = re.compile(r"[^\n]*\r(?!\n)")  # a line that was overwritten, as by progress bars
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ATTACHED = re.compile(r"\battachment:([^\s()<>\"']+)")
_NAME = re.compile(r"\w[\w+#-]*")
_MAGIC = re.compile(r"%%(bash|sh|html|javascript|js|latex|markdown|perl|ruby|sql|R|cython|svg)\b")
"""The cell magics of IPython whose cell is in another language."""
_OF_MAGICS = {"sh": "bash", "js": "javascript", "R": "r", "svg": "xml"}


def parse_notebook(data: bytes, options: ParseOptions) -> Parsed:
    """Return a notebook drawn as Markdown; every element has its `cell`, from 1, and outputs are marked.

    An output is drawn as its picture, and as the first of its Markdown, tables in HTML, plain text, TeX and other HTML
    that exists; an error is drawn as its name and message.
    """
    found = decode(data)
    try:
        notebook = json.loads(found.text)
    except ValueError as error:
        raise Rejected("corrupt", f"not JSON, as notebooks are: {error}") from error
    cells = _cells(notebook)
    language = _language(notebook)
    canvas = Canvas()
    for number, cell in enumerate(cells, 1):
        _draw(canvas, cell, number, language, options)
    stated = notebook.get("metadata") or {}
    title = str(stated.get("title") or "") or canvas.first_heading()
    return canvas.parsed(title, {"code_language": language, "cells": len(cells)} | _authors(stated))


def _authors(stated: dict[str, Any]) -> dict[str, str]:
    names = [str(one["name"]) for one in stated.get("authors") or [] if isinstance(one, dict) and one.get("name")]
    return {"author": ", ".join(names)} if names else {}


def _cells(notebook: Any) -> list[dict[str, Any]]:
    if not isinstance(notebook, dict):
        raise Rejected("corrupt", "not a notebook: its JSON is not an object")
    sheets = notebook.get("worksheets") or []  # the format before 2015
    cells = notebook.get("cells") or [cell for sheet in sheets for cell in sheet.get("cells", [])]
    return [cell for cell in cells if isinstance(cell, dict)]


def _language(notebook: dict[str, Any]) -> str:
    stated = notebook.get("metadata") or {}
    named = (stated.get("language_info") or {}).get("name") or (stated.get("kernelspec") or {}).get("language")
    match = _NAME.match(str(named or "python"))
    return match[0].lower() if match else ""


def _draw(canvas: Canvas, cell: dict[str, Any], number: int, language: str, options: ParseOptions) -> None:
    source = _text(cell.get("source", cell.get("input", "")))
    first = len(canvas.blocks)
    kind = cell.get("cell_type")
    if kind == "heading":
        canvas.heading(source, int(cell.get("level") or 1))
    elif kind == "code":
        canvas.code(source, _language_in(cell, source, language))
    elif source.strip():
        _draw_markdown(canvas, _with_attachments(source, cell.get("attachments")), options)
    printed = len(canvas.blocks)
    for output in cell.get("outputs") or []:
        if isinstance(output, dict):
            _draw_output(canvas, output, options)
    for index, element in enumerate(canvas.blocks[first:], first):
        element.attributes["cell"] = number
        if index >= printed:
            element.attributes["output"] = True


def _language_in(cell: dict[str, Any], source: str, usual: str) -> str:
    """Return the language of a cell: that of its first line, its own, or the notebook's."""
    magic = _MAGIC.match(source)
    return _OF_MAGICS.get(magic[1], magic[1]) if magic else str(cell.get("language") or usual).lower()


def _with_attachments(source: str, attached: Any) -> str:
    """Return a cell with attached pictures in place of their names."""

    def held(name: str) -> str:
        data = attached.get(unquote(name))
        kind = next((kind for kind in _PICTURES if data.get(kind)), "") if isinstance(data, dict) else ""
        return f"data:{kind};base64,{''.join(_text(data[kind]).split())}" if kind else ""

    return _ATTACHED.sub(lambda one: held(one[1]) or one[0], source) if isinstance(attached, dict) else source


def _draw_markdown(canvas: Canvas, source: str, options: ParseOptions) -> None:
    """Draw a text with its blocks; a picture within one is drawn below it, as canvas elements cannot be nested."""
    parsed = parse_markdown(source.encode("utf-8", "replace"), options)
    canvas.album.take(parsed)
    figures = [one for one in parsed.elements if one.kind == "figure"]
    end = 0
    for element in parsed.elements:
        if element.start_char >= end:
            end = element.end_char
            held = [one for one in figures if element.start_char <= one.start_char < end and one is not element]
            canvas.copy(*_without(held, element, parsed.text))
            for one in held:
                if picture := canvas.album.get(one.attributes["key"]):
                    canvas.show(picture, one.attributes.get("alt", ""), one.attributes.get("caption", ""))


def _without(held: Sequence[Element], element: Element, text: str) -> tuple[Element, str]:
    """Return an element and its text without the figures in it."""
    if not held:
        return element, text[element.start_char : element.end_char]
    left, end = list[int](), element.start_char  # positions of the characters that stay
    for one in held:
        left += range(end, one.start_char)
        end = one.end_char
    left += range(end, element.end_char)
    marks = [bisect_left(left, element.start_char + one) for one in element.attributes.get("marks", ())]
    pairs = [(one, stop) for one, stop in zip(marks[::2], marks[1::2], strict=True) if stop > one]
    kept = element.attributes | {"marks": [place for pair in pairs for place in pair]}
    return replace(element, attributes=kept), "".join(text[place] for place in left)


def _draw_output(canvas: Canvas, output: dict[str, Any], options: ParseOptions) -> None:
    if output.get("output_type") in ("error", "pyerr"):
        canvas.code(_ESCAPE.sub("", f"{output.get('ename', '')}: {output.get('evalue', '')}"))
        return
    stated = output.get("data")
    data = stated if isinstance(stated, dict) else {}
    printed = _ESCAPE.sub("", _text(output.get("text") or data.get("text/plain", "")))
    shown = {kind: _text(data.get(kind)) for kind in ("text/markdown", "text/latex", "text/html")}
    _draw_picture(canvas, data)
    _draw_words(canvas, printed, shown, options)


def _draw_words(canvas: Canvas, printed: str, shown: dict[str, str], options: ParseOptions) -> None:
    """Draw the first form of an output that has words, in the order that `parse_notebook` states."""
    if shown["text/markdown"].strip():
        _draw_markdown(canvas, shown["text/markdown"], options)
    elif _is_table(shown["text/html"]) and _draw_page(canvas, shown["text/html"]):
        return
    elif printed.strip() and not _OBJECT.fullmatch(printed):
        canvas.code(_REWRITTEN.sub("", printed.replace("\r\n", "\n")))
    elif shown["text/latex"].strip():
        canvas.paragraph(shown["text/latex"])
    elif shown["text/html"].strip():
        _draw_page(canvas, shown["text/html"])


def _is_table(page: str) -> bool:
    """Return whether an output is a table, such as a data frame, whose plain text is wrapped.

    A page with a drawing describes an object, such as an array, whose plain text says it better.
    """
    return "<table" in page and "<svg" not in page


def _draw_picture(canvas: Canvas, data: dict[str, Any]) -> None:
    kind = next((kind for kind in _PICTURES if data.get(kind)), "")
    if kind:
        canvas.figure(of_data_uri(f"data:{kind};base64,{_text(data[kind])}") or b"")


def _draw_page(canvas: Canvas, page: str) -> bool:
    """Draw the HTML of an output; return whether it has words."""
    try:
        root = page_tree(page)
    except Rejected:  # nested too deeply; the cells around it are not
        return False
    drawn = None if root is None else draw_tree(root)
    if drawn is None or not drawn.text.strip():
        return False
    canvas.add(drawn)
    return True


def _text(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
