"""JSON and JSON Lines, drawn as text: headings for large parts, and lines `key: value` for each record.

The file itself is written for programs: braces, quotes and escapes, often all on one line. Every element has the `path`
of its value, such as `$.items[3]`; numbers are kept as written.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.hypertext import page_in
from docmill.tasks.parse.records.chat_json import draw_chat, is_chat, messages_in
from docmill.tasks.parse.records.rich_text import document_in, draw_document

_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_BETWEEN = re.compile(r"[\s,]*")
# An escaped half of a surrogate pair; escaped backslashes and whole pairs are skipped.
_LONE = re.compile(r"(\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w)|\\u[dD][89a-fA-F]\w\w")
_SMALL = 1_500
"""Maximum characters of a part drawn whole. With fewer, every record has headings of its own; with more, a file of
settings is one element."""
_MAX_LEVEL = 5
"""Maximum level of headings around a value. Markdown has six levels, and the sixth is left for the content of the
fifth; deeper values are drawn whole."""
_MAX_PATH = 6  # keys in the name of a value, innermost last; with more, the name is longer than the value
_MAX_BAD = 0.1
"""Maximum share of damaged lines. With less, a log with some foreign lines is rejected; with more, a text with numbers
on some lines is treated as JSON Lines."""
_LONG_LIST = 400
"""Maximum characters of plain values in one line. Numbers and tags are shorter, and one per line would be too many
lines; sentences are longer, and each has its own line."""
_RUN = 50
"""Plain values of a list to try as one line. With fewer, lists of short numbers take many lines; many more are always
too long for one line, and each value gets its own."""
_NAMES = ("title", "name", "label", "id", "key", "question", "subject", "headline")
_MAX_NAME = 100
"""Maximum characters of a name as a heading. Longer names are sentences, which stay with their record's values."""


def parse_json(data: bytes, _: ParseOptions) -> Parsed:
    """Return the values of a JSON document, or the turns of an exported chat; the file may contain comments.

    In a damaged document, the values before the damage are read, and the rest is kept as text.
    """
    found = decode(data)
    said = messages_in(found.text)
    value, rest = (said, DamagedRest()) if said else _load(found.text)
    canvas = Canvas()
    if said or is_chat(value):
        draw_chat(canvas, value)
    else:
        value, paged = with_pages(value)
        ValueWriter(canvas, paged).value(value, "$", 1)
    canvas.paragraph(rest.text, kind="text")
    damage = {"damaged": rest.why, "read_as": f"JSON up to its damage; {rest.why}"} if rest.why else {}
    return canvas.parsed(_title(value), found.metadata | damage)


def parse_json_lines(data: bytes, _: ParseOptions) -> Parsed:
    """Return one record for every line; a few damaged lines are kept as they are and counted."""
    found = decode(data)
    canvas = Canvas()
    said = messages_in(found.text)
    values, bad = (said, 0) if said else _load_lines(found.text)
    if said or is_chat([value for value in values if not isinstance(value, BadLine)]):
        draw_chat(canvas, values)
    else:
        values, paged = with_pages(values)
        writer = ValueWriter(canvas, paged)
        for number, value in enumerate(values):
            # Its text may be all that remains of a record, and can still be found by its words.
            writer.record(value.line if isinstance(value, BadLine) else value, f"$[{number}]", 1)
    metadata: dict[str, Any] = found.metadata | {"records": len(values)}
    damage = {"bad_lines": bad, "read_as": f"JSON lines, {bad} of them as text; they are not JSON"} if bad else {}
    return canvas.parsed("", metadata | damage)


class BadLine:
    """A line that is not JSON, kept in place of its value."""

    def __init__(self, line: str) -> None:
        self.line = line


class DamagedRest(NamedTuple):
    """The text after the first damage in a document, and what is damaged; both empty for an intact document."""

    text: str = ""
    why: str = ""


def _load(text: str) -> tuple[Any, DamagedRest]:
    """Return the value of a text, and the rest after the first damage."""
    try:
        return _loads(text), DamagedRest()
    except json.JSONDecodeError:
        # Comments and trailing commas are removed only if the file is not valid JSON, so that most files are read once.
        bare = _COMMENT.sub(lambda match: match[1] or " ", text)
        bare = _LAST_COMMA.sub(lambda match: match[1] or "", bare)
        try:
            return _loads(bare), DamagedRest()
        except json.JSONDecodeError as error:
            values = one_after_another(bare)
            return _readable(bare, error) if values is None else (values, DamagedRest())


def _loads(text: str) -> Any:
    # Half a surrogate pair is not a character: UTF-8 cannot encode it, and no table could store the text.
    return _DECODER.decode(_LONE.sub(lambda match: match[1] or r"\ufffd", text) if "\\u" in text else text)


