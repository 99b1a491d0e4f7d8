"""Messages: what a worker sends to its parent process, which does not trust it.

A hostile document may have taken over the worker through its parser. So a message is plain JSON of the type that the
requested function returns, has a maximum size, and must arrive before a deadline.
"""

import os
import select
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from docmill.storage.errors import REASONS, Rejected
from docmill.tasks.work.pool.plain_json import Reader, Readers, Unreadable, decode, encode

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MAX_ANSWER = 400 << 20
"""Most bytes of an answer. The parent keeps them together with the decoded object, and has no memory limit itself."""
_ENVELOPE = 1 << 10  # bytes: more than an answer's wrapping takes
_LENGTH = struct.Struct("!Q")
_AT_ONCE = 256 << 10  # bytes: a little more than a pipe holds


@dataclass(frozen=True, slots=True)
class Note:
    """What a worker reports before it has an answer: the parser that it is about to call."""

    parser: str


def note(parser: str) -> bytes:
    """Return the message that a parser is about to be called."""
    return encode(("note", [parser]))


def refusal(why: Rejected) -> bytes:
    """Return the message that a document cannot be used."""
    return encode(("rejected", [why.reason, why.message, why.parser]))


def answer(value: object) -> bytes:
    """Return the message with a function's result; raise `Rejected` if it is too large."""
    message = encode(("answer", value))
    if len(message) > MAX_ANSWER:
        raise Rejected("too_large", f"{len(message)} bytes of text and elements, the limit is {MAX_ANSWER}")
    return message


@cache
def message_reader(function: Callable[..., Any]) -> Reader:
    """Return the reader of every message that a worker may send while it calls `function`."""
    hints = get_type_hints(function)
    if "return" not in hints:
        raise TypeError(f"{function.__qualname__} does not say what it returns")
    readers = Readers()
    kinds: dict[str, Reader] = {
        "note": readers.of(Note),
        "rejected": _rejected,
        "answer": readers.of(hints["return"]),
    }

    def read(data: Any) -> Any:
        if type(data) is not list or len(data) != 2 or data[0] not in ("note", "rejected", "answer"):
            raise Unreadable("it is no note, no answer and no reason")
        return kinds[data[0]](data[1])

    return read


_reason = Readers().of(tuple[str, str, str])
greeting = Readers().of(tuple[str, tuple[str]])
"""Reads the note by which a worker says that it is ready."""


def _rejected(data: Any) -> Rejected:
    why = Rejected(*_reason(data))
    if why.reason not in REASONS:
        raise Unreadable("a document is rejected for a reason that does not exist")
    return why


def send(pipe: "Connection", message: bytes) -> None:
    """Write a message to a pipe, its length first."""
    for part in (_LENGTH.pack(len(message)), message):
        left = memoryview(part)
        while left:
            left = left[os.write(pipe.fileno(), left) :]


def receive(pipe: "Connection", read: Reader, deadline: float) -> Any:
    """Return the content of the next message; `deadline` is on the monotonic clock.

    Raise `TimeoutError` if it is not complete by then, `EOFError` or `ConnectionError` at the end of the pipe, and
    `Unreadable` if it is too long or the reader refuses it.
    """
    (length,) = _LENGTH.unpack(_take(pipe, _LENGTH.size, deadline))
    # Checked before reading on: the worker may have sent any length.
    if length > MAX_ANSWER + _ENVELOPE:
        raise Unreadable(f"it has {length} bytes, the limit is {MAX_ANSWER}")
    return decode(_take(pipe, length, deadline), read)


def _take(pipe: "Connection", count: int, deadline: float) -> bytes:
    """Return the next `count` bytes of a pipe. Memory is allocated as they arrive, not as announced."""
    ready, parts = select.poll(), []
    ready.register(pipe.fileno(), select.POLLIN)
    while count:
        if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
        # Not `Connection.recv`, which would wait for ever for a message that is announced but never sent.
        part = os.read(pipe.fileno(), min(count, _AT_ONCE))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
