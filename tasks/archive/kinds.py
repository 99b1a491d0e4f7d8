"""What holds other files: seen in the first bytes by who hashes them, made sure of by who opens them."""

import re

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.file_type import detect_file_type

HEAD_BYTES = 4096
MAIL_FORMATS = ("eml", "msg", "mbox")
_BLOCK = 512
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
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
_MAIL_NAMES = (".eml", ".msg", ".mbox")


def may_hold(name: str, head: bytes) -> str:
    """Return whether a file of such a name and beginning may hold others: "archive", "mail" or nothing.

    `head` is the first `HEAD_BYTES` bytes. Says too often "yes" rather than once "no".
    """
    if head.startswith(_ZIP) or packing(head) or is_tar(head):
        return "archive"
    named = name.lower().endswith(_MAIL_NAMES)
    return "mail" if named or head.startswith(_OLE) or len(_MAIL_HEADER.findall(head)) > 1 else ""


def packing(head: bytes) -> str:
    """Return how a file is compressed as a whole: "gz", "bz2", "xz", "zst" or nothing."""
    return next((name for name, sign in _PACKED.items() if sign.match(head)), "")


def is_tar(head: bytes) -> bool:
    """Return whether a header of a tar archive, whose bytes add up to the number that it states, comes first."""
    block = head[:_BLOCK]
    stated = block[148:156].split(b"\0")[0].strip()
    if len(block) < _BLOCK or not block[0] or not stated or not set(stated) <= set(b"01234567"):
        return False
    return sum(block) - sum(block[148:156]) + 8 * 0x20 == int(stated, 8)


def mail_format(name: str, data: bytes) -> str:
    """Return "eml", "msg" or "mbox" of a mail, nothing of another file."""
    try:
        found = detect_file_type(name, data).format
    except Rejected:
        return ""
    return found if found in MAIL_FORMATS else ""
