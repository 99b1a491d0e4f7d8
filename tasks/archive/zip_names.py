"""Names of zip members, which are in UTF-8, in code page 437, or in whatever the packer's machine wrote."""

import zipfile
from collections.abc import Sequence

_UTF8 = 0x800
_SAMPLE = 20_000


def readable_names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the names of members; where they do not state an encoding, all are read in the one that fits all.

    UTF-8 comes first, then what a detector finds in them together, then code page 437 as the format has it.
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
    """Return the encoding that all names are valid in, or nothing where only code page 437 is left."""
    import chardet

    found = chardet.detect(b"\n".join(names)[:_SAMPLE])["encoding"] or ""
    return next((encoding for encoding in ("utf-8", found) if encoding and _reads(names, encoding)), "")


def _reads(names: list[bytes], encoding: str) -> bool:
    try:
        return all(name.decode(encoding) for name in names)
    except (UnicodeDecodeError, LookupError):
        return False