def _readable(text: str, error: json.JSONDecodeError) -> tuple[Any, DamagedRest]:
    """Return the values before the damage, and the rest; raise Rejected `corrupt` if there are none.

    `error` gives the position of the damage. Brackets open there are closed; a damaged value belongs to the rest.
    """
    for end, closers in _ends(text, error.pos):
        try:
            value = _loads(text[:end] + closers)
        except ValueError:
            continue
        if value:
            what = error.msg.removesuffix(" starting at")  # the position follows elsewhere
            return value, DamagedRest(text[end:].strip(" \t\r\n,"), f"not JSON from line {error.lineno} on: {what}")
    raise Rejected("corrupt", f"not JSON: {error}")


def _ends(text: str, limit: int) -> list[tuple[int, str]]:
    """Return where a document may end before some damage, and which brackets to close there."""
    stack: list[str] = []
    safe = 0
    for match in _TOKEN.finditer(text, 0, limit):
        token = match[0]
        if token in _CLOSERS:
            stack.append(_CLOSERS[token])
            safe = match.end()
        elif token == ",":
            safe = match.start()
        elif token in "]}":
            if not stack or stack.pop() != token:
                break
            safe = match.end()
    closers = "".join(reversed(stack))
    return [(limit, closers), (safe, closers)]


def one_after_another(text: str) -> list[Any] | None:
    """Return objects and lists that follow each other, with or without commas; None if there is anything else."""
    values, at = [], len(text) - len(text.lstrip())
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except ValueError:
            return None
        if not isinstance(value, dict | list):
            return None
        values.append(value)
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
    return values


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a repeated key keeps both values."""
    made = dict(pairs)
    if len(made) < len(pairs):
        for number, (key, value) in enumerate(pairs):
            if made[key] is not value:
                made[f"{key} ({number})"] = value
    return made


# Numbers are kept as written: forty digits, or 1.10, would otherwise become a different text, which nobody would find.
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_object)


def _load_lines(text: str) -> tuple[list[Any], int]:
    values: list[Any] = []
    first = ""
    for number, line in enumerate(re.split(r"\r\n?|\n", text), 1):
        if line.strip():
            try:
                values.append(_loads(line))
            except ValueError as error:
                first = first or f"line {number}: {error}"
                values.append(BadLine(line.strip()))
    bad = sum(isinstance(value, BadLine) for value in values)
    # The last line of a file still being written is truncated, however short the file is.
    if bad > max(1, _MAX_BAD * len(values)) or 2 * bad > len(values):
        if whole := one_after_another(text):  # each value on several lines
            return whole, 0
        raise Rejected("corrupt", f"{bad} of {len(values)} lines are not JSON; {first}")
    return values, bad


def _title(value: Any) -> str:
    stated = value.get("title") if isinstance(value, dict) else None
    return stated if isinstance(stated, str) else ""


class ValueWriter:
    """Draws values on a canvas: small ones whole, large ones part by part below headings.

    `paged` says whether any of them contains a page with parts, which is never drawn as a line.
    """

    def __init__(self, canvas: Canvas, paged: bool = False) -> None:
        self.canvas = canvas
        self._paged = paged

    def value(self, value: Any, path: str, level: int) -> None:
        """Draw a value; its contents are records or are below headings of `level`."""
        if isinstance(value, PageValue):
            self.canvas.add(value.page, level, path=path)
        elif isinstance(value, dict) and level <= _MAX_LEVEL:
            self._object(value, path, level)
        elif isinstance(value, list) and level <= _MAX_LEVEL and any(isinstance(one, dict) for one in value):
            for number, one in enumerate(value):
                self.record(one, f"{path}[{number}]", level)
        else:
            self._lines(value, path)

    def record(self, value: Any, path: str, level: int) -> None:
        """Draw an item of a list: whole if small, otherwise below a heading with its name."""
        # Several records share a chunk as long as each is one element.
        lines = self._small_lines(value)
        if lines is not None:
            self.canvas.paragraph("\n".join(lines), kind="text", path=path)
        elif isinstance(value, dict) and level <= _MAX_LEVEL:
            self._large(value, path, level)
        elif isinstance(value, PageValue):
            self.canvas.add(value.page, level, path=path)
        else:
            self._lines(value, path)

    def _large(self, value: dict[str, Any], path: str, level: int) -> None:
        name = next((value[key] for key in _NAMES if isinstance(value.get(key), str) and value[key].strip()), "")
        if any(isinstance(one, dict | list | PageValue) for one in value.values()) and 0 < len(name) <= _MAX_NAME:
            # Only if there are parts below it: a heading for three lines would be a chunk of its own.
            self.canvas.heading(name, level)
            level += 1
        self._object(value, path, level)

    def _object(self, value: dict[str, Any], path: str, level: int) -> None:
        """Draw the small values of an object first, then its large ones, each below its key."""
        outermost = path == "$"
        large = {key for key, one in value.items() if self._is_large(one) or (outermost and _are_records(one))}
        self._lines({key: one for key, one in value.items() if key not in large}, path)
        for key, one in value.items():
            if key in large:
                self.canvas.heading(key, level)
                self.value(one, f"{path}.{key}", level + 1)

    def _small_lines(self, value: Any) -> list[str] | None:
        """Return the lines of a value, or None if they are too many to draw whole or contain a page with parts."""
        return None if self._paged and holds_structured(value) else _small_lines(value)

    def _is_large(self, value: Any) -> bool:
        return isinstance(value, dict | list | PageValue) and self._small_lines(value) is None

    def _lines(self, value: Any, path: str) -> None:
        lines: list[str] = []
        size = 0
        for line in flat_lines(value):
            if size > 2 * _SMALL:
                self.canvas.paragraph("\n".join(lines), kind="text", path=path)
                lines, size = [], 0
            lines.append(line)
            size += len(line)
        self.canvas.paragraph("\n".join(lines), kind="text", path=path)


def _are_records(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(one, dict) for one in value)


def _small_lines(value: Any) -> list[str] | None:
    """Return the lines of a value, or None if they are too many to draw whole."""
    lines: list[str] = []
    size = 0
    for line in flat_lines(value):
        lines.append(line)
        size += len(line)
        if size > _SMALL:
            return None
    return lines


def flat_lines(value: Any) -> Iterator[str]:
    """Yield `key: value` for every nested value, in order, without recursion."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while stack:
        names, one = stack.pop()
        if isinstance(one, str):
            yield _labelled(names, one)
        elif isinstance(one, dict) and one:
            stack += [((*names, key)[-_MAX_PATH:], inner) for key, inner in reversed(one.items())]
        elif isinstance(one, list) and any(isinstance(inner, dict | list) for inner in one):
            stack += [(_indexed(names, number), inner) for number, inner in reversed(list(enumerate(one)))]
        elif isinstance(one, list):
            yield from _list_lines(names, one)
        else:
            yield _labelled(names, _scalar(one))


