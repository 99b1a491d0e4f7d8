"""Watch beside: keep a store up to date in a separate process while this one serves it."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from docmill.flows.config.settings import Settings
from docmill.flows.prefect.scheduled_runs import variables_of

_END_S = 10.0
"""Seconds for a watch to end after the signal to end; it needs less than two."""


@contextmanager
def watch_beside(settings: Settings, tell: Callable[[str], None]) -> Iterator[None]:
    """Run `docmill watch` with these settings during the block, in a process that ends with this one.

    If the watch ends by itself, such as for a source that does not exist, `tell` is called, and serving continues.
    """
    command = [*_program(sys.orig_argv), "watch", "--parent", str(os.getpid())]
    # The output of a watch is for the user, and standard output may carry a protocol.
    process = subprocess.Popen(
        command, env=os.environ | variables_of(settings), stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno()
    )
    ended = threading.Event()

    def wait() -> None:
        status = process.wait()
        if not ended.is_set():
            tell(f"the watch has ended with exit status {status}; the server goes on")

    threading.Thread(target=wait, name="docmill-watch-beside", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()


def _program(argv: Sequence[str]) -> list[str]:
    """Return the command to start docmill like this process, up to the name of its command."""
    return [*argv[: argv.index("serve")]] if "serve" in argv else [sys.executable, "-m", "docmill.flows.cli.start"]
