"""Process handle: one statement process, seen from its parent, with the socket to it."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from docmill.storage.errors import QueryError, StoreError, Transient
from docmill.storage.process.child_process import PYTHON
from docmill.storage.sql.statement import (
    ASKED,
    END,
    FAILED,
    HEAD,
    READY,
    TABLE,
    TAKEN,
    SqlLimits,
    Statement,
    frame,
    too_large,
    too_long,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from _typeshed import WriteableBuffer

_START_S = 120.0
"""Seconds that a process has to get ready, or to take a statement. If it needs longer, even on a busy machine, it
hangs."""
_GRACE_S = 0.5
"""Seconds that DuckDB has to stop by itself, so that the process can be kept for the next statement."""
_AT_ONCE = 1 << 20  # bytes read from the socket at once
_BOOT = (  # pandas, which Arrow would load, takes a third of the time of a start
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    " from docmill.storage.process.light_arrow import load_arrow_lightly; load_arrow_lightly();"
    " from docmill.storage.sql.statement_process import serve; serve(sys.argv[2:])"
)
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # Arrow's own pool reserves 1 GB of address space
    "MALLOC_ARENA_MAX": "4",  # each arena reserves 64 MB of address space; by default there are eight per processor
    "OPENBLAS_NUM_THREADS": "1",
}
_ERRORS = {"QueryError": QueryError, "StoreError": StoreError}


def encode(statement: Statement, extra: Mapping[str, "pa.Table"]) -> bytes:
    """Return the frames of a statement and of the tables that come with it."""
    parts = [frame(ASKED, statement.encode()), *(frame(TABLE, _stream(name, one)) for name, one in extra.items())]
    return b"".join([*parts, frame(END)])


def _stream(name: str, table: "pa.Table") -> bytes:
    import pyarrow as pa

    named = table.replace_schema_metadata({TABLE: name})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, named.schema) as stream:
        stream.write_table(named)
    data: bytes = sink.getvalue().to_pybytes()
    return data


class ProcessHandle:
    """A statement process. It starts immediately and is ready after a third of a second."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*PYTHON, "-P", "-c", _BOOT, json.dumps(sys.path), str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # so that Ctrl-C reaches only the parent
                env=os.environ | _ENVIRONMENT,
            )
        self._ready = False
        self.is_spent = False  # True if it did not finish the last statement, and so must not get another one
        self.used = time.monotonic()

    def takes(self, request: bytes) -> bool:
        """Return whether the process is alive and has accepted an encoded statement; `answer` then returns its rows.

        Raises `Transient` if the process does not start.
        """
        self._wait_until_ready()
        answer = _FrameReader(self._socket, time.monotonic() + _START_S)
        try:
            answer.send(request)
            answer.expect(TAKEN)
            # Until the last frame is read, the socket may still have rows, which the next statement must not get.
            self.is_spent = True
        except (EOFError, ConnectionError, TimeoutError):
            return False
        return True

    def answer(self, limits: SqlLimits) -> "pa.Table":
        """Return the rows of the statement that the process has accepted."""
        answer = _FrameReader(self._socket, time.monotonic() + limits.seconds + _GRACE_S)
        try:
            return _read_table(answer)
        except TimeoutError:
            raise QueryError(too_long(limits)) from None
        except (EOFError, ConnectionError):
            raise QueryError(_death(self.end(), limits)) from None
        finally:
            self.is_spent = not answer.whole
            self.used = time.monotonic()

    def _wait_until_ready(self) -> None:
        if self._ready:
            return
        try:
            _FrameReader(self._socket, time.monotonic() + _START_S).expect(READY)
        except (EOFError, ConnectionError, TimeoutError):
            raise Transient(f"a process for SQL did not start (exit status {self.end()})") from None
        self._ready = True

    def kill(self) -> None:
        """Kill the process, from any thread; a thread that waits for its answer gets an error."""
        self._process.kill()

    def end(self) -> int:
        """Kill the process; return its exit status, or minus the number of the signal that ended it."""
        self._socket.close()
        self._process.kill()
        return self._process.wait()

    def disown(self) -> None:
        """Leave the process to the parent that started it, after a fork."""
        self._socket.close()
        # So that nothing here waits for it, or warns that it is still running.
        self._process.returncode = 0


def _read_table(answer: "_FrameReader") -> "pa.Table":
    import pyarrow as pa

    with io.BufferedReader(answer, _AT_ONCE) as source, pa.ipc.open_stream(source) as stream:
        table = stream.read_all()
        source.read()  # up to the last frame, which says whether the rows are complete
    return table


def _death(status: int, limits: SqlLimits) -> str:
    if status == -signal.SIGALRM:
        return too_long(limits)
    cause = signal.Signals(-status).name if status < 0 else f"exit status {status}"
    return f"{too_large(limits)} (its process died: {cause})"


class _FrameReader(io.RawIOBase):
    """An answer's rows as a file; its last frame decides whether reading ends normally or raises an error."""

    def __init__(self, pipe: socket.socket, deadline: float) -> None:
        self._pipe = pipe
        self._deadline = deadline
        self._left = 0
        self.whole = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: "WriteableBuffer", /) -> int:
        if not self._left:
            self._next()
        count = self._fill(memoryview(target)[: self._left])
        self._left -= count
        return count

    def send(self, request: bytes) -> None:
        """Send frames to the process."""
        self._pipe.settimeout(self._remaining())
        self._pipe.sendall(request)

    def expect(self, kind: bytes) -> None:
        """Read an empty frame of one kind; raise `EOFError` for any other frame."""
        if self._head() != (kind, 0):
            raise EOFError

    def _next(self) -> None:
        """Read the head of the next frame; if it is an error, raise it."""
        if self.whole:
            return
        kind, self._left = self._head()
        self.whole = kind in (END, FAILED)
        if kind == FAILED:
            name, message = json.loads(self._take(self._left))
            self._left = 0
            raise _ERRORS[name](message)

    def _head(self) -> tuple[bytes, int]:
        kind, length = HEAD.unpack(self._take(HEAD.size))
        return kind, length

    def _take(self, count: int) -> bytes:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            view = view[self._fill(view) :]
        return bytes(data)

    def _fill(self, view: memoryview) -> int:
        """Fill the beginning of a view with received data, and return its length."""
        if not view:
            return 0
        self._pipe.settimeout(self._remaining())
        count = self._pipe.recv_into(view)
        if not count:
            raise EOFError
        return count

    def _remaining(self) -> float:
        """Return the seconds until the deadline, but more than 0, because 0 would mean not to wait at all."""
        return max(self._deadline - time.monotonic(), 0.001)
