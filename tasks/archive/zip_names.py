"""Zip names: decode member names in UTF-8, code page 437, or the encoding of the packer's machine."""

import zipfile
from collections.abc import Sequence

_UTF8 = 0x800  # the flag of a member whose name is in UTF-8
_SAMPLE = 20_000  # bytes of names for guessing an encoding: more take longer and are no surer


def readable_names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the names of members; those without a stated encoding are all decoded in the one that fits them all.

    UTF-8 is tried first, then an encoding detected from all names, then code page 437, the format's own.
    """
    raw = {name: name.encode("cp437") for info in infos if not (name := _stated(info)).isascii() and not _is_utf8(info)}
    encoding = _encoding(list(raw.values())) if raw else ""
    known = {name: data.decode(encoding) for name, data in raw.items()} if encoding else {}
    return [known.get(_stated(info), _stated(info)) for info in infos]


def _stated(info: zipfile.ZipInfo) -> str:
    return info.orig_filename.split("\0")[0]


def _is_utf8(info: zipfile.ZipInfo) -> bool:
    return bool(info.flag_bits & _UTF8)


def _encoding(names: list[bytes]) -> str:
    """Return the encoding in which all names are valid, or "" if only code page 437 is left."""
    import chardet

    found = chardet.detect(b"\n".join(names)[:_SAMPLE])["encoding"] or ""
    return next((encoding for encoding in ("utf-8", found) if encoding and _reads(names, encoding)), "")


def _reads(names: list[bytes], encoding: str) -> bool:
    try:
        return all(name.decode(encoding) for name in names)
    except (UnicodeDecodeError, LookupError):
        return False
