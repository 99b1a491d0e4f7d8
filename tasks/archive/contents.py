"""Contents: the members of a container, as a listing returns them, and why members were not unpacked."""

import json
from dataclasses import dataclass
from pathlib import Path

from docmill.storage.errors import Rejected

LISTING_VERSION = 5  # raise it when the members found in a container, or their names, change

Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ContainedFile:
    """A file in a container, at any depth.

    `place` has the indexes of the containers that lead to it, then its own. `name` is its path, `parent` that of the
    innermost container, empty for the outermost. `reason` says why it cannot be used. A `skipped` file is reported, but
    could not be a document: for example a link, or a file that another one replaces.
    """

    place: Place
    name: str
    parent: str = ""
    size: int = 0
    content_hash: str = ""
    reason: str = ""
    message: str = ""
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a file. `kind` is as in `Opened`, or "" if the file contains no others."""

    kind: str
    entries: tuple[ContainedFile, ...] = ()
    reason: str = ""
    message: str = ""


def unlisted(kind: str, why: Rejected) -> Contents:
    """Return the contents of a document whose attachments cannot be listed."""
    return Contents(kind, (ContainedFile((0,), "attachments", "", 0, "", why.reason, why.message, skipped=True),))


DONE = "done.json"
"""The file that marks the end of an unpacking: an empty list, or the reason and message of a failure."""


def why_missing(member: Path) -> Rejected:
    """Return why a member was not unpacked."""
    try:
        reason, message = json.loads((member.parent / DONE).read_bytes())
    except (OSError, ValueError):
        return Rejected("unreadable", "its archive changed while it was read")
    return Rejected(reason, message)
