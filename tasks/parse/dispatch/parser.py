"""Parser: reads files of some formats; built in or a plugin."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any, Protocol

from docmill.storage.plugins.origin import Origin, plugin_failed
from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.formats import FileType, ParseOptions

Signs = tuple[str | bytes, ...]
Parse = Callable[[bytes, FileType, ParseOptions, Any], Parsed]
_KIND_WORDS = """
    title paragraph list_item table figure code quote front_matter turn question answer page_break furniture toc text
"""
KINDS = frozenset(_KIND_WORDS.split())


@dataclass(frozen=True)
class NoOptions:
    """The options of a parser that has none."""


def _lacks_nothing(_format: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Parser:
    """Turns the bytes of a file into a document; raise `version` whenever `parse` returns a different one.

    `formats` maps the name of each format to the suffixes and signatures by which a plugin finds files of a new format.
    `parse(data, file_type, limits, options)` gets its own options last. `lacks(format)` says what must be installed to
    read a format, or "". `library` is a distribution whose version also affects the result.
    """

    name: str
    version: int | str
    formats: Mapping[str, Signs]
    parse: Parse
    options: type[Any] = NoOptions
    lacks: Callable[[str], str] = _lacks_nothing
    library: str = ""

    @property
    def whole_version(self) -> str:
        """Return the version for keys and messages: that of the library, if any, and the parser's own."""
        return f"{self.library} {_release(self.library)}, {self.version}" if self.library else str(self.version)

    def __str__(self) -> str:
        return f"{self.name} ({self.whole_version})"


