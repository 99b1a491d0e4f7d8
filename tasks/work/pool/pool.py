"""A pool of worker processes: a document that hangs, exhausts memory or kills its parser fails alone.

Each worker is a fresh interpreter with its own pipe and one thread here that waits for it, so
a worker can die at any moment without harm to the others. Worker processes are replaced after
`recycle` documents, after a timeout and after running out of memory.

A guard kills a worker process together with every process that it has started.
"""

import atexit
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self, TypeVar

from docmill.storage.errors import Rejected, Transient
from docmill.storage.process.child_process import PYTHON, try_twice
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.messages import Note, greeting, message_reader, receive
from docmill.tasks.work.pool.plain_json import Reader, Unreadable
from docmill.tasks.work.pool.temporary_folder import make_folder, sweep_folders

A = TypeVar("A")
B = TypeVar("B")

_START_TIMEOUT_S = 120.0
"""Seconds a worker has to report that it is ready; it only starts Python, so even on a busy machine later is a hang."""
_LIGHT_ITEMS = 64
"""Light items that are left to a single worker; if more are waiting, several calls have queued up enough work."""
_SMALL_REQUEST = 32 << 10  # fits into the kernel's pipe buffer, so sending does not block
_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    " from docmill.tasks.work.pool.worker import serve; serve(sys.argv[2:])"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    function: Callable[[Any], Any]
    item: Any
    read: Reader
    future: "Future[Any]"


