"""Member names: a path that stays within the archive, or the reason why a name is rejected."""

import re

from docmill.storage.errors import Rejected
from docmill.storage.name_grammar import fault, steps

UNSAFE_PATH = "unsafe_path"
"""The reason for names that lead outside their archive, or that no file could have."""
_MAX_SHOWN = 200  # characters of a rejected name in a message: enough to find the member
_DRIVE = re.compile(r"[A-Za-z]:")  # only archives come from systems with drives, and with backslashes between folders
_COMPRESSED = re.compile(r"\.(?:gz|bz2|xz|lzma|zst|z)$", re.IGNORECASE)
_BUNDLED = re.compile(r"\.(?:tgz|tbz2?|txz|tzst)$", re.IGNORECASE)


def inner_path(name: str) -> str:
    """Return the path of a member within its archive, with forward slashes, and without empty parts and dots.

    Raise Rejected `unsafe_path` for a name that leads outside, or that no file could have.
    """
    path = name.replace("\\", "/")
    found = "an absolute path" if _DRIVE.match(path) else fault(path)
    if found:
        raise Rejected(UNSAFE_PATH, f"the archive names it {shown(name)!r}, {found}")
    return _as_unicode("/".join(steps(path)))


def shown(name: str) -> str:
    """Return a rejected name, short and on one line, as a label in a uri or a message."""
    return " ".join(_as_unicode(name.replace("\\", "/").replace("\0", "\\0")).split())[:_MAX_SHOWN]


def uncompressed(name: str) -> str:
    """Return the name of the file in a compressed file: `notes.txt` for `notes.txt.gz`."""
    base = name.rsplit("/", 1)[-1]
    return _COMPRESSED.sub("", _BUNDLED.sub(".tar", base)) or base


def _as_unicode(name: str) -> str:
    """Return a name as valid Unicode, with invalid bytes escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
