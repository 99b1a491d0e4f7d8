"""Laid members: the status of the archive members that were unpacked into a folder."""

import json
from pathlib import Path

from docmill.storage.errors import Rejected

DONE = "done.json"
"""The file that marks the end of an unpacking: an empty list, or the reason and message of its failure."""


def why_missing(member: Path) -> Rejected:
    """Return why a member was not unpacked."""
    try:
        reason, message = json.loads((member.parent / DONE).read_bytes())
    except (OSError, ValueError):
        return Rejected("unreadable", "its archive changed while it was read")
    return Rejected(reason, message)