class Pool:
    """Worker processes that start when there is work; a context manager that many threads can use."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._queue: SimpleQueue[_Task | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._workers: set[_Worker] = set()
        self._idle = 0
        self._closed = False
        # A killed process could not remove the folders of its workers.
        sweep_folders()

    def map(self, function: Callable[[A], B], items: Sequence[A], light: bool = False) -> Iterator[B | Rejected]:
        """Return `function(item)` of each item in order, or the reason why there is no result.

        `function` must be importable by name, items must be picklable, and the annotated return type must have a form
        in plain JSON. If the worker dies, runs out of memory or time, raises, or answers with another type, the item
        gives a Rejected (`crashed`, `memory`, `timeout`). `light` says that one worker finishes all items sooner than
        another one could start. Raise Transient if worker processes cannot be started at all.
        """
        read = message_reader(function)
        tasks = [_Task(function, item, read, Future()) for item in items]
        for task in tasks:
            self._submit(task, light)
        return _results(tasks)

    def start_ahead(self, module: str, *told: str) -> None:
        """Start the first worker before there is work; meanwhile it calls `module.warm_up(*told)`."""
        with self._lock:
            if not self._closed and not self._threads:
                self._idle += 1  # it soon will be idle, so tasks that come meanwhile need not start another one
                self._begin(self._supervise_ahead, module, *told)

    def close(self) -> None:
        """Kill the workers, and cancel the tasks that are not done."""
        with self._lock:
            self._closed = True
            workers, threads = list(self._workers), list(self._threads)
        with suppress(Empty):
            # Empty the queue first, so that no thread takes another task; then one None for each thread ends it.
            while (task := self._queue.get_nowait()) is not None:
                task.future.cancel()
        for _ in threads:
            self._queue.put(None)
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, task: _Task, light: bool) -> None:
        with self._lock:
            if self._closed:
                raise Transient("the pool of workers is closed")
            self._queue.put(task)
            # A worker takes time to start, and memory: a few documents do not need all workers.
            waiting = self._queue.qsize()
            enough = self._idle >= waiting or (light and self._threads and waiting <= _LIGHT_ITEMS)
            if len(self._threads) < self.limits.workers and not enough:
                self._begin(self._supervise)

    def _begin(self, supervise: Callable[..., None], *arguments: Any) -> None:
        """Start a thread that owns a worker; the caller holds the lock."""
        thread = threading.Thread(target=supervise, args=arguments, name="docmill-worker", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _supervise_ahead(self, *warm_up: str) -> None:
        """Own a worker that starts before there is work."""
        worker: _Worker | None = None
        with suppress(Exception):  # the first task tries again, and reports why no worker starts
            worker = self._start(warm_up)
        with self._lock:
            self._idle -= 1
        self._supervise(worker)

    def _supervise(self, worker: "_Worker | None" = None) -> None:
        """Own one worker process, and start a new one whenever it must be replaced.

        The kernel ends the process when the thread that started it ends, so this thread must outlive it.
        """
        while (task := self._take()) is not None:
            ahead = deque([task])
            while ahead:
                worker = self._answer(worker, ahead)
        if worker is not None:
            self._retire(worker)

    def _answer(self, worker: "_Worker | None", ahead: "deque[_Task]") -> "_Worker | None":
        """Settle the first task; return the worker, or None if it must not get another task."""
        task = ahead[0]
        try:
            worker = worker or try_twice(self._start)
            worker.give(task)
            self._look_ahead(worker, ahead)
            result = worker.answer(self.limits)
            if self._closed:
                # `close` killed the worker; the document is not to blame.
                raise Transient("the pool of workers was closed")
            task.future.set_result(result)
        except BaseException as error:
            task.future.set_exception(error)
        ahead.popleft()
        if worker is not None and worker.spent(self.limits):
            self._retire(worker)  # a task that it was given ahead goes to the next worker
            return None
        return worker

    def _look_ahead(self, worker: "_Worker", ahead: "deque[_Task]") -> None:
        """Send the worker its next task ahead, so that it need not wait for this process; not if few tasks are left."""
        if len(ahead) == 1 and self._queue.qsize() > 2 * self.limits.workers and not worker.last(self.limits):
            with suppress(Empty):
                if (task := self._queue.get_nowait()) is None:
                    self._queue.put(None)  # this ends the thread itself, once the task in progress is done
                elif task.future.set_running_or_notify_cancel():
                    ahead.append(task)
                    worker.give(task, only_small=True)

    def _take(self) -> _Task | None:
        """Wait for a task that is not cancelled, or for None, the end."""
        while True:
            with self._lock:
                self._idle += 1
            task = self._queue.get()
            with self._lock:
                self._idle -= 1
            if task is None or task.future.set_running_or_notify_cancel():
                return task

    def _start(self, warm_up: Sequence[str] = ()) -> "_Worker":
        worker = _Worker(self.limits, warm_up)
        with self._lock:
            self._workers.add(worker)
            # `close` may have listed the workers before this one was added.
            closed = self._closed
        if closed:
            worker.stop()
        try:
            worker.wait_until_ready()
        except Transient:
            self._forget(worker)
            raise
        return worker

    def _retire(self, worker: "_Worker") -> None:
        worker.stop()
        self._forget(worker)

    def _forget(self, worker: "_Worker") -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.close()


class _Worker:
    """A worker process, the pipe to it, its folder for temporary files, and the guard of both."""

    def __init__(self, limits: Limits, warm_up: Sequence[str]) -> None:
        from multiprocessing.connection import Pipe

        self._pipe, theirs = Pipe()
        self._folder = make_folder()
        numbers = (theirs.fileno(), os.getpid(), limits.memory_mb, math.ceil(limits.timeout_s))
        self._process = subprocess.Popen(
            [*PYTHON, "-P", "-c", _BOOT, json.dumps(sys.path), *map(str, numbers), *warm_up],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"TMPDIR": str(self._folder.path)},
        )
        theirs.close()
        self._guard = guard(self._process.pid, self._folder.path)
        self._given: deque[_Task] = deque()
        self._done = 0
        self._spent = False

    def wait_until_ready(self) -> None:
        """Return once the process is waiting for work; raise Transient if it does not start."""
        with suppress(EOFError, ConnectionError, TimeoutError):
            receive(self._pipe, greeting, time.monotonic() + _START_TIMEOUT_S)
            return
        self.stop()
        raise Transient(f"a worker process did not start ({describe(self._process.wait())})")

    def give(self, task: _Task, only_small: bool = False) -> None:
        """Send a task, unless it was sent before. Skip a large one if `only_small`: sending it would block."""
        if task in self._given:
            return
        request = pickle.dumps((task.function, task.item), pickle.HIGHEST_PROTOCOL)
        if not only_small or len(request) < _SMALL_REQUEST:
            self._given.append(task)
            with suppress(ConnectionError):  # a dead worker is noticed when its answer is read
                self._pipe.send_bytes(request)

    def answer(self, limits: Limits) -> Any:
        """Return the result of the first task given, or a Rejected that says why there is none."""
        self._done += 1
        self._spent = True
        task = self._given.popleft()
        deadline = time.monotonic() + limits.timeout_s
        # Notes name the parser at work, because a worker that dies cannot name it afterwards.
        result: Any = Note("")
        parser = ""
        try:
            while isinstance(result, Note):
                parser = result.parser
                result = receive(self._pipe, task.read, deadline)
        except TimeoutError:
            return Rejected("timeout", f"took more than {limits.timeout_s:g} seconds", parser)
        except (EOFError, ConnectionError):
            self.stop()
            return death(self._process.wait(), parser)
        except Unreadable as error:
            return Rejected("crashed", f"the parser's process gave no answer that could be read: {error}", parser)
        if not isinstance(result, Rejected):
            self._spent = False
            return result
        self._spent = result.reason == "memory"
        return Rejected(result.reason, result.message, result.parser or parser)

    def last(self, limits: Limits) -> bool:
        """Return whether the current task is the last one for this process."""
        return self._done + 1 >= limits.recycle

    def spent(self, limits: Limits) -> bool:
        """Return whether the process must not get another document."""
        return self._spent or self._done >= limits.recycle

    def stop(self) -> None:
        """Kill the process and every process that it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Clean up after the stopped process."""
        self._guard.kill()  # before waiting for the process: until then its pid cannot be reused
        self._guard.communicate()
        self._process.wait()
        self._pipe.close()
        self._folder.remove()


def _results(tasks: list[_Task]) -> Iterator[Any]:
    try:
        for task in tasks:
            yield task.future.result()
    finally:
        for task in tasks:
            task.future.cancel()


_shared: dict[Limits, Pool] = {}
_shared_lock = threading.Lock()


def shared_pool(limits: Limits) -> Pool:
    """Return this process's pool with these limits; it is closed when the process ends."""
    with _shared_lock:
        pool = _shared.get(limits)
        if pool is None:
            pool = _shared[limits] = Pool(limits)
            atexit.register(pool.close)
        return pool


def close_pools() -> None:
    """Close the shared pools of this process: kill their workers, and remove their folders."""
    for pool in list(_shared.values()):
        pool.close()


def guard(worker: int, folder: Path) -> "subprocess.Popen[bytes]":
    """Start a shell that, however this process ends, kills the worker's process group and removes its folder.

    The kernel kills a worker with its parent, but not the processes that the worker has started.
    """
    script = 'read -r _; kill -s KILL -- "-$1"; rm -rf -- "$2"'
    command = ["/bin/sh", "-c", script, "sh", str(worker), str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)


def death(status: int, parser: str) -> Rejected:
    """Return why a document has no answer, given the exit status of its worker."""
    if status == -signal.SIGXCPU:
        return Rejected("timeout", "took all processors for the whole of its time", parser)
    return Rejected("crashed", f"the parser's process died ({describe(status)})", parser)


def describe(status: int) -> str:
    """Return an exit status in words; a negative one is a signal number."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
