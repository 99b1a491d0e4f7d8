"""The inside of a worker process: limits first, then one document after another until the pipe closes."""

import gc
import logging
import os
import pickle
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing.connection import Connection

from docmill.storage.errors import Rejected
from docmill.storage.plugins.origin import described
from docmill.storage.process.child_process import address_space, die_with, lower
from docmill.storage.process.no_network import refuse_network
from docmill.tasks.work.pool.memory_release import release
from docmill.tasks.work.pool.messages import answer, note, refusal, send

_MEGABYTE = 1 << 20  # bytes
_MAX_FILE = 2 << 30
"""Bytes of any file that a worker writes, so that a bomb does not fill the disk before its time is over."""
_SPARE_CPU_S = 5
"""Seconds of processor time beyond the limit: the parent, which watches the clock and says why, comes first."""


_notes: list[Connection] = []


def announce(parser: str) -> None:
    """Tell the parent process which parser is called next; outside of a worker this does nothing."""
    for pipe in _notes:
        send(pipe, note(parser))


def serve(arguments: list[str]) -> None:
    """Answer requests on an inherited pipe.

    `arguments` are its number, the parent's pid, megabytes and seconds; if there are more, a module with a function
    `warm_up` to call before the first request, and what to call it with.
    """
    fd, parent, memory_mb, timeout_s = map(int, arguments[:4])
    # Ctrl-C reaches all processes of a terminal; the parent ends its workers itself, and says what is kept.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nobody would read the answer of an orphan, or end it.
    die_with(parent)
    refuse_network()  # a document must not call home
    logging.disable(logging.ERROR)  # libraries remark on documents; what matters is in the answer
    pipe = Connection(fd)
    send(pipe, note("ready"))
    _notes.append(pipe)
    if arguments[4:]:
        with suppress(Exception), _uncollected():  # what fails, the first answer names
            import_module(arguments[4]).warm_up(*arguments[5:])
    limited = False
    while True:
        try:
            request = pipe.recv_bytes()
        except (EOFError, ConnectionError):
            return
        if not limited:
            with suppress(Exception), _uncollected():  # which the answer names
                pickle.loads(request)  # import what the work needs, plugins too, before its memory is limited
            _limit_memory(memory_mb)
            limited = True
        _limit_time(timeout_s)
        send(pipe, _answer(request, memory_mb))
        release()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Do not look for garbage while modules load: they make many objects, all of which stay."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _answer(request: bytes, memory_mb: int) -> bytes:
    try:
        function, item = pickle.loads(request)
        return answer(function(item))
    except Rejected as why:
        return refusal(why)
    except MemoryError:
        return refusal(Rejected("memory", f"needs more than {memory_mb} MB"))
    # SystemExit among them: a parser's library must not end the worker.
    except BaseException as error:
        return refusal(Rejected("crashed", described(error)))


def _limit_memory(megabytes: int) -> None:
    """Limit the address space to what is taken now and `megabytes` more, and the size of any file written."""
    # A core of a crashed parser would hold the document, and fill the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lower(resource.RLIMIT_FSIZE, _MAX_FILE)
    if (taken := address_space()) is not None:
        lower(resource.RLIMIT_AS, taken + megabytes * _MEGABYTE)


def _limit_time(seconds: int) -> None:
    """End this process, or one that it starts, when a document takes all processors for all of its time.

    That is for when nobody is left to watch the clock.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    lower(resource.RLIMIT_CPU, int(spent + seconds * (os.cpu_count() or 1)) + _SPARE_CPU_S)
