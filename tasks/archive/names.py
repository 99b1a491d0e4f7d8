"""Names inside of an archive: a path that stays where it is, or the reason why it is none."""

import re

from docmill.storage.errors import Rejected

_MAX_CHARACTERS = 1_000
_MAX_SHOWN = 200
_DRIVE = re.compile(r"[A-Za-z]:")
_COMPRESSED = re.compile(r"\.(?:gz|bz2|xz|lzma|zst|z)$", re.IGNORECASE)
_BUNDLED = re.compile(r"\.(?:tgz|tbz2?|txz|tzst)$", re.IGNORECASE)


def inner_path(name: str) -> str:
    """Return the path of a member below its archive: forward slashes, no empty step and no dot.

    Raise Rejected `unsafe_path` for a name that leads elsewhere or that no file could have.
    """
    path = name.replace("\\", "/")
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if path.startswith("/") or _DRIVE.match(path):
        raise Rejected("unsafe_path", f"the archive names it {shown(name)!r}, an absolute path")
    if ".." in steps:
        raise Rejected("unsafe_path", f"the archive names it {shown(name)!r}, which leads out of the archive")
    if not steps or "\0" in path or len(path) > _MAX_CHARACTERS:
        raise Rejected("unsafe_path", f"the archive names it {shown(name)!r}, which is no path of a file")
    return _as_unicode("/".join(steps))


def shown(name: str) -> str:
    """Return a name that was refused, short and on one line, as a label in a uri or a message."""
    return " ".join(_as_unicode(name.replace("\\", "/").replace("\0", "\\0")).split())[:_MAX_SHOWN]


def uncompressed(name: str) -> str:
    """Return the name of the file in a compressed one: `notes.txt` of `notes.txt.gz`."""
    base = name.rsplit("/", 1)[-1]
    return _COMPRESSED.sub("", _BUNDLED.sub(".tar", base)) or base


def _as_unicode(name: str) -> str:
    """Return a name as valid Unicode; bytes that are none are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
