"""How many examples a property test draws: the same ones at every `make test`, more and others at `make soak`."""

import os
from typing import Any

from hypothesis import settings

_TIMES = int(os.environ.get("SOAK") or 0)


def examples(count: int, **more: Any) -> settings:
    """Return the settings of a test of `count` examples, `SOAK` times as many of them where that is set."""
    return settings(max_examples=count * max(1, _TIMES), derandomize=not _TIMES, deadline=None, **more)
