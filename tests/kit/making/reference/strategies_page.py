"""The page on strategies and contextualizers, with every option, its default, its unit and its bounds."""

import inspect
import json
from collections.abc import Iterable, Iterator
from dataclasses import Field, fields
from typing import Any

from docmill.tasks.context.contextualizers import CONTEXTUALIZERS
from docmill.tasks.split.parts.strategy_options import MAX_SIZE, MIN_SIZE, Optimize, Options, Stated
from docmill.tasks.split.splitter import Splitter
from docmill.tasks.split.strategies import SPLITTERS
from tests.kit.making.reference.markdown import block, code, codes, entries, page, prose

HEAD = """\
A strategy splits a region into chunks. [Routes](routes.md) select it; `[split.NAME]` in `docmill.toml` sets its options
for every route. `docmill explain FILE --strategy NAME --option size=100` tries one on a file.

Sizes count the tokens of the embedding model, or of `[chunk] tokenizer`, and bound the text of a chunk without its
context. A size above the room that the model has is lowered to it. Offsets count code points."""
EXAMPLE = """\
[split.structure]
size = 300
optimize = { min_tokens = 40, max_tokens = 400 }"""
WINDOWS = "fixed"
"""A strategy some of whose options others have, too; these are described once."""
ASKS = {
    "vectors": "It compares vectors, so the embedding model reads the text once more.",
    "replies": "It asks the language model of `[model]`.",
}
CONTEXTS = {
    "none": "No context: the text alone is embedded and indexed.",
    "structural": "The title of the document, the headings above the chunk, and what encloses its start: the header of"
    " a table, the speaker of a turn, the lead of a list, the question of an answer, the signatures around code.",
    "window": "`structural`, and the most central sentence on either side of the chunk; with `[chunk] summed_up_by ="
    ' "model"`, a sentence about each neighbour by the language model.',
    "summary": "`structural`, and further chunks that sum up each section and the document.",
    "llm": "`structural`, and a text by the language model that says what the chunk is about within its document.",
}
CONTEXT_HEAD = """\
A contextualizer writes the [context](../concepts/contexts.md) of a chunk. `[chunk] contextualizer` sets it for all
documents, a route for some."""


def made() -> str:
    """Return the page."""
    contexts = [(code(name), prose(CONTEXTS[name])) for name in CONTEXTUALIZERS]
    return page(
        "Strategies and contexts",
        HEAD,
        block(EXAMPLE, "toml"),
        "## Options of every strategy",
        _options(fields(Options), f"{MIN_SIZE} to {MAX_SIZE}"),
        "The table `optimize` has two keys:",
        _options(fields(Optimize), ""),
        *(part for one in SPLITTERS.values() for part in _section(one)),
        "## Contextualizers",
        CONTEXT_HEAD,
        entries(contexts),
    )


def _section(one: Splitter) -> Iterator[str]:
    yield f"## {code(one.name)}"
    yield inspect.getdoc(one.options) or ""
    yield ASKS.get(one.asks, "")
    if levels := [one.role, *(level.role for level in one.levels)] if one.levels else []:
        yield f"Its chunks have the roles {', '.join(map(code, levels))}."
    common = {field.name: field.default for field in fields(Options)}
    own = [field for field in fields(one.options) if common.get(field.name, field) != field.default]
    alike = [field for field in own if one.name != WINDOWS and _row(field, "") in _windows()]
    yield _options([field for field in own if field not in alike], f"{MIN_SIZE} to {MAX_SIZE}") or ""
    if alike:
        yield f"Also {codes(field.name for field in alike)} of [{code(WINDOWS)}](#{WINDOWS})."
    if one.options().size != Options().size:
        yield f"`size` is {one.options().size} by default."


def _windows() -> list[tuple[str, str, str]]:
    """Return the options of the strategy whose options others have, too."""
    return [_row(field, "") for field in fields(SPLITTERS[WINDOWS].options)]


def _options(found: "Iterable[Field[Any]]", size: str) -> str:
    return entries(_row(field, size) for field in found)


def _row(field: "Field[Any]", size: str) -> tuple[str, str, str]:
    stated: Stated = field.metadata["stated"]
    bounds = size if field.name == "size" else "" if stated.low is None else f"{stated.low} to {stated.high}"
    default = "none" if field.default is None else code(json.dumps(field.default))
    limits = f"{bounds} {stated.unit}".strip()
    return code(field.name), ", ".join(filter(None, [default, limits])), prose(stated.meaning)
