"""Unpacking: what a zip container may grow to, checked before a library opens it."""

import io
import zipfile

from docmill.storage.errors import Rejected

_MAX_RATIO = 200
_SMALL = 50_000_000
_MAX_MEMBERS = 20_000
_ENCRYPTED = 0x1


def check_container(data: bytes, limit: int) -> zipfile.ZipFile:
    """Return the opened container, or raise Rejected where its members are too many, too large or locked.

    Sizes are those its directory declares; `zipfile` reads no member beyond them.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeDecodeError) as error:
        raise Rejected("corrupt", f"the zip container cannot be opened: {error}") from error
    total = sum(member.file_size for member in members)
    if any(member.flag_bits & _ENCRYPTED for member in members):
        raise Rejected("encrypted", "the zip container's members need a password")
    if total > limit or (total > _SMALL and total > _MAX_RATIO * len(data)):
        raise Rejected(
            "too_large", f"{len(data)} bytes unpack to {total}, the limit is {min(limit, _MAX_RATIO * len(data))}"
        )
    if len(members) > _MAX_MEMBERS:
        raise Rejected("too_large", f"{len(members)} members, the limit is {_MAX_MEMBERS}")
    return archive
