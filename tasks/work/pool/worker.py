"""What runs inside a worker process: set limits, then process one document after another until the pipe closes."""

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
"""Most bytes of any file that a worker writes, so that a zip bomb cannot fill the disk before the time limit."""
_SPARE_CPU_S = 5
"""Seconds of CPU time beyond the limit, so that the parent, which reports the timeout, acts first."""


_notes: list[Connection] = []


def announce(parser: str) -> None:
    """Report to the parent process which parser is called next; outside a worker this does nothing."""
    for pipe in _notes:
        send(pipe, note(parser))


def serve(arguments: list[str]) -> None:
    """Answer requests on an inherited pipe.

    `arguments` are its file descriptor, the parent's pid, megabytes and seconds. Any further ones are a module whose
    `warm_up` is called before the first request, and the arguments for it.
    """
    fd, parent, memory_mb, timeout_s = map(int, arguments[:4])
    # Ctrl-C reaches every process of the terminal; the parent stops its workers itself and reports what is kept.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nobody would read an orphan's answer or stop it.
    die_with(parent)
    refuse_network()  # a document must not call home
    logging.disable(logging.ERROR)  # libraries log remarks on documents; what matters is in the answer
    pipe = Connection(fd)
    send(pipe, note("ready"))
    _notes.append(pipe)
    if arguments[4:]:
        with suppress(Exception), _uncollected():  # the first answer reports what fails
            import_module(arguments[4]).warm_up(*arguments[5:])
    limited = False
    while True:
        try:
            request = pipe.recv_bytes()
        except (EOFError, ConnectionError):
            return
        if not limited:
            with suppress(Exception), _uncollected():  # the answer reports it
                pickle.loads(request)  # import what the work needs, plugins too, before its memory is limited
            _limit_memory(memory_mb)
            limited = True
        _limit_time(timeout_s)
        send(pipe, _answer(request, memory_mb))
        release()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Turn the garbage collector off while modules load: they create many objects, all of which stay."""
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
    # Includes SystemExit: a parser's library must not end the worker.
    except BaseException as error:
        return refusal(Rejected("crashed", described(error)))


def _limit_memory(megabytes: int) -> None:
    """Limit the address space to `megabytes` more than is in use now, and the size of any file written."""
    # A core dump of a crashed parser would contain the document, and fill the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lower(resource.RLIMIT_FSIZE, _MAX_FILE)
    if (taken := address_space()) is not None:
        lower(resource.RLIMIT_AS, taken + megabytes * _MEGABYTE)


def _limit_time(seconds: int) -> None:
    """Kill this process, or a child, if a document uses all CPUs for the whole of its time.

    This is for the case that no parent is left to watch the clock.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    lower(resource.RLIMIT_CPU, int(spent + seconds * (os.cpu_count() or 1)) + _SPARE_CPU_S)
