"""Members: the files in an archive, in archive order, each read in pieces."""

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, BinaryIO, Self, cast

from docmill.storage.errors import Rejected
from docmill.tasks.archive import zip_aes
from docmill.tasks.archive.archive_options import Share

_UTF8 = 0x800  # the flag of a member whose name is in UTF-8
_SAMPLE = 20_000  # bytes of names for guessing an encoding: more take longer and give no better guess


def readable_names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the names of members; names without a stated encoding are all decoded in one that fits them all.

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


_PIECE = 1 << 20  # bytes read at once, and so the most by which a limit can be exceeded
_LOCAL_HEADER = 30  # bytes before a zip member's name, the minimum distance to the next header
_ENCRYPTED = 0x1  # the lowest of a zip member's flags
_MODE = 16  # bits below the Unix mode in a zip member's external attributes
_DAMAGED = tuple(getattr(tarfile, f"{how}HeaderError") for how in ("Invalid", "Truncated", "Empty"))


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive, with its name in the archive.

    `read` yields its content and counts it. Call it before asking for the next member, because a tar archive is read
    only once. `skip` says what the member is if it is not a file.
    """

    name: str
    read: Callable[[], Iterator[bytes]]
    skip: str = ""


def zip_members(archive: zipfile.ZipFile, share: Share) -> Iterator[Member]:
    """Yield the files of a zip archive; raise Rejected if members overlap."""
    infos = [info for info in archive.infolist() if not _is_folder(info)]
    _check_overlaps(infos)
    for info, name in zip(infos, readable_names(infos), strict=True):
        mode = info.external_attr >> _MODE
        skip = "" if stat.S_IFMT(mode) in (0, stat.S_IFREG) else _what(stat.S_ISLNK(mode))
        yield Member(name, partial(_read_zip, archive, info, share), skip)


def _is_folder(info: zipfile.ZipInfo) -> bool:
    return info.filename.endswith(("/", "\\")) and not info.file_size


def _check_overlaps(infos: list[zipfile.ZipInfo]) -> None:
    """Raise if an archive uses the same bytes for several members, which would allow a bomb of any ratio."""
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise Rejected("corrupt", "members of the zip archive overlap, as in a zip bomb")
        end = info.header_offset + _LOCAL_HEADER + info.compress_size


def _what(is_link: bool) -> str:
    return "a link" if is_link else "a device or another special file"


def _read_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo, share: Share) -> Iterator[bytes]:
    if not info.flag_bits & _ENCRYPTED:
        with archive.open(info) as file:
            yield from _pieces(file, share)
    elif info.compress_size > share.options.member_bytes:
        raise Rejected("too_large", f"{info.compress_size} bytes encrypted (discover.max_file_bytes)")
    elif info.compress_type == zip_aes.METHOD:
        yield from _counted(zip_aes.read_aes(archive, info, share.options.passwords), share)
    else:
        yield _decrypted(archive, info, share)


def _decrypted(archive: zipfile.ZipFile, info: zipfile.ZipInfo, share: Share) -> bytes:
    """Return a member opened by the first password that fits.

    A wrong password passes the format's own check one time in 256; then only the checksum reveals it.
    """
    for password in share.options.passwords:
        try:
            with archive.open(info, pwd=password.encode()) as file:
                return joined(_pieces(file, share), share.options.member_bytes)
        # The library has no specific error for a wrong password; each of these may mean one.
        except (RuntimeError, zipfile.BadZipFile, zlib.error, EOFError):
            continue
    raise Rejected("encrypted", "no password in [parse.passwords] opens it")


def tar_members(stream: BinaryIO, share: Share) -> Iterator[Member]:
    """Yield the files of a tar archive, which is read once, from start to end."""
    counted = cast(BinaryIO, Counted(stream, share))
    # "r|" never seeks, so a compressed archive is unpacked once, and its bytes are counted once.
    with tarfile.open(fileobj=counted, mode="r|", tarinfo=_Header, errorlevel=1) as archive:
        for info in archive:
            if not info.isdir():
                skip = "" if info.isreg() else _what(info.issym() or info.islnk())
                yield Member(info.name, partial(_read_tar, archive, info, share), skip)


def _read_tar(archive: tarfile.TarFile, info: tarfile.TarInfo, share: Share) -> Iterator[bytes]:
    file = cast(BinaryIO, archive.extractfile(info))
    # The packed bytes of a file were counted on reading; holes are created here.
    yield from _pieces(file, share) if info.issparse() else iter(partial(file.read, _PIECE), b"")


class _Header(tarfile.TarInfo):
    """A header that must be complete: `tarfile` would take a damaged or missing one for the end of the archive."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(archive)
        except _DAMAGED as error:
            raise tarfile.ReadError(f"damaged at byte {archive.offset}: {error}") from error


class Counted:
    """A stream that counts its bytes as they are read."""

    def __init__(self, stream: BinaryIO, share: Share) -> None:
        self._stream = stream
        self._share = share

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes."""
        data = self._stream.read(size)
        self._share.take(len(data))
        return data


def one_member(name: str, stream: BinaryIO, share: Share) -> Iterator[Member]:
    """Yield the single file in a compressed stream."""
    yield Member(name, partial(_pieces, stream, share))


def mail_members(data: bytes, mail_format: str, share: Share) -> Iterator[Member]:
    """Yield the attachments of a mail."""
    from docmill.tasks.parse.mail.messages import attachments  # a twentieth of a run's modules, only for mails

    for name, content in attachments(data, mail_format, share.options.total_bytes, share.options.pictures):
        # Counted although they are already in memory, because attachments of attachments add up.
        share.take(len(content))
        yield Member(name, partial(iter, (content,)))


def _pieces(file: IO[bytes], share: Share) -> Iterator[bytes]:
    return _counted(iter(partial(file.read, _PIECE), b""), share)


def _counted(pieces: Iterator[bytes], share: Share) -> Iterator[bytes]:
    for piece in pieces:
        share.take(len(piece))
        yield piece


def joined(pieces: Iterable[bytes], most: int) -> bytes:
    """Return pieces joined; raise Rejected if they have more than `most` bytes."""
    kept, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise Rejected("too_large", f"more than {most} bytes (discover.max_file_bytes)")
        kept.append(piece)
    return b"".join(kept)
