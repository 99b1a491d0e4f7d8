"""Watch options: how long to wait for the end of a burst, and how often to look where no event tells."""

from dataclasses import dataclass

from docmill.storage.errors import ConfigError

DEBOUNCE_S = 0.1
"""Seconds without a change that end a burst. More delays every save; less cuts what git or rsync writes into several
commits, which costs snapshots and loses nothing."""
POLL_S = 5.0
"""Seconds between two looks at a source without events. Each look lists it all, and an object store bills listings."""
EVERY_S = 600.0
"""Seconds between two runs at most. Events get lost: the kernel drops them when its queue is full."""

LONGEST_PAUSE_S = 60.0
"""Seconds between two tries of a run that fails, at most; each pause is twice the one before."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How long to wait, in seconds.

    `debounce_s` without a change end a burst, `poll_s` lie between two looks at a source without events, `every_s`
    between two runs at most, and `longest_pause_s` between two tries of a run that fails.
    """

    debounce_s: float = DEBOUNCE_S
    poll_s: float = POLL_S
    every_s: float = EVERY_S
    longest_pause_s: float = LONGEST_PAUSE_S

    def __post_init__(self) -> None:
        if wrong := [f"--{name} must be above 0, got {value:g}" for name, value in self._named() if not value > 0]:
            raise ConfigError(*wrong)

    def _named(self) -> tuple[tuple[str, float], ...]:
        return ("debounce", self.debounce_s), ("poll", self.poll_s), ("every", self.every_s)
