"""JSON damage: what can be read of a document that is cut off, or damaged somewhere."""

import re
from collections.abc import Callable
from json import JSONDecodeError
from typing import Any, NamedTuple

from docmill.storage.errors import Rejected

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}


class DamagedRest(NamedTuple):
    """The text behind the first damage of a document, and what is damaged; both empty for a sound one."""

    text: str = ""
    why: str = ""


def readable(text: str, error: JSONDecodeError, loads: Callable[[str], Any]) -> tuple[Any, DamagedRest]:
    """Return the values before the damage, and the rest; raise Rejected `corrupt` if there are none.

    `error` says where the damage is. What was open there is closed; a value that is damaged itself belongs to the rest.
    """
    for end, closers in _ends(text, error.pos):
        try:
            value = loads(text[:end] + closers)
        except ValueError:
            continue
        if value:
            return value, DamagedRest(
                text[end:].strip(" \t\r\n,"), f"not JSON from line {error.lineno} on: {error.msg}"
            )
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
