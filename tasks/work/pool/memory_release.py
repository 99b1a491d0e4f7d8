"""Memory release: give the memory that a document took back to the system.

glibc keeps freed memory that is between blocks still in use, so a worker that has read one large document would stay
that large for all small ones that follow.
"""

import resource
from pathlib import Path

from docmill.storage.process.malloc_tuning import give_back
from docmill.tasks.parse.decode import forget_statistics

_MODEST = 120 << 20
"""Bytes below which nothing is released: a worker's imports take little less, so hardly anything is free."""
_LARGE = 140 << 20
"""Bytes above which the encoding tables are freed as well; loading them again costs more than a release."""
_STEP = 2 << 20
"""Bytes of growth between two releases: a release takes time, and most documents leave nothing behind."""
_after = 0
"""Memory of this process after the last release; a worker is one process, so this is global."""


def release() -> None:
    """Release free memory if this process takes more than 120 MB and has grown by 2 MB since the last release.

    If it still takes more than 140 MB, the rarely used tables for detecting encodings are freed as well.
    """
    global _after
    if resident() <= max(_MODEST, _after + _STEP):
        return
    give_back()
    if resident() > _LARGE:
        forget_statistics()
        give_back()
    _after = resident()


def resident() -> int:
    """Return this process's resident memory in bytes; 0 if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
