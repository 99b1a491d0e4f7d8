"""Definitions: functions, classes, methods and modules in source code, keys of settings, and which enclose a span."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from docmill.storage.schema import Element, Parsed
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.syntax.grammars import Syntax, syntax_of

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = """
    function_definition function_declaration function_item function function_statement
    generator_function_declaration method_definition method_declaration method singleton_method
    class_method_definition class_definition class_declaration abstract_class_declaration class_specifier
    class_implementation class_interface class_statement class singleton_class category_implementation
    category_interface protocol_declaration interface_declaration trait_declaration trait_definition trait_item
    impl_item instance object_declaration object_definition companion_object record_declaration struct_declaration
    struct_definition struct_item struct_specifier union_declaration union_item union_specifier enum_declaration
    enum_definition enum_item enum_specifier enum_statement data_type type_declaration type_definition
    constructor_declaration compact_constructor_declaration secondary_constructor init_declaration
    operator_declaration extension_definition given_definition value_definition
    namespace_declaration namespace_definition internal_module module_definition mod_item
    macro_definition annotation_type_declaration create_table create_view create_function create_trigger
    rule_set media_statement supports_statement keyframes_statement
"""
_EVERYWHERE = frozenset(_KINDS.split())
_OWN = {"ruby": {"module"}, "terraform": {"block"}, "csharp": {"property_declaration"}} | {
    "yaml": {"block_mapping_pair", "block_sequence_item"}, "toml": {"table", "table_array_element"}
}  # fmt: skip
_UNMARKED = ("yaml", "toml")  # languages without decorators, where a line in brackets is the signature itself
_ITEM = "- "  # of a list in YAML
_LAMBDAS = frozenset(["arrow_function", "function_expression"])
_NAMED_BY = frozenset(["variable_declarator", "pair", "assignment_expression", "public_field_definition"])
_ELIXIR = re.compile(rb"(?:def\w*|test|describe)\b")
_MARK = re.compile(r"\s*(?:@[\w.]+(?:\(.*\))?|#?\[.*\])[ \t]*\r?\n")
_BLOCK_BEGINS = re.compile(r"(?:\s*(?:=>|[={:]|\b(?:do|where|struct|then)))+\s*$")
_CLOSED = re.compile(r"(?:[ \t]*[;,)\]]+)?")  # closes a definition's statement, after its end
_FENCE = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})[^\n]*\n")
_LONGEST = 160  # characters of a signature; every chunk in the definition repeats it in its context
_READ = 4 * _LONGEST  # characters read for a signature, including decorators and repeated white space


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of several lines: the start of its first line, its end, and its signature.

    `parent` is the index of the enclosing definition, or -1.
    """

    start: int
    end: int
    signature: str
    parent: int


class Definitions:
    """The definitions in a piece of code, in order; positions are relative to the start of its text."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.all: list[Definition] = []
        open_: list[int] = []
        for node in _walk(syntax):
            start, end = _line_start(text, syntax.place(node.start_byte)), syntax.place(node.end_byte)
            end = _CLOSED.match(text, end).end()  # type: ignore[union-attr]
            while open_ and self.all[open_[-1]].end <= start:
                open_.pop()
            if self.all and self.all[-1].start == start:
                continue
            self.all.append(Definition(start, end, _signature(text, start, node, syntax), open_[-1] if open_ else -1))
            open_.append(len(self.all) - 1)
        self.starts = [one.start for one in self.all]

    def around(self, start: int, end: int) -> list[Definition]:
        """Return the definitions that contain a whole span, outermost first."""
        found, number = list[Definition](), bisect_right(self.starts, start) - 1
        while number >= 0:
            if self.all[number].end >= end:
                found.append(self.all[number])
            number = self.all[number].parent
        return found[::-1]


@lru_cache(maxsize=2)
def definitions_of(text: str, language: str) -> Definitions | None:
    """Return the definitions of a text, or None if its syntax is unknown."""
    syntax = syntax_of(text, language)
    return Definitions(text, syntax) if syntax else None


def _walk(syntax: Syntax) -> Iterator["Node"]:
    """Yield the nodes of multi-line definitions, in order."""
    kinds = _EVERYWHERE | _OWN.get(syntax.language, set())
    open_ = list(reversed(syntax.root.children))
    while open_:
        node = open_.pop()
        if node.end_point.row > node.start_point.row:
            if _defines(node, kinds, syntax.language):
                yield node
            open_ += reversed(node.children)


def _defines(node: "Node", kinds: frozenset[str], language: str) -> bool:
    if node.type in kinds:
        return node.is_named
    if node.type in _LAMBDAS:
        return node.parent is not None and node.parent.type in _NAMED_BY
    if language == "elixir" and node.type == "call":
        return _ELIXIR.match(node.text or b"") is not None
    return False


def _line_start(text: str, position: int) -> int:
    """Return the first non-space position of the line that contains a position."""
    line = max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1
    return line + len(text[line:position]) - len(text[line:position].lstrip())


def _signature(text: str, start: int, node: "Node", syntax: Syntax) -> str:
    body = node.child_by_field_name("body")
    ends = [body.start_byte if body else node.end_byte]
    ends += [child.start_byte for child in node.children if "comment" in child.type]
    end = syntax.place(min(ends))
    said = text[start:end][:_READ]
    while syntax.language not in _UNMARKED and (mark := _MARK.match(said)):
        said = said[mark.end() :]
    if body is None:
        said = said.lstrip().split("\n", 1)[0]
    said = _BLOCK_BEGINS.sub("", " ".join(said.split()))
    said = said.removeprefix(_ITEM) if syntax.language == "yaml" else said
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1].rstrip() + "\u2026"


class Enclosing:
    """Finds the definitions around a span of a document. Code is parsed only if a span begins within it."""

    def __init__(self, parsed: Parsed) -> None:
        self._text = parsed.text
        self._codes = [e for e in parsed.elements if e.kind == "code" and e.attributes.get("language")]
        self._starts = [element.start_char for element in self._codes]

    def signatures(self, span: Span) -> list[str]:
        """Return the signatures of the definitions that contain a whole span but begin before it, outermost first."""
        number = bisect_right(self._starts, span.start) - 1
        if number < 0 or not self._codes[number].start_char < span.start < self._codes[number].end_char:
            return []
        code = code_within(self._text, self._codes[number])
        found = definitions_of(self._text[slice(*code)], str(self._codes[number].attributes["language"]))
        start, end = span.start - code.start, min(span.end, code.end) - code.start
        return [one.signature for one in found.around(start, end) if one.start < start] if found else []


def code_within(text: str, element: Element) -> Span:
    """Return the span of an element's code, without its fence."""
    own = text[element.start_char : element.end_char]
    fence = _FENCE.match(own)
    if not fence:
        return Span(element.start_char, element.end_char)
    closing = own.rfind(fence["mark"])
    end = closing if closing > fence.end() and not own[closing:].strip(fence["mark"][0] + " \t\r\n") else len(own)
    return Span(element.start_char + fence.end(), element.start_char + end)
