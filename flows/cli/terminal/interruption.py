"""Interruption: end a run within two seconds of Ctrl-C or SIGTERM, and print what is kept of it.

A thread reads the signals, because the main thread may be in native code, where no handler runs.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from docmill.flows.cli.terminal.output import note
from docmill.flows.runs.phases import counted
from docmill.storage.process import shutdown

_COMMIT_S = 1.0
"""Seconds to wait for a commit that is nearly done. A longer one is cut off, which leaves the previous snapshot."""
_END_S = 1.5
"""Seconds for the commit, and then to end workers, remove folders and release a lease, which takes two requests. With
the final message, and on a busy machine, the end takes less than two seconds."""
_AT_ONCE_S = 0.2  # to clean up after a second signal
COMMITTED_IS_KEPT = "what was committed is kept; run the same command again to finish"
_WAITS = {signal.SIGINT: "press Ctrl-C again to end at once", signal.SIGTERM: "a second SIGTERM ends at once"}


@contextmanager
def interruptible(kept: Callable[[], str]) -> Iterator[None]:
    """End the process on SIGINT or SIGTERM during the block; `kept` returns what the next run continues from.

    The exit status is 128 plus the number of the signal. An ignored signal stays ignored.
    """
    mine = [number for number in _WAITS if signal.getsignal(number) != signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may take signals
        return
    receiving, sending = os.pipe()
    os.set_blocking(sending, False)
    before = {number: signal.signal(number, _ignore) for number in mine}
    earlier = signal.set_wakeup_fd(sending, warn_on_full_buffer=False)
    watch = _Watch(receiving, kept)
    watch.start()
    try:
        yield
    finally:
        if watch.begun.is_set():
            threading.Event().wait()  # until the watch ends the process
        signal.set_wakeup_fd(earlier)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(sending)  # which ends the watch


def _ignore(*_: object) -> None: ...


class _Watch(threading.Thread):
    """Reads the numbers of signals, and ends the process."""

    def __init__(self, receiving: int, kept: Callable[[], str]) -> None:
        super().__init__(name="docmill-signals", daemon=True)
        self.begun = threading.Event()
        self._receiving = receiving
        self._kept = kept

    def run(self) -> None:
        while data := os.read(self._receiving, 1):
            number = data[0]
            if number not in _WAITS:
                continue
            if self.begun.is_set():
                shutdown.tidy(_AT_ONCE_S)
                os._exit(128 + number)
            self.begun.set()
            threading.Thread(target=self._end, args=(signal.Signals(number),), daemon=True).start()
        os.close(self._receiving)

    def _end(self, number: signal.Signals) -> None:
        """End the process orderly."""
        try:
            note(f"stopping; {_WAITS[number]}")
            deadline = time.monotonic() + _END_S
            shutdown.begin(_COMMIT_S)
            shutdown.tidy(deadline - time.monotonic())
            note(f"stopped; {self._kept()}")
            sys.stderr.flush()
        finally:
            os._exit(128 + number)


def kept_of(store: Path) -> str:
    """Return a clause on what a store keeps of a stopped run."""
    from docmill.storage.snapshots.artifacts.staging import finished
    from docmill.storage.snapshots.history.snapshots import numbers

    documents, vectors = finished(store)
    snapshots = numbers(store)
    parts = [
        *([f"snapshot {snapshots[-1]}"] if snapshots else []),
        *([counted(documents, "parsed documents")] if documents else []),
        *([counted(vectors, "vectors")] if vectors else []),
    ]
    return f"kept: {', '.join(parts) or 'nothing yet'}; run the same command again to go on"
