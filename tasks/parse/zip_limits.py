"""Zip limits: check the unpacked size of a zip container before a library opens it."""

import io
import zipfile

from docmill.storage.errors import Rejected

_MAX_RATIO = 200
"""Maximum compression ratio: XML shrinks to a tenth or a fiftieth, a zip bomb to a thousandth."""
_SMALL = 50_000_000
"""Unpacked bytes up to which the ratio does not matter: they fit into memory, and empty sheets shrink very well."""
_MAX_MEMBERS = 20_000
"""Members of a container: a book or a large deck has some thousands, and each costs time of its own."""
_ENCRYPTED = 0x1  # bit of a member's flags (APPNOTE 4.4.4)


def check_container(data: bytes, limit: int) -> zipfile.ZipFile:
    """Return the opened container; raise Rejected if its members are too many, too large or encrypted.

    Sizes are those declared in its directory: `zipfile` does not read a member beyond them.
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