def _indexed(names: tuple[str, ...], number: int) -> tuple[str, ...]:
    return (*names[:-1], f"{names[-1]}[{number}]") if names else ("",)


def _list_lines(names: tuple[str, ...], values: list[Any]) -> Iterator[str]:
    """Yield a list of plain values in lines of at most some hundred characters, each value whole."""
    texts = iter(map(_scalar, values))
    while run := list(islice(texts, _RUN)):
        joined = ", ".join(run)
        if len(joined) <= _LONG_LIST or len(run) == 1:
            yield _labelled(names, joined)
        else:
            yield from (_labelled(names, text) for text in run)
    if not values:
        yield _labelled(names, "")


def _labelled(names: tuple[str, ...], text: str) -> str:
    label = names[0] if len(names) == 1 else ".".join(filter(None, names))
    return f"{label}: {text}" if label else text


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value in ({}, []) else json.dumps(value)


class PageValue(str):
    """The words of a page as a string, with the page itself."""

    __slots__ = ("page",)
    page: Parsed

    def is_structured(self) -> bool:
        """Return whether the page is more than lines of text: it has headings, items, tables or code."""
        kinds = [element.kind for element in self.page.elements]
        return len(kinds) > 1 and any(kind != "paragraph" for kind in kinds)


def with_pages(value: Any) -> tuple[Any, bool]:
    """Return a JSON value with `PageValue`s for HTML and rich texts, and whether any of these has parts.

    Lists and objects are changed in place.
    """
    holder, parted = [value], False
    stack: list[Any] = [holder]
    while stack:
        around = stack.pop()
        for key, one in list(around.items() if isinstance(around, dict) else enumerate(around)):
            page = (page_in(one) if "<" in one else None) if isinstance(one, str) else _rich(one)
            if page is not None:
                around[key] = made = _page_value(page)
                parted = parted or made.is_structured()
            elif isinstance(one, dict | list):
                stack.append(one)
    return holder[0], parted


def holds_structured(value: Any) -> bool:
    """Return whether a JSON value is or contains a page with headings, items, tables or code."""
    stack: list[Any] = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, PageValue) and one.is_structured():
            return True
        if isinstance(one, dict | list):
            stack += one.values() if isinstance(one, dict) else one
    return False


def _rich(value: Any) -> Parsed | None:
    node = document_in(value) if isinstance(value, dict | list) else None
    if node is None:
        return None
    canvas = Canvas()
    draw_document(canvas, node)
    drawn = canvas.parsed()
    return drawn if drawn.text.strip() else None


def _page_value(page: Parsed) -> PageValue:
    words = PageValue(page.text)
    words.page = page
    return words
