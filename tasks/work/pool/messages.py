"""Messages: what a worker says to the process in charge, which takes it for the words of a stranger.

The parser of a hostile document may have taken the worker over. So a message is plain JSON, of the type that the
function which the worker was asked to call returns; it has so many bytes at most, and comes in time or not at all.
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
"""Bytes of an answer, which the parent holds besides the object made of it; its own memory has no limit."""
_ENVELOPE = 1 << 10  # bytes, more than what stands around an answer
_LENGTH = struct.Struct("!Q")
_AT_ONCE = 256 << 10  # bytes: a little more than a pipe holds


@dataclass(frozen=True, slots=True)
class Note:
    """What a worker says of the document at hand before it has an answer: the parser that it calls."""

    parser: str


def note(parser: str) -> bytes:
    """Return the message that a parser is called."""
    return encode(("note", [parser]))


def refusal(why: Rejected) -> bytes:
    """Return the message that a document cannot be used."""
    return encode(("rejected", [why.reason, why.message, why.parser]))


def answer(value: object) -> bytes:
    """Return the message with what a function has returned; raise `Rejected` where that is too large."""
    message = encode(("answer", value))
    if len(message) > MAX_ANSWER:
        raise Rejected("too_large", f"{len(message)} bytes of text and elements, the limit is {MAX_ANSWER}")
    return message


@cache
def message_reader(function: Callable[..., Any]) -> Reader:
    """Return the reader of all that a worker may say while it calls a function; that says what it returns."""
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
"""Reads the note of a worker that is ready."""


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
    """Return what the next message says; `deadline` is by the monotonic clock.

    Raises `TimeoutError` where it is not whole by then, `EOFError` or `ConnectionError` at the end of the pipe, and
    `Unreadable` where the reader does not take it, or it is too long.
    """
    (length,) = _LENGTH.unpack(_take(pipe, _LENGTH.size, deadline))
    # Before anything is read of it: the length is the worker's word.
    if length > MAX_ANSWER + _ENVELOPE:
        raise Unreadable(f"it has {length} bytes, the limit is {MAX_ANSWER}")
    return decode(_take(pipe, length, deadline), read)


def _take(pipe: "Connection", count: int, deadline: float) -> bytes:
    """Return the next bytes of a pipe; so many are taken in only as they come, not as they are announced."""
    ready, parts = select.poll(), []
    ready.register(pipe.fileno(), select.POLLIN)
    while count:
        if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
        # Not `Connection.recv`: it waits for ever for a message that is announced and never comes.
        part = os.read(pipe.fileno(), min(count, _AT_ONCE))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