@cache
def _release(distribution: str) -> str:
    """Return the version of a distribution, or "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


class ParserPlugin(Protocol):
    """A way to read files: an entry point of the group `docmill.parsers`, whose name `[[parse.readers]]` takes.

    The entry point refers to an object with these members, or to a class that is called without arguments. It is
    imported when a run begins; import slow packages in the first call of `parse`.

    Attributes:
        version: Raise it whenever `parse` returns another text, other elements or other metadata. Together with the
            version of the distribution, it is part of the key of each document that was parsed, so that exactly those
            documents are parsed again.
        options: A frozen dataclass, of the standard library or of pydantic, or `docmill.plugins.NoOptions`.
            `__post_init__`, or pydantic, refuses wrong values with a `ValueError`. `options` of `[[parse.readers]]`
            is checked with it.
        formats: The formats that it reads, each with the signs of its files. A format of docmill has no signs: such a
            file goes to the plugin if `[[parse.readers]]` says so. A new format goes to the plugin without a setting.
            Its signs are suffixes, in lower case with their dot (".cook"), and signatures, which are the first bytes of
            a binary file (b"COOK"). Suffixes that docmill knows, and signatures of files that it reads itself, remain
            docmill's.
    """

    version: int | str
    options: type[Any]
    formats: Mapping[str, Sequence[str | bytes]]

    def parse(self, data: bytes, format: str, options: Any, /) -> Parsed:
        """Return the canonical text of a file, its elements, its title and its metadata.

        All offsets are half-open, in code points of the text. Elements are ordered by start, are not empty, and overlap
        only by nesting. `docmill.plugins.Canvas` writes a text together with its elements, so that they are exact by
        construction. Metadata are what JSON can hold; `author`, `created`, `modified` and `language` get columns of
        their own. The same bytes and options always give the same document.

        Raise `docmill.plugins.Rejected("corrupt", why)` for a file that is damaged or of another format.

        It is called in a worker process: without network, with a limit on time and memory, and with one document at a
        time. Any other exception rejects the document, with a message that names the plugin and its distribution.
        """
        ...


def parser_of_plugin(origin: Origin, plugin: ParserPlugin) -> Parser:
    """Return the parser of a plugin; if it fails or gives wrong elements, it rejects the document and is named."""
    if not (isinstance(plugin.options, type) and is_dataclass(plugin.options)):
        raise TypeError(f"its options must be a dataclass, such as docmill.plugins.NoOptions, got {plugin.options!r}")

    plugin.options()  # raises if a field has no default, because a new format is read without settings

    def parse(data: bytes, file_type: FileType, _limits: ParseOptions, options: Any) -> Parsed:
        return checked(plugin.parse(data, file_type.format, options))

    return Parser(
        origin.name,
        origin.version(plugin.version),
        {name: _signs(name, signs) for name, signs in _named(plugin.formats)},
        origin.guarded(parse, plugin_failed),
        plugin.options,
    )


def _named(formats: Any) -> Any:
    """Return the formats of a plugin with their signs; raise `TypeError` if there are none."""
    if not isinstance(formats, Mapping) or not formats or not all(isinstance(name, str) and name for name in formats):
        raise TypeError(f"its formats must be a mapping from names of formats to their signs, got {formats!r}")
    return formats.items()


def _signs(name: str, signs: Any) -> Signs:
    if isinstance(signs, str | bytes) or not all(map(_is_sign, signs)):
        raise TypeError(f'its signs of {name} must be suffixes such as ".cook" and bytes, got {signs!r}')
    return tuple(signs)


def _is_sign(sign: object) -> bool:
    if isinstance(sign, str):
        return len(sign) > 1 and sign.startswith(".") and sign == sign.lower()
    return isinstance(sign, bytes) and bool(sign)


def checked(parsed: Parsed) -> Parsed:
    """Return what a plugin has parsed; raise `TypeError` or `ValueError` if no store could hold it."""
    if not isinstance(parsed, Parsed):
        raise TypeError(f"it must return docmill.plugins.Parsed, got {type(parsed).__name__}")
    if not isinstance(parsed.text, str) or not isinstance(parsed.title, str):
        raise TypeError(f"its text and title must be text, got {type(parsed.text).__name__}, {parsed.title!r}")
    elements = tuple(parsed.elements)
    for element in elements:
        _check_types(element)
    for held in (parsed.metadata, *(element.attributes for element in elements)):
        json.dumps(held)
    whole = Parsed(parsed.text, elements, parsed.title, dict(parsed.metadata))
    if found := faults(whole):
        raise ValueError(found[0])
    return whole


def _check_types(element: Element) -> None:
    if not isinstance(element, Element):
        raise TypeError(f"its elements must be docmill.plugins.Element, got {type(element).__name__}")
    numbers = (element.start_char, element.end_char, element.level, element.page, element.line)
    if not all(type(number) is int for number in numbers) or not isinstance(element.attributes, dict):
        raise TypeError(f"an element's offsets, level, page and line must be integers, got {element!r}")


def faults(parsed: Parsed) -> list[str]:
    """Return the invariants that a document's elements violate; a correct parser violates none.

    Each element is inside the text and not empty. Elements are ordered by start. Two elements are nested or do not
    overlap. Pages and lines never decrease.
    """
    found: list[str] = []
    ends: list[int] = []
    start = page = line = 0
    for number, element in enumerate(parsed.elements):
        while ends and ends[-1] <= element.start_char:
            ends.pop()
        if not 0 <= element.start_char < element.end_char <= len(parsed.text):
            fault = f"outside of a text of {len(parsed.text)} characters, or empty"
        elif element.start_char < start:
            fault = f"begins before the one before it, at {start}"
        elif ends and element.end_char > ends[-1]:
            fault = f"overlaps one that ends at {ends[-1]}"
        else:
            fault = _fault(element, page, line)
        if fault:
            found.append(f"element {number}, {element.kind} [{element.start_char}, {element.end_char}): {fault}")
        start, page, line = element.start_char, element.page, element.line
        ends.append(element.end_char)
    return found


def _fault(element: Element, page: int, line: int) -> str:
    """Return what is wrong with an element that follows the given page and line, or ""."""
    if element.page < page or element.line < line:
        return f"page {element.page} or line {element.line} after {page} and {line}"
    return "" if element.kind in KINDS else f"kind is none of {', '.join(sorted(KINDS))}"
