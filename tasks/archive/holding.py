"""Holding: what a file is found to hold when it is hashed: others within it, or the names of pictures beside it."""

from collections.abc import Sequence

from docmill.tasks.archive.kinds import HEAD_BYTES, may_hold
from docmill.tasks.parse.pictures.beside import PAGE_BYTES, may_show, names_in

_PICTURES = "pictures\n"


def head_bytes(name: str) -> int:
    """Return how many of a file's first bytes `held_by` looks at."""
    return PAGE_BYTES if may_show(name) else HEAD_BYTES


def held_by(name: str, head: bytes) -> str:
    """Return the kind of container that a file may be, see `may_hold`, or the pictures beside it that it shows."""
    kind = may_hold(name, head[:HEAD_BYTES])
    shown = () if kind else names_in(name, head)
    return _PICTURES + "\n".join(shown) if shown else kind


def pictures_held(holds: str) -> Sequence[str]:
    """Return the paths, relative to a page, of the pictures that it shows, given what it holds."""
    return holds.removeprefix(_PICTURES).split("\n") if holds.startswith(_PICTURES) else ()
