"""Chat repr: messages that a program printed as Python dicts: `{'role': 'user', 'content': 'Hello'}`.

Programs and notebooks print conversations so, a list or a dict a line, or all in one; the last is often cut off.
Nothing is evaluated but flat dicts of plain values, each matched whole beforehand.
"""

import ast
import re
from collections.abc import Sequence
from typing import Any

from docmill.tasks.parse.records.chat_json import is_chat

_STRING = r"(?:'(?:[^'\\\n]|\\.)*+'|\"(?:[^\"\\\n]|\\.)*+\")"
_VALUE = rf"(?:{_STRING}|None|True|False|-?\d[\d.]{{0,30}})"
_PAIR = rf"\s*+{_STRING}\s*+:\s*+{_VALUE}\s*+"
_DICT = re.compile(rf"\{{{_PAIR}(?:,{_PAIR}){{0,50}}+,?\s*+\}}")
_BEGIN = re.compile(r"\s*\[?\s*\{\s*(?:'|\"[^\"\n]{1,40}\"\s*:\s*')")
"""How such a text begins; JSON has double quotes around keys and values."""
_LARGEST = 20_000_000
"""Characters of a text to look through, as of JSON."""
_SEPARATORS = "[], \t\r\n"
_MOST_ELSE = 0.2
"""Share of the text that may be something else than dicts.

A file that was cut off ends in a piece of a long message; more is a program, or a log with dicts.
"""


def messages_in(text: str) -> list[Any]:
    """Return the messages of a text that consists of printed dicts, or nothing if it does not, or they are no chat.

    What stands between them and is none, such as the beginning of a message that was cut off, is a text of its own.
    """
    if len(text) > _LARGEST or not _BEGIN.match(text):
        return []
    found = list(_DICT.finditer(text))
    if sum(len(one.group()) for one in found) < (1 - _MOST_ELSE) * len(text.strip()):
        return []
    try:
        values = [ast.literal_eval(one.group()) for one in found]
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # an escape such as \x4, or a number such as 1.2.3
        return []
    return _with_rests(text, found, values) if is_chat(values) else []


def _with_rests(text: str, found: Sequence[re.Match[str]], values: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the values in their order, with what else the text holds between and after them."""
    starts, ends = [one.start() for one in found], [one.end() for one in found]
    rests = [text[end:start].strip(_SEPARATORS) for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
    return [one for pair in zip(rests, [*values, ""], strict=True) for one in pair if one]
