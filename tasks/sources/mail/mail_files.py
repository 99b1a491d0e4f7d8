"""Mail files: mails in a Maildir, or in an mbox file, which is only read after it has changed."""

import os
from collections.abc import Iterable, Iterator, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path

from docmill.storage.errors import SourceError
from docmill.storage.keys import hash_bytes, key_of
from docmill.tasks.parse.mail.messages import cuts_of, unquoted
from docmill.tasks.sources.mail.listed_mail import KnownFolder, ListedMail, is_left_out, mail_of

_HEAD_BYTES = 65_536
"""Bytes of a mail in which its header is searched: servers refuse longer headers."""
_TRASHED = "T"
"""The flag of mails in a Maildir that are marked for deletion."""


class Maildir:
    """A Maildir and its folders, named `.Name` or `.Name.Inner` below it, as by Dovecot and Courier."""

    batch_bytes = 0

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[tuple[str, str], Path] = {}

    def folders(self) -> Mapping[str, bool]:
        """Return the folders; the Maildir itself is INBOX."""
        if not (self._path / "cur").is_dir():
            raise SourceError(f"{self._path} is no Maildir: it has no folder `cur`")
        names = ["INBOX", *(one.name[1:].replace(".", "/") for one in self._path.glob(".?*") if (one / "cur").is_dir())]
        return {name: is_left_out(name) for name in names}

    def look(self, folder: str, before: KnownFolder) -> tuple[str, list[str], list[ListedMail]]:
        """Return the mails of a folder by the first part of their file names, which never changes."""
        found = self._scanned(folder)
        self._files |= {(folder, id): path for id, path in found.items()}
        new = (_mail(id, path, folder) for id, path in sorted(found.items()) if id not in before.names)
        return "", sorted(found), [mail for mail in new if mail]

    def _scanned(self, folder: str) -> dict[str, Path]:
        found = dict[str, Path]()
        for name in ("new", "cur"):  # in this order, because mails move from the first to the second
            with os.scandir(self._folder(folder) / name) as entries:
                for entry in entries:
                    id, _, flags = entry.name.partition(":2,")
                    if _TRASHED not in flags and entry.is_file(follow_symlinks=False):
                        found[id] = Path(entry.path)
        return found

    def read(self, folder: str, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield mails; a mail whose flags have changed has another file name."""
        for id in ids:
            path = self._files[folder, id]
            again = () if path.exists() else self._folder(folder).glob(f"*/{_literal(id)}*")
            for one in (path, *again):
                if one.is_file() and not one.is_symlink():
                    yield id, one.read_bytes()
                    break

    def mark(self, folder: str) -> str:
        """Return a hash of the names of the mails in a folder."""
        return key_of(*sorted(self._scanned(folder)))

    def _folder(self, folder: str) -> Path:
        return self._path if folder == "INBOX" else self._path / f".{folder.replace('/', '.')}"


class MboxFile:
    """An mbox file, such as an exported mailbox."""

    batch_bytes = 0

    def __init__(self, path: Path) -> None:
        self._path = path

    def folders(self) -> Mapping[str, bool]:
        """Return the only folder, which has no name."""
        return {"": False}

    def look(self, folder: str, before: KnownFolder) -> tuple[str, list[str], list[ListedMail]]:
        """Return all mails by their positions in the file, or nothing new if the file has not changed."""
        mark = self.mark(folder)
        if mark == before.mark:
            return mark, [*before.names], []
        mails = list(self._mails()) if self._path.stat().st_size else []
        return mark, [mail.id for mail in mails], mails

    def read(self, folder: str, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        """Yield the mails that are still at their listed positions."""
        with self._path.open("rb") as file:
            for id in ids:
                begin, end, key = id.split(" ")
                file.seek(int(begin))
                data = unquoted(file.read(int(end) - int(begin)))
                if hash_bytes(data) == key:
                    yield id, data

    def mark(self, folder: str) -> str:  # noqa: ARG002
        """Return the size and the time of the file."""
        found = self._path.stat()
        return f"{found.st_size} {found.st_mtime_ns}"

    def _mails(self) -> Iterator[ListedMail]:
        with self._path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            cuts = cuts_of(content)
            if not cuts:
                raise SourceError(f"{self._path} is no mbox file: it has no line such as `From ann Mon Jun 01 …`")
            for begin, end in cuts:
                data = unquoted(content[begin:end])
                key = hash_bytes(data)
                head = mail_of("", _head(data), len(data), "")
                yield ListedMail(f"{begin} {end} {key}", head.name, key, len(data), head.modified_ns)


def _mail(id: str, path: Path, folder: str) -> ListedMail | None:
    """Return a mail, or None if it was removed or renamed after the folder was listed."""
    try:
        with path.open("rb") as file:
            return mail_of(id, _head(file.read(_HEAD_BYTES)), os.fstat(file.fileno()).st_size, folder)
    except FileNotFoundError:
        return None


def _head(data: bytes) -> bytes:
    """Return the header of a mail: everything before the first empty line."""
    ends = [end for end in (data.find(b"\n\n"), data.find(b"\n\r\n")) if end >= 0]
    return data[: min([*ends, _HEAD_BYTES]) + 1]


def _literal(name: str) -> str:
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)
