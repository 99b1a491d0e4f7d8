"""Letter: a parsed mail of any format: header, bodies and attachments."""

import mimetypes
import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from docmill.tasks.parse.pictures.addresses import of_data_uri

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff<>:\"|?*]+")
_SHOWN_ID = re.compile(r"\bcid:([^\s\"'<>()]{1,300})", re.IGNORECASE)
_MAX_NAME = 120
"""Characters of a name: file systems allow 255 bytes, most letters take one or two, and a number may be added."""
_MAX_SUFFIX = 12  # below that a last part such as ".docx" is a suffix, which a cut name keeps; else it is a sentence
_SUFFIXES = {"message/rfc822": ".eml", "application/vnd.ms-outlook": ".msg", "text/plain": ".txt", "image/jpeg": ".jpg"}

_WORD_PIXELS = 12
"""Pixels of a picture's smaller side from which it may show a word: capitals take eight, and a margin."""
_SIZED = 24  # bytes of a picture within which both forms state its size
_SIZES: tuple[tuple[bytes, Callable[[bytes], tuple[int, ...]]], ...] = (
    (b"\x89PNG\r\n\x1a\n", lambda data: struct.unpack(">II", data[16:24])),
    (b"GIF8", lambda data: struct.unpack("<HH", data[6:10])),
)


@dataclass(frozen=True, slots=True)
class Body:
    """Text to read as plain text or as HTML."""

    text: str
    html: bool = False


class ShownPicture(NamedTuple):
    """A picture that the text of a mail shows by its content id, such as the logo of a signature."""

    name: str
    data: bytes
    content_id: str


@dataclass(slots=True)
class Letter:
    """A mail: its header by names in lower case, its bodies and attachments in order.

    A body is a tuple of alternatives with the same content. `encrypted` names the kind of encryption. `pictures` belong
    to the text, and are no attachments.
    """

    head: dict[str, str] = field(default_factory=dict)
    bodies: list[tuple[Body, ...]] = field(default_factory=list)
    attached: list[tuple[str, bytes]] = field(default_factory=list)
    pictures: list[ShownPicture] = field(default_factory=list)
    encrypted: str = ""
    damage: int = 0

    def shown_picture(self, address: str) -> bytes | None:
        """Return the picture at an address in the text: that of its content id, or the one that it holds."""
        if address[:4].lower() != "cid:":
            return of_data_uri(address)
        return next((one.data for one in self.pictures if one.content_id == unquote(address[4:])), None)


def shown_ids(html: str) -> frozenset[str]:
    """Return the content ids of the parts that a text in HTML shows, such as those of `<img src="cid:logo@x">`."""
    return frozenset(unquote(found) for found in _SHOWN_ID.findall(html))


def is_picture(content_type: str, name: str) -> bool:
    """Return whether a part of a mail is a picture, by its type or its name."""
    return any(one.startswith("image/") for one in (content_type, mimetypes.guess_type(name)[0] or ""))


def is_icon(data: bytes) -> bool:
    """Return whether data is a picture whose height or width is too small for a word, such as a logo."""
    size = next((read(data) for sign, read in _SIZES if data.startswith(sign) and len(data) >= _SIZED), None)
    return size is not None and min(size) < _WORD_PIXELS


def unique_names(attached: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Return attachments with safe names, no two of which differ by case only."""
    found: list[tuple[str, bytes]] = []
    last: dict[str, int] = {}
    for name, data in attached:
        name = safe_name(name)
        stem, dot, suffix = name.rpartition(".")
        while name.lower() in last:
            last[name.lower()] += 1
            number = last[name.lower()]
            name = f"{stem}-{number}.{suffix}" if dot else f"{suffix}-{number}"
        last[name.lower()] = 1
        found.append((name, data))
    return found


def safe_name(name: str) -> str:
    """Return the last part of a path without characters that a file system reserves."""
    name = _UNSAFE.sub(" ", name.replace("\\", "/").rpartition("/")[2])
    name = " ".join(name.split()).strip(". ")
    stem, dot, suffix = name.rpartition(".")
    if len(name) > _MAX_NAME and dot and len(suffix) < _MAX_SUFFIX:
        name = f"{stem[: _MAX_NAME - len(suffix) - 1]}.{suffix}"
    return name[:_MAX_NAME] or "attachment"


def name_for(content_type: str, stem: str = "attachment") -> str:
    """Return a name for an attachment that has none."""
    return stem + (_SUFFIXES.get(content_type) or mimetypes.guess_extension(content_type) or ".bin")


def message_name(subject: str) -> str:
    """Return a file name for a message inside another."""
    return (subject.replace("/", "-").replace("\\", "-") or "message") + ".eml"
