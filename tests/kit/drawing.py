"""How many examples a property test draws: the same ones at every `make test`, more and others at `make soak`."""

import os
from typing import Any

from hypothesis import HealthCheck, settings

_TIMES = int(os.environ.get("SOAK") or 0)


def examples(count: int, **more: Any) -> settings:
    """Return the settings of a test of `count` examples, `SOAK` times as many of them where that is set.

    No test fails because the machine is busy: neither has an example a deadline, nor may drawing one be too slow.
    """
    checks = [HealthCheck.too_slow, *more.pop("suppress_health_check", ())]
    most = count * max(1, _TIMES)
    return settings(max_examples=most, derandomize=not _TIMES, deadline=None, suppress_health_check=checks, **more)
