"""Ends: how a worker process ended, in words, and the guard that ends it with all that it has started."""

import signal
import subprocess
from pathlib import Path

from docmill.storage.errors import Rejected


def guard(worker: int, folder: Path) -> "subprocess.Popen[bytes]":
    """Start the shell that outlives this process, however it ends, to end the worker's group and remove its folder.

    The kernel ends a worker with its parent, but not what the worker has started.
    """
    script = 'read -r _; kill -s KILL -- "-$1"; rm -rf -- "$2"'
    command = ["/bin/sh", "-c", script, "sh", str(worker), str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)


def death(status: int, parser: str) -> Rejected:
    """Return why a document has no answer whose worker has ended with an exit status."""
    if status == -signal.SIGXCPU:
        return Rejected("timeout", "took all processors for the whole of its time", parser)
    return Rejected("crashed", f"the parser's process died ({describe(status)})", parser)


def describe(status: int) -> str:
    """Return an exit status in words; a negative one is the number of a signal."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
