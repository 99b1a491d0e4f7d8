"""Statement process: the main loop of a process that runs one statement after another until its pipe closes."""

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
"""Bytes of address space beyond DuckDB's own limit, which only covers its data. Statements at their limit were seen to
use 80 MB more, and the allocator reserves up to 256 MB that it does not fill."""
_SPARE_S = 5.0
"""Seconds beyond the limit after which the process ends itself. By then, the parent has usually ended it and reported
why."""
_AT_ONCE = 1 << 20  # bytes of a result in one frame


def serve(arguments: list[str]) -> None:
    """Answer statements on an inherited socket; `arguments` are its number and the number of the parent process."""
    fd, parent = map(int, arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it and decides
    die_with(parent)
    refuse_network()
    # Before setting limits, because the address space of libraries does not count for the statement.
    rest, kept = load(), KeptConnections()
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_FSIZE, 0)  # no statement writes a file
    with socket.socket(fileno=fd) as pipe, pipe.makefile("rb") as source:
        pipe.sendall(frame(READY))
        while asked := _next(source):
            _limit(asked[0].limits, rest)
            pipe.sendall(frame(TAKEN))
            pipe.sendall(_answer(pipe, *asked, kept))
            # A remaining alarm would end the process while it waits for the next statement.
            signal.setitimer(signal.ITIMER_REAL, 0)
            # The process may wait for minutes, and should not keep the memory of a large statement.
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
    """Return the data of the next frame; b"" for an empty frame, which ends a statement, and at the end of input."""
    head = source.read(HEAD.size)
    return source.read(HEAD.unpack(head)[1]) if len(head) == HEAD.size else b""


def _limit(limits: SqlLimits, rest: int | None) -> None:
    """Apply the limits of a statement to this process."""
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _SPARE_S)  # its signal is not handled and ends the process
    if rest is not None:
        lower(resource.RLIMIT_AS, rest + (limits.memory_mb << 20) + _SPARE_MEMORY)


def _answer(pipe: socket.socket, statement: Statement, extra: dict[str, pa.Table], kept: KeptConnections) -> bytes:
    """Send the rows of a statement; return the last frame, which says whether they are complete."""
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
    """A file that writes its bytes as frames."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = pipe

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        view = memoryview(data)
        self._pipe.sendall(HEAD.pack(ROWS, view.nbytes))
        self._pipe.sendall(view)
        return view.nbytes
