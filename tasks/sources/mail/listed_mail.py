"""Listed mail: what a listing knows about a mail, with a name independent of where it is kept; and mailbox folders."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from typing import Protocol

from docmill.storage.errors import ConfigError
from docmill.storage.keys import key_of
from docmill.tasks.parse.mail.mime import read_mime

HEAD_FIELDS = ("MESSAGE-ID", "DATE", "FROM", "SUBJECT")
"""The header fields that, together with the size, identify a mail."""
_LEFT_OUT = frozenset((
    "junk", "junk e-mail", "spam", "trash", "bin", "deleted items", "deleted messages", "drafts",
))  # fmt: skip
"""Names of folders that nobody searches, in lower case: many servers do not say what a folder is for."""
_SUBJECT_CHARACTERS = 60
"""Of a subject in a name: a path segment may have 120 characters, including the date and the key."""
_KEY_CHARACTERS = 12
"""Of the key in a name: 48 bits, so that even among a million mails of one day and subject a collision is unlikely."""
_SPACES = re.compile(r"[\s/\\]+")
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ListedMail:
    """A mail in a folder of a mailbox: `id` finds it there, and `key` changes whenever its bytes do."""

    id: str
    name: str
    key: str
    size: int
    modified_ns: int = 0


@dataclass(frozen=True, slots=True)
class KnownFolder:
    """What is known about a folder: `mark`, during which ids stay valid, and the names of mails by id."""

    mark: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


class MailStore(Protocol):
    """Where the mails are: an account, a folder or a file.

    `batch_bytes` is how many bytes of mails to request at once; 0 requests one mail at a time.
    """

    batch_bytes: int

    def folders(self) -> Mapping[str, bool]:
        """Return the folders by name, and whether each is for mails that nobody searches."""
        ...

    def look(self, folder: str, before: KnownFolder) -> tuple[str, list[str], list[ListedMail]]:
        """Return the mark of a folder, the ids of its mails, and the mails that are not in `before`."""
        ...

    def read(self, folder: str, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield mails with their ids, except deleted ones."""
        ...

    def mark(self, folder: str) -> str:
        """Return a text that changes whenever mails arrive in a folder or leave it, without reading headers."""
        ...


def mail_of(id: str, head: bytes, size: int, folder: str) -> ListedMail:
    """Return a mail, given its header and its size in bytes."""
    found = read_mime(head).head
    told = [found.get(name.lower(), "") for name in HEAD_FIELDS]
    key, time = key_of(*told, size), _time(found.get("date", ""))
    day = time.date().isoformat() if time else "undated"
    subject = _SPACES.sub(" ", found.get("subject", "")).strip()[:_SUBJECT_CHARACTERS]
    name = "/".join(filter(None, (folder, f"{day} {subject} {key[:_KEY_CHARACTERS]}.eml".replace("  ", " "))))
    return ListedMail(id, name, key, size, max(0, int(time.timestamp())) * _NS if time else 0)


def is_left_out(folder: str) -> bool:
    """Return whether a folder's name is one of those for spam, trash and drafts."""
    return folder.rpartition("/")[2].casefold() in _LEFT_OUT


def chosen(folders: Mapping[str, bool], patterns: Iterable[str]) -> list[str]:
    """Return the folders that match patterns, or all that people search; raise `ConfigError` if a pattern has none."""
    if not patterns:
        return sorted(name for name, is_out in folders.items() if not is_out)
    found = set[str]()
    for pattern in patterns:
        fitting = {name for name in folders if fnmatchcase(name, pattern)}
        if not fitting:
            raise ConfigError(f"no folder is called {pattern!r} (folders); there are {', '.join(sorted(folders))}")
        found |= fitting
    return sorted(found)


def _time(date: str) -> datetime | None:
    try:
        return parsedate_to_datetime(date).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
