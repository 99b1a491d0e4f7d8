"""Archive kinds: which files may contain others, first by their beginning when hashed, then by content when opened."""

import re
from collections.abc import Sequence

from docmill.tasks.parse.pictures.picture_files import PAGE_BYTES, may_show, names_in

HEAD_BYTES = 4096  # enough for a tar header and the first lines of a mail's; read from every file that is hashed
_OUTLOOK_STORE = b"!BDN"
_BLOCK = 512  # bytes of a tar header, zeros at its end
_CHECKSUM = slice(148, 156)  # octal digits; for the sum itself they count as spaces
_OCTAL = frozenset(b"01234567")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
KEPT = ("mail", "document")
"""Kinds of containers that are documents themselves; their members are further documents."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PDF = b"%PDF-"
_PACKED = {
    "gz": re.compile(rb"\x1f\x8b\x08"),
    "bz2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}
_MAIL_HEADER = re.compile(
    rb"^(?:From|To|Cc|Subject|Date|MIME-Version|Message-ID|Received|Return-Path|Delivered-To|Content-Type):[ \t]?\S"
    rb"|\AFrom \S+ +\w{3} \w{3} ",
    re.MULTILINE | re.IGNORECASE,
)
_MAIL_NAMES = (".eml", ".msg", ".mbox", ".emlx")


def may_hold(name: str, head: bytes) -> str:
    """Return the kind of container that a file may be: "archive", "mail", "document", or "" for none.

    `head` is its first `HEAD_BYTES` bytes. A false positive is corrected when the file is opened, but a false negative
    never is, so a doubt means "yes".
    """
    if head.startswith(_ZIP) or packing(head) or is_tar(head):
        return "archive"
    named = name.lower().endswith(_MAIL_NAMES)
    if named or head.startswith((_OLE, _OUTLOOK_STORE)) or len(_MAIL_HEADER.findall(head)) > 1:
        return "mail"
    return "document" if _PDF in head else ""


def packing(head: bytes) -> str:
    """Return the compression of a whole file: "gz", "bz2", "xz", "zst", or "" if it has none."""
    return next((name for name, sign in _PACKED.items() if sign.match(head)), "")


def is_tar(head: bytes) -> bool:
    """Return whether a file begins with the header of a tar archive, by its checksum.

    Old archives have no other sign, and archives with another sign have the checksum as well.
    """
    block = head[:_BLOCK]
    digits = block[_CHECKSUM]
    stated = digits.split(b"\0")[0].strip()
    # A block of zeros has the checksum 0 and would pass.
    if len(block) < _BLOCK or not block[0] or not stated or not _OCTAL.issuperset(stated):
        return False
    return sum(block) - sum(digits) + len(digits) * ord(" ") == int(stated, base=8)


_PICTURES = "pictures\n"


def head_bytes(name: str) -> int:
    """Return how many of a file's first bytes `held_by` needs."""
    return PAGE_BYTES if may_show(name) else HEAD_BYTES


def held_by(name: str, head: bytes) -> str:
    """Return the kind of container that a file may be, see `may_hold`, or the picture files that it shows."""
    kind = may_hold(name, head[:HEAD_BYTES])
    shown = () if kind else names_in(name, head)
    return _PICTURES + "\n".join(shown) if shown else kind


def pictures_held(holds: str) -> Sequence[str]:
    """Return the paths, relative to a page, of the picture files that it shows, given its result of `held_by`."""
    return holds.removeprefix(_PICTURES).split("\n") if holds.startswith(_PICTURES) else ()
