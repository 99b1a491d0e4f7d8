"""Failpoints: named points before and after each effect on the disk, where tests can end or fail a run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

watch: Callable[[str], None] | None = None
"""Called with "before NAME" and "after NAME" at every boundary; None outside tests."""


@contextmanager
def boundary(name: str) -> Iterator[None]:
    """Mark the block as one effect on the disk."""
    if watch is not None:
        watch(f"before {name}")
    yield
    if watch is not None:
        watch(f"after {name}")
