"""Camera facts: what a picture file states in its Exif: author, date, title and camera.

The place where it was taken is never read: a store is searched, exported and sent to models by people other than the
photographer, and a photograph taken at home reveals an address.
"""

import re
from collections.abc import Mapping
from typing import Any

_LONGEST = 500  # characters of a value; cameras and programs write about ten
_DETAILS = 0x8769  # the part of Exif with a camera's times
_TITLE, _MAKE, _MODEL, _CHANGED, _AUTHOR = 0x010E, 0x010F, 0x0110, 0x0132, 0x013B
_OWN_TITLE, _OWN_AUTHOR = 0x9C9B, 0x9C9D
"""Title and author as Windows writes them, in UTF-16."""
_TAKEN, _TAKEN_OFFSET, _CHANGED_OFFSET = 0x9003, 0x9011, 0x9010
_TIME = re.compile(r"(\d{4}):(\d\d):(\d\d)[ T](\d\d:\d\d:\d\d)")  # 2024:07:01 12:30:00
_OFFSET = re.compile(r"[+-]\d\d:\d\d")
_BLANK = ("default", "unknown", "olympus digital camera", "samsung camera pictures")
"""Titles that cameras write into every picture."""


def camera_facts(image: Any) -> dict[str, str]:
    """Return the facts of an open picture under the names in metadata: author, created, modified, title, camera.

    Damaged Exif gives no facts; this never raises.
    """
    try:
        tags = image.getexif()
        details = tags.get_ifd(_DETAILS)
    except Exception:  # Pillow may raise anything for damaged metadata; the picture itself is intact
        return {}
    title = _text(tags.get(_TITLE)) or _wide(tags.get(_OWN_TITLE))
    taken = _time(details.get(_TAKEN), details.get(_TAKEN_OFFSET))
    changed = _time(tags.get(_CHANGED), details.get(_CHANGED_OFFSET))
    found = {
        "author": _text(tags.get(_AUTHOR)) or _wide(tags.get(_OWN_AUTHOR)),
        "created": taken or changed,  # scanners write only the second
        "modified": changed if taken else "",
        "title": "" if title.lower() in _BLANK else title,
        "camera": _camera(tags),
    }
    return {name: value for name, value in found.items() if value}


def _camera(tags: Mapping[int, Any]) -> str:
    """Return maker and model; most models begin with the maker's name."""
    maker, model = _text(tags.get(_MAKE)), _text(tags.get(_MODEL))
    return model if model.lower().startswith(maker.lower().split(" ")[0]) and model else f"{maker} {model}".strip()


def _text(value: Any) -> str:
    """Return a text as one line; Exif ends it with a null character, and anything after that is left over."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return " ".join(value.partition("\0")[0].split())[:_LONGEST] if isinstance(value, str) else ""


def _wide(value: Any) -> str:
    if isinstance(value, tuple):  # Pillow returns bytes of an unknown type as tuples
        value = bytes(one for one in value if isinstance(one, int) and 0 <= one < 256)
    return _text(value.decode("utf-16-le", "replace")) if isinstance(value, bytes) else ""


def _time(value: Any, offset: Any) -> str:
    """Return a time in ISO 8601; cameras write blanks or zeros if their clock was never set."""
    match = _TIME.match(_text(value))
    if match is None or match[1] == "0000":
        return ""
    behind = _text(offset)
    return f"{match[1]}-{match[2]}-{match[3]}T{match[4]}{behind if _OFFSET.fullmatch(behind) else ''}"
