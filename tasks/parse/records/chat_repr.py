"""Chat repr: messages that a program printed as Python objects: `{'role': 'user', 'content': 'Hello'}`.

Programs and notebooks print conversations so, a list or a dict a line, or all in one, or in columns by `pprint`; some
print objects, `HumanMessage(content='Hello')`. The last is often cut off. Nothing is evaluated: each object is matched
whole, parsed, and read if it holds nothing but plain values.
"""

import ast
import re
from collections.abc import Sequence
from typing import Any

from docmill.tasks.parse.records.chat_json import is_chat

_STRING = r"(?:'(?:[^'\\\n]|\\.)*+'|\"(?:[^\"\\\n]|\\.)*+\")"
_ATOM = rf"{_STRING}(?:\s*+{_STRING})*+|(?:None|True|False)\b|-?\d[\d.]{{0,30}}"
_DEPTH = 4
"""Brackets within a message, such as `{'tool_calls': [{'function': {'name': 'f'}}]}`; an object of more is no message,
but its parts may be some."""
_MOST_PARTS = 200
"""Values in a bracket of a message. With more, a bracket is a whole conversation, whose messages are found one by one.
"""


def _nested(depth: int) -> str:
    """Return the pattern of a value with brackets of that depth; that they are in pairs is left to the parser."""
    return rf"{_ATOM}|(?:[A-Za-z_][\w.]{{0,60}}+)?+[\[({{]{_parts(depth - 1)}" if depth else _ATOM


def _parts(depth: int) -> str:
    key = rf"(?:(?:{_STRING}\s*+:|\w{{1,60}}+=)\s*+)?+"
    return rf"(?:\s*+{key}(?:{_nested(depth)})\s*+(?:,|(?=[\])}}]))){{0,{_MOST_PARTS}}}+\s*+[\])}}]"


_OBJECT = re.compile(rf"(?:[A-Z]\w{{0,60}}+(?=\())?+[({{]{_parts(_DEPTH)}")
_BEGIN = re.compile(
    r"\s*\[?\s*(?:\{\s*(?:'|\"[^\"\n]{1,40}\"\s*:\s*')|\(\s*['\"]|[A-Z]\w{0,60}\(\w{1,40}=)",
)
"""How such a text begins; JSON has double quotes around keys and values."""
_LARGEST = 20_000_000
"""Characters of a text to look through, as of JSON."""
_SEPARATORS = "[], \t\r\n"
_MOST_ELSE = 0.2
"""Share of the text that may be something else than objects. A file that was cut off ends in a piece of a long message;
more is a program, or a log with dicts."""
_PAIR = 2
"""Values of a message that is printed as `('user', 'Hello')`."""


def messages_in(text: str) -> list[Any]:
    """Return the messages of a text that consists of printed objects, or nothing if it does not, or they are no chat.

    What stands between them and is none, such as the beginning of a message that was cut off, is a text of its own.
    """
    if len(text) > _LARGEST or not _BEGIN.match(text):
        return []
    found = list(_OBJECT.finditer(text))
    if sum(len(one.group()) for one in found) < (1 - _MOST_ELSE) * len(text.strip()):
        return []
    try:
        values = [_message(_plain(ast.parse(one.group(), mode="eval").body)) for one in found]
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # an escape such as \x4, or a number such as 1.2.3
        return []
    return _with_rests(text, found, values) if is_chat(values) else []


def _plain(node: ast.expr) -> Any:
    """Return the value of a parsed object; raise ValueError for what is no plain value."""
    if isinstance(node, ast.Dict):
        keys = (_plain(key) for key in node.keys if key is not None)
        return dict(zip(keys, map(_plain, node.values), strict=True))
    if isinstance(node, ast.List | ast.Tuple):
        return list(map(_plain, node.elts))
    return _fields(node) if isinstance(node, ast.Call) else ast.literal_eval(node)


def _fields(call: ast.Call) -> dict[str, Any] | None:
    """Return the fields of a printed object; None of one without, such as a time."""
    if not call.keywords:
        return None
    name = ast.unparse(call.func).rpartition(".")[2]
    role = {"role": name.removesuffix("Message").lower()} if name.endswith("Message") else {}
    return role | {str(one.arg): _plain(one.value) for one in call.keywords}


def _message(value: Any) -> Any:
    """Return a message that is printed as a pair in the form of the others."""
    if isinstance(value, list) and len(value) == _PAIR and all(isinstance(one, str) for one in value):
        return {"role": value[0], "content": value[1]}
    return value


def _with_rests(text: str, found: Sequence[re.Match[str]], values: Sequence[Any]) -> list[Any]:
    """Return the values in their order, with what else the text holds between and after them."""
    starts, ends = [one.start() for one in found], [one.end() for one in found]
    rests = [text[end:start].strip(_SEPARATORS) for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
    return [one for pair in zip(rests, [*values, ""], strict=True) for one in pair if one]
