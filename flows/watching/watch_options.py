"""Watch options: how long to wait for the end of a burst, and how often to poll sources without events."""

from dataclasses import dataclass

from docmill.storage.errors import ConfigError

DEBOUNCE_S = 0.1
"""Seconds without a change that end a burst. With more, every save takes longer to appear; with less, changes by git or
rsync are divided into several commits, which costs snapshots but loses nothing."""
POLL_S = 5.0
"""Seconds between two polls of a source without events. Each lists the whole source, and object stores charge for it.
"""
EVERY_S = 600.0
"""Maximum seconds between two runs, because the kernel drops events when its queue is full."""

LONGEST_PAUSE_S = 60.0
"""Maximum seconds between two tries of a failing run; each pause is twice the one before."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How long to wait, in seconds.

    `debounce_s` without a change end a burst, `poll_s` is the time between two polls of a source without events,
    `every_s` the maximum time between two runs, and `longest_pause_s` that between two tries of a failing run.
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
