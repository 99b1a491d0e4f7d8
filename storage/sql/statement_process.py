"""Statement process: the inside of a process that runs one statement after another until its pipe closes."""

import io
import json
import resource
import signal
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from docmill.storage.errors import QueryError, StoreError
from docmill.storage.process.child_process import die_with, lower
from docmill.storage.process.malloc_tuning import give_back
from docmill.storage.process.no_network import refuse_network
from docmill.storage.sql.sandbox import KeptConnections, answered, load
from docmill.storage.sql.statement import (
    END,
    FAILED,
    HEAD,
    READY,
    ROWS,
    TABLE,
    TAKEN,
    SqlLimits,
    Statement,
    decode,
    frame,
    too_large,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_SPARE_MEMORY = 512 << 20
"""Bytes of address space above DuckDB's own limit, which it keeps for its data only. Statements at their limit were
seen 80 MB above it, and the allocator reserves up to 256 MB that nothing fills."""
_SPARE_S = 5.0
"""Seconds above the limit after which the process ends itself: the parent, which says why, comes first."""
_AT_ONCE = 1 << 20  # bytes of a result in one frame


def serve(arguments: list[str]) -> None:
    """Answer statements on an inherited socket; `arguments` are its number and the number of the parent process."""
    fd, parent = map(int, arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it and decides
    die_with(parent)
    refuse_network()
    # Before the limits: the libraries take address space that is not the statement's.
    rest, kept = load(), KeptConnections()
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_FSIZE, 0)  # no statement writes a file
    with socket.socket(fileno=fd) as pipe, pipe.makefile("rb") as source:
        pipe.sendall(frame(READY))
        while asked := _next(source):
            _limit(asked[0].limits, rest)
            pipe.sendall(frame(TAKEN))
            pipe.sendall(_answer(pipe, *asked, kept))
            # An alarm that is left would end the process while it waits for the next statement.
            signal.setitimer(signal.ITIMER_REAL, 0)
            # The process waits for minutes, perhaps; what one large statement took is not its to keep.
            give_back()


def _next(source: BinaryIO) -> tuple[Statement, dict[str, pa.Table]] | None:
    """Return the next statement and the tables that come with it, or None at the end."""
    if not (asked := _read_frame(source)):
        return None
    statement, extra = decode(asked), {}
    while table := _read_frame(source):
        with pa.ipc.open_stream(table) as stream:
            extra[stream.schema.metadata[TABLE].decode()] = stream.read_all().replace_schema_metadata()
    return statement, extra


def _read_frame(source: BinaryIO) -> bytes:
    """Return what the next frame holds; b"" for a frame without bytes, which ends a statement, and at the end."""
    head = source.read(HEAD.size)
    return source.read(HEAD.unpack(head)[1]) if len(head) == HEAD.size else b""


def _limit(limits: SqlLimits, rest: int | None) -> None:
    """Bind this process to the limits of a statement."""
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _SPARE_S)  # unhandled, its signal ends the process
    if rest is not None:
        lower(resource.RLIMIT_AS, rest + (limits.memory_mb << 20) + _SPARE_MEMORY)


def _answer(pipe: socket.socket, statement: Statement, extra: dict[str, pa.Table], kept: KeptConnections) -> bytes:
    """Send the rows of a statement; return the last frame, which says whether they are whole."""
    try:
        with answered(statement, extra, kept) as rows:
            _send(pipe, *rows)
        return frame(END)
    except StoreError as error:
        return _failed("StoreError", str(error))
    except QueryError as error:
        return _failed("QueryError", str(error))
    except MemoryError:
        return _failed("QueryError", too_large(statement.limits))


def _send(pipe: socket.socket, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    with io.BufferedWriter(_FrameWriter(pipe), _AT_ONCE) as sink, pa.ipc.new_stream(sink, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)


def _failed(kind: str, message: str) -> bytes:
    return frame(FAILED, json.dumps([kind, message]).encode())


class _FrameWriter(io.RawIOBase):
    """A file whose bytes go into frames."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = pipe

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        view = memoryview(data)
        self._pipe.sendall(HEAD.pack(ROWS, view.nbytes))
        self._pipe.sendall(view)
        return view.nbytes
