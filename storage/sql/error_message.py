"""Error message: report what is wrong with a statement and where, with a hint at what would be right.

DuckDB gives the place as an offset in bytes in the statement that it ran; the message shows the place in the statement
that the user gave.
"""

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from docmill.storage.sql.column_descriptions import TABLES

_BEFORE, _AFTER = 60, 30
"""Characters of a line that are shown before and after a place: together they fit on a terminal of 100 columns."""
_NAMED = {"start": "start_char", "end": "end_char"}
"""Reserved words that were columns of older stores, and the current names of these columns."""
_COMPARED = r"(?:=|<|>|!=|<>|\b(?:I?LIKE|IN|THEN|ELSE)\b)"
_BARE_TEXT = re.compile(rf"{_COMPARED}\s*\(?\s*(?:[\w./-]+\s+|[\w./-]*)$", re.IGNORECASE)
"""Matches at the end of a text a comparison that is followed by words without quotes, or by nothing."""
_IN_QUOTES = "put text in single quotes: 'like this'; double quotes are for names of columns"
_LIST = re.compile(r"destination type \S+\[\]")
_OF_LIST = "a list is asked by list_contains(tags, 'one of them')"
_MISSED = re.compile(r'(?:column|column named) "(\w+)"')
_LOOSE_ARROW = "'json_extract(VARCHAR, BOOLEAN)'"
_NO_KEY = re.compile(
    r"Cannot extract field '(?P<field>[^']+)' from expression \"declared\""
    r'|Could not find key "(?P<key>[^"]+)" in struct(?:\W+Candidate Entries: (?P<others>.+))?'
)
"""DuckDB's errors about `metadata.KEY` if no key, or only other keys, are declared."""


@dataclass(frozen=True, slots=True)
class AskedStatement:
    """A statement as the user gave it, and where it begins in the one that DuckDB ran, in characters."""

    given: str
    ran: str
    start: int


def message_of(error: Exception, source: AskedStatement, reserved: frozenset[str]) -> str:
    """Return the error message, with the line and a caret under the place if it is known, and a hint if there is one.

    The first line says what is wrong. `reserved` are the reserved words of SQL, in lower case.
    """
    kind, said = _parts(error)
    message = str(said["exception_message"])
    head = _in_own_words(message, source.given) or re.sub(r"!?\n", "; ", f"{kind}: {message}".strip())
    place = _place(said, source)
    if place is None:
        return head
    hint = _hint(said, source.given, place, reserved)
    return "\n".join(
        [head + (f"; {hint}" if hint else ""), *_excerpt(source.given, place, _length(said, place, source))]
    )


def first_line(error: Exception) -> str:
    """Return the error message without the place."""
    kind, said = _parts(error)
    return f"{kind}: {said['exception_message']}".split("\n")[0]


def _parts(error: Exception) -> tuple[str, dict[str, Any]]:
    """Return the kind of an error, and its details from `errors_as_json`, which at least include the message."""
    kind, _, rest = str(error).partition(": ")
    try:
        said = json.loads(rest)
    except json.JSONDecodeError:
        said = None
    return kind, said if isinstance(said, dict) else {"exception_message": re.sub(r"\n{2,}", "\n", rest)}


def _place(said: dict[str, Any], source: AskedStatement) -> int | None:
    """Return the place of an error in the given statement, in characters, or None if it is outside of it."""
    if "position" not in said:
        return None
    before = source.ran.encode()[: int(said["position"])].decode("utf-8", "ignore")
    place = len(before) - source.start
    return place if 0 <= place <= len(source.given) else None


def _length(said: dict[str, Any], place: int, source: AskedStatement) -> int:
    """Return the length of the wrong part in characters, at least one; `location` has it in bytes."""
    count = int(json.loads(said.get("location", "[0, 1]"))[1])
    return max(1, len(source.given[place:].encode()[:count].decode("utf-8", "ignore")))


def _hint(said: dict[str, Any], given: str, place: int, reserved: frozenset[str]) -> str:
    kind, message = said.get("error_subtype"), said["exception_message"]
    before, rest = given[:place], given[place:]
    if message.startswith("unterminated string"):
        return "a single quote within a text is doubled: 'it''s'"
    if _LIST.search(message):
        return _OF_LIST
    if kind == "COLUMN_NOT_FOUND" or message.startswith("Referenced table"):
        return _IN_QUOTES if rest.startswith('"') or _BARE_TEXT.search(before) else _elsewhere(message)
    if kind != "SYNTAX_ERROR":
        return _elsewhere(message)
    word = _word_at_fault(before, rest, reserved)
    if word in reserved:
        return _reserved_hint(word)
    return _IN_QUOTES if _BARE_TEXT.search(before) else ""


def _in_own_words(message: str, given: str) -> str:
    """Return docmill's own message for an undeclared key of [metadata] or a misread `->`; "" for other errors."""
    if _LOOSE_ARROW in message:
        return "-> binds less than a comparison; write metadata->>'$.front_matter.KEY' = …, or put it in parentheses"
    found = _NO_KEY.search(message)
    key = (found["key"] or found["field"]) if found else ""
    if not found or not re.search(rf'\b(?:metadata|declared)\."?{re.escape(key)}\b', given):
        return ""
    others = f", but {found['others']}" if found["others"] else ""
    return f"[metadata] declares no key {key!r}{others}; what files state is in metadata->>'$.front_matter.{key}'"


def _elsewhere(message: str) -> str:
    """Return a hint naming the table that has a missing column, and how to join it; "" if none has it."""
    missed = _MISSED.search(message)
    table = next((name for name, (_, columns) in TABLES.items() if missed and missed[1] in columns), "")
    joined = "; add: JOIN {} USING (document_id)" if "document_id" in TABLES.get(table, ("", ()))[1] else ""
    return f"{table} has a column {missed[1]}{joined.format(table)}" if missed and table else ""


def _word_at_fault(before: str, rest: str, reserved: frozenset[str]) -> str:
    """Return the word that caused a syntax error; for `SELECT group FROM`, DuckDB names FROM instead of group."""
    words = [
        (re.search(pattern, text) or [""])[0].lower() for pattern, text in ((r"\w+(?=\s*$)", before), (r"^\w+", rest))
    ]
    return words[0] if words[1] == "from" and words[0] in reserved else words[1]


def _reserved_hint(word: str) -> str:
    column = f"; the column is {_NAMED[word]}" if word in _NAMED else ""
    return f'{word} is a reserved word of SQL; put it in double quotes to use it as a name: "{word}"{column}'


def _excerpt(given: str, place: int, length: int) -> list[str]:
    """Return the line of a place, and below it a line with carets under the wrong part."""
    number = given.count("\n", 0, place) + 1
    first = given.rfind("\n", 0, place) + 1
    line = given[first:].split("\n", 1)[0]
    column = place - first
    begin, end = max(0, column - _BEFORE), column + max(length, _AFTER)
    head = f"LINE {number}: {'…' if begin else ''}"
    shown = head + _printable(line[begin:end]) + ("…" if end < len(line) else "")
    indent = " " * (len(head) + _width(line[begin:column]))
    return [shown, indent + "^" * max(1, _width(line[column : column + length]))]


def _printable(text: str) -> str:
    """Return a text with unprintable characters replaced one by one, so that carets stay in place."""
    return "".join(" " if c.isspace() else "?" if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in text)


def _width(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)
