"""Partitioned: files that `unstructured` partitions by its fast strategy, without a model and without a network."""

import io
import logging
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.partition.elements import draw_all
from docmill.tasks.parse.partition.needed import UnstructuredOptions, why_not
from docmill.tasks.parse.partition.sentence_words import install
from docmill.tasks.parse.zip_limits import check_container

_MODULES = {"markdown": "md", "eml": "email", "xls": "xlsx", "jsonl": "ndjson"}
"""Modules of `unstructured.partition` that are not called as their format is."""
_CONTAINERS = ("docx", "odt", "pptx", "xlsx", "epub")
_AS_TEXT = ("text", "markdown", "html", "json", "jsonl")  # which take text instead of a file
_AS_UTF8 = ("csv", "rst", "org")  # which take a file and read no other encoding well
_FURNITURE = ("Header", "Footer", "PageNumber")


def parse_partitioned(data: bytes, form: str, limits: ParseOptions, options: UnstructuredOptions) -> Parsed:
    """Return a file of a format drawn as Markdown from the elements of `unstructured`, with their pages."""
    if form in _CONTAINERS:
        check_container(data, limits.max_unpacked_bytes).close()
    try:
        elements = partition(form, **_content(data, form), **_own(form, options))
    except ModuleNotFoundError as error:
        raise Rejected("not_installed", why_not(error.name or "unstructured", form)) from None
    kept = [element for element in elements if options.furniture or element.category not in _FURNITURE]
    canvas = Canvas()
    draw_all(kept, canvas)
    facts = _facts(elements)
    return canvas.parsed(facts.pop("title", "") or canvas.first_heading(), facts)


def partition(form: str, **how: Any) -> list[Any]:
    """Return the elements of a file; `how` has `file` or `text`, and what else the function of the format takes."""
    install()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = _MODULES.get(form, form)
        function: Callable[..., list[Any]] = getattr(
            import_module(f"unstructured.partition.{name}"), f"partition_{name}"
        )
        logging.getLogger("unstructured").setLevel(logging.ERROR)
        # An empty language switches its detection off, which costs more than all the rest.
        return function(**how, languages=[""], detect_language_per_element=False)


def _content(data: bytes, form: str) -> dict[str, Any]:
    """Return the content of a file as its function takes it; docmill tells the encoding of texts."""
    if form in _AS_TEXT:
        return {"text": decode(data).text}
    return {"file": io.BytesIO(decode(data).text.encode("utf-8", "replace") if form in _AS_UTF8 else data)}


def _own(form: str, options: UnstructuredOptions) -> dict[str, Any]:
    """Return the arguments that only the function of one format takes."""
    if form in ("eml", "msg"):
        return {"process_attachments": False}  # they are documents of their own
    if form == "pptx":
        return {"include_slide_notes": options.notes, "include_page_breaks": False}
    if form == "csv":
        return {"encoding": "utf-8"}
    return {"strategy": "fast"} if form == "pdf" else {}


def _facts(elements: list[Any]) -> dict[str, Any]:
    """Return the title and the metadata of a mail; `unstructured` states none of other files."""
    said = elements[0].metadata.to_dict() if elements else {}
    facts = {"title": said.get("subject"), "author": "; ".join(said.get("sent_from", [])), "to": said.get("sent_to")}
    return {name: value for name, value in facts.items() if value}
