"""Release: memory that one document took is given back to the system, not kept for the next.

glibc holds on to freed memory that stands between what is still in use: a worker that has read one large document
would stay as large as that for all the small ones that follow.
"""

import resource
from pathlib import Path

from docmill.storage.memory import give_back
from docmill.tasks.parse.decode import forget_statistics

_MODEST = 120 << 20
"""Bytes up to which nothing is given back: little more than the imports of a worker take: hardly anything is free."""
_LARGE = 140 << 20
"""Bytes above which the tables of encodings go as well; to read them again costs more than to give memory back."""
_STEP = 2 << 20
"""Bytes of growth between two releases: each takes time, and most documents leave nothing behind."""
_after = 0
"""Bytes that this process took after the last release; a worker is one process, so this belongs to it."""


def release() -> None:
    """Give back what is free, if this process takes more than 120 MB and has grown by 2 MB since it last did.

    Where it is still above 140 MB, the tables that tell encodings apart go too: they are seldom asked.
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
    """Return how many bytes of memory this process takes up; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
