"""Mailbox: the mails of an IMAP account, a Maildir or an mbox file; each is read once."""

import json
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from threading import Event, Lock
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from docmill.storage.errors import ConfigError, Rejected, SourceError
from docmill.storage.keys import key_of
from docmill.storage.plugins.secret import Secret
from docmill.tasks.sources.connectors.contract import OwnConnector, SourceItem, SourceListing
from docmill.tasks.sources.connectors.source_settings import WATCH_S, SourceSettings
from docmill.tasks.sources.connectors.spool import Spool
from docmill.tasks.sources.connectors.text_entries import Names
from docmill.tasks.sources.mail.imap import Imap
from docmill.tasks.sources.mail.listed_mail import KnownFolder, MailStore, chosen
from docmill.tasks.sources.mail.mail_files import Maildir, MboxFile

_SCHEMES = ("imaps", "imap")
_BATCH = 100
"""Mails in one request, so that a broken connection loses little."""


class MailSettings(SourceSettings):
    """A mailbox. docmill only reads, and marks no mail as seen."""

    mailbox: str = Field(description="imaps://HOST, imap://HOST (STARTTLS), a Maildir (a folder), or an mbox file.")
    user: str = Field(default="", description="User of the IMAP account.")
    password: Secret | None = Field(default=None, description="Password of the IMAP account, or one for this program.")
    token: Secret | None = Field(default=None, description="OAuth2 access token, in place of a password.")
    folders: tuple[str, ...] = Field(
        default=(), description="Folders to read, such as INBOX or Lists/*; empty reads all but spam, trash and drafts."
    )
    mail_bytes: int = Field(
        default=50_000_000, ge=1, description="Maximum size of a mail with its attachments, in bytes."
    )
    timeout_s: float = Field(default=60.0, gt=0, description="Seconds to wait for an answer.")
    watch_s: float = Field(default=30.0, ge=0, description=WATCH_S)

    @field_validator("mailbox")
    @classmethod
    def _check_mailbox(cls, given: str) -> str:
        parts = urlsplit(given) if "://" in given else None
        if parts and (parts.scheme not in _SCHEMES or not parts.hostname or parts.path not in ("", "/")):
            raise ValueError("write imaps://HOST, imaps://HOST:PORT, a folder or a file")
        if parts and "@" in parts.netloc:
            raise ValueError("leave user and password out of the address, and set `user` and `password`")
        return given


class MailReader:
    """Reads mails. A listing requests only the headers of new mails; mails are fetched in batches."""

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings
        self._spool = Spool()
        self._store: MailStore | None = None
        self._places: dict[str, tuple[str, str]] = {}
        self._due: dict[str, int] = {}
        self._lock = Lock()
        self._told_of = ""

    def list(self, checkpoint: str) -> SourceListing:
        """Return the mails that are new since the checkpoint, which has the names of all mails by folder and id."""
        before = {name: KnownFolder(*told) for name, told in json.loads(checkpoint or "{}").items()}
        self._spool.clear()
        names, now, items = Names(".eml"), dict[str, KnownFolder](), dict[str, SourceItem]()
        store = self._opened()
        for folder in chosen(store.folders(), self._settings.folders):
            now[folder], new = _looked(store, folder, before.get(folder, KnownFolder()), names)
            items |= new
        self._places = {name: (folder, id) for folder, known in now.items() for id, name in known.names.items()}
        self._due = {name: item.size for name, item in items.items()}
        gone = {name for known in before.values() for name in known.names.values()} - self._places.keys()
        state = json.dumps({folder: astuple(known) for folder, known in now.items()})
        return SourceListing(items.values(), state, sorted(gone) if checkpoint else None)

    def fetch(self, item: SourceItem) -> bytes:
        """Return a mail, fetching it together with others that are likely to be needed next."""
        if item.name not in self._places:
            raise Rejected("unreadable", "the mailbox did not list it")
        if item.size > self._settings.mail_bytes:
            raise Rejected("too_large", f"{item.size} bytes, more than mail_bytes ({self._settings.mail_bytes})")
        with self._lock:  # one batch at a time: the next thread then finds its mail
            data = self._spool.get(item.name)
            if data is None:
                self._read(item)
                data = self._spool.get(item.name)
        if data is None:
            raise Rejected("unreadable", "the mail was removed after it was listed")
        return data

    def link(self, item: SourceItem) -> str:  # noqa: ARG002
        """Return "": there is no address that opens a mail in every program."""
        return ""

    def mark(self) -> str:
        """Return a text that changes whenever a mail arrives or is removed."""
        store = self._opened()
        folders = chosen(store.folders(), self._settings.folders)
        self._told_of = "INBOX" if "INBOX" in folders else (*folders, "")[0]
        return key_of(*(f"{folder} {store.mark(folder)}" for folder in folders))

    def wait(self, seconds: float, ended: Event) -> bool:
        """Wait until the server reports a change in INBOX, or else in the first folder: it reports on one at a time.

        Return False at once if it does not report changes.
        """
        return isinstance(self._store, Imap) and self._store.wait(self._told_of, seconds, ended)

    def _opened(self) -> MailStore:
        self._store = self._store or _store(self._settings)
        return self._store

    def _read(self, item: SourceItem) -> None:
        store, (folder, _) = self._opened(), self._places[item.name]
        batch = {self._places[name][1]: name for name in self._batch(item, store.batch_bytes)}
        for id, data in store.read(folder, batch):
            self._spool.put(batch[id], data)
        for name in batch.values():
            self._due.pop(name, None)

    def _batch(self, item: SourceItem, most_bytes: int) -> Iterator[str]:
        """Yield a mail, and further due mails of its folder, up to the limits of a request."""
        yield item.name
        folder, left = self._places[item.name][0], most_bytes - item.size
        others = (name for name in self._due if self._places[name][0] == folder and name != item.name)
        for _, name in zip(range(_BATCH - 1), others, strict=False):
            left -= self._due[name]
            if left < 0:
                return
            yield name


def _looked(
    store: MailStore, folder: str, before: KnownFolder, names: Names
) -> tuple[KnownFolder, dict[str, SourceItem]]:
    """Return what is now known about a folder, and the items of its new mails by name."""
    mark, ids, new = store.look(folder, before)
    held, items = dict(before.names) if mark == before.mark else {}, dict[str, SourceItem]()
    for mail in new:
        held[mail.id] = name = names.of(mail.name)
        items.setdefault(name, SourceItem(name, mail.key, mail.size, mail.modified_ns))
    return KnownFolder(mark, {id: held[id] for id in ids if id in held}), items


def _store(settings: MailSettings) -> MailStore:
    if "://" not in settings.mailbox:
        path = Path(settings.mailbox)
        if not path.exists():
            raise SourceError(f"mailbox {path} does not exist")
        return Maildir(path) if path.is_dir() else MboxFile(path)
    secret = settings.token or settings.password
    if not settings.user or secret is None:
        raise ConfigError("an IMAP account needs `user`, and `password` or `token`")
    return Imap(
        settings.mailbox, settings.user, secret.read(), settings.token is not None, settings.timeout_s,
        settings.mail_bytes,
    )  # fmt: skip


CONNECTOR = OwnConnector(MailSettings, MailReader)
