"""Limits: what a pool of worker processes may use."""

from dataclasses import dataclass

from docmill.storage.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Limits:
    """What a pool may use: worker processes, wall-clock seconds a document, megabytes a worker.

    The memory limit counts address space beyond what the worker's own imports take.
    """

    workers: int
    timeout_s: float = 120.0
    memory_mb: int = 2048
    recycle: int = 1000

    def __post_init__(self) -> None:
        for name in ("workers", "timeout_s", "memory_mb", "recycle"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be above 0, got {getattr(self, name)}")
