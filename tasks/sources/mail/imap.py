"""IMAP: the folders and mails of an account, read without changes, by UIDs as long as these are valid."""

import base64
import binascii
import imaplib
import re
import selectors
import socket
import ssl
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from typing import Any, cast
from urllib.parse import urlsplit

from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.tasks.sources.mail.listed_mail import HEAD_FIELDS, KnownFolder, ListedMail, is_left_out, mail_of

_LIST = re.compile(rb'\((?P<flags>[^)]*)\) (?:"(?P<separator>\\?.)"|NIL) (?P<name>.*)', re.DOTALL)
_SPECIAL = re.compile(rb"\\(?:Junk|Trash|Drafts|All)\b", re.IGNORECASE)
"""Server flags of folders that nobody searches, and of the one with the mails of all others (RFC 6154)."""
_NO_FOLDER = re.compile(rb"\\(?:Noselect|NonExistent)\b", re.IGNORECASE)
_UTF_7 = re.compile(r"&([^-]*)-")
_HEADS = f"(UID RFC822.SIZE BODY.PEEK[HEADER.FIELDS ({' '.join(HEAD_FIELDS)})])"
_HEADS_AT_ONCE = 500
"""Headers in one request: some 200 KB."""
_UIDS_AT_ONCE = 50_000
"""UIDs that one search may find: their line stays below the million bytes that `imaplib` reads."""
_BATCH_BYTES = 8 << 20
"""Bytes of mails in one request, which are in memory together."""
_MARGIN_BYTES = 4 << 20
"""Bytes of an answer besides the requested mails."""
IDLE_S = 28 * 60.0
"""Seconds of one IDLE: a server may close a connection after 29 minutes of silence (RFC 2177)."""
_TURN_S = 0.2  # between two checks whether the watch has ended
_IDLE_TAG = b"IDLE1"
_PORT, _SSL_PORT = 143, 993
_HERE = ("127.0.0.1", "::1", "localhost")
_LATER = re.compile(r"\[(?:UNAVAILABLE|INUSE|LIMIT|SERVERBUG|OVERQUOTA|THROTTLED)\]|too many", re.IGNORECASE)


class Imap:
    """An account on a server, with one connection that one thread uses at a time."""

    batch_bytes = _BATCH_BYTES

    def __init__(self, address: str, user: str, secret: str, is_token: bool, timeout_s: float, mail_bytes: int) -> None:
        self._address, self._user, self._secret, self._is_token = urlsplit(address), user, secret, is_token
        self._timeout_s, self._most_bytes = timeout_s, max(mail_bytes, _BATCH_BYTES) + _MARGIN_BYTES
        self._connection: _Bounded | None = None
        self._end: Callable[[], object] = lambda: None
        self._chosen = ""
        self._raw: dict[str, bytes] = {}
        self._marked: dict[str, list[str]] = {}
        self._idles: bool | None = None  # None: the server was not asked yet

    def folders(self) -> Mapping[str, bool]:
        """Return the folders, with `/` between their parts, and whether each is for mails that nobody searches."""
        with self._explained():
            self._check_connection()
            found = dict[str, bool]()
            for line in self._asked(self._opened().list()):
                told = _LIST.fullmatch(b"".join(line) if isinstance(line, tuple) else line or b"")
                if told and not _NO_FOLDER.search(told["flags"]):
                    raw = line[1] if isinstance(line, tuple) else told["name"]
                    name = _name(raw, told["separator"] or b"")
                    self._raw[name] = _quoted(raw)
                    found[name] = bool(_SPECIAL.search(told["flags"])) or is_left_out(name)
            return found

    def look(self, folder: str, before: KnownFolder) -> tuple[str, list[str], list[ListedMail]]:
        """Return the UIDVALIDITY of a folder, the UIDs of mails not marked as deleted, and the new mails."""
        with self._explained():
            connection = self._choose(folder)
            validity, following = (_told(connection, name) for name in ("UIDVALIDITY", "UIDNEXT"))
            uids = self._uids(connection, int(following or 0))
            known = before.names if validity == before.mark else {}
            new = [uid for uid in uids if uid not in known]
            parts = (new[at : at + _HEADS_AT_ONCE] for at in range(0, len(new), _HEADS_AT_ONCE))
            found = [
                mail_of(uid, data, size, folder) for part in parts for uid, size, data in self._fetched(part, _HEADS)
            ]
            return validity, uids, found

    def mark(self, folder: str) -> str:
        """Return the UIDVALIDITY of a folder, the next UID, the number of mails, and the UIDs marked as deleted."""
        with self._explained():
            connection, told = self._numbers(folder)
            self._marked[folder] = told
            found = self._asked(connection.uid("SEARCH", "DELETED"))
            return " ".join([*told, *((line or b"").decode("ascii", "replace") for line in found)])

    def wait(self, folder: str, seconds: float, ended: Event) -> bool:
        """Wait until the server reports a change in a folder, for `seconds` at most; then a new mark must be asked for.

        Return False at once if the server does not report changes (IDLE, RFC 2177).
        """
        with self._explained():
            if not self._can_idle():
                return False
            connection, told = self._numbers(folder)
            return told != self._marked[folder] or _idled(connection, min(seconds, IDLE_S), self._timeout_s, ended)

    def _can_idle(self) -> bool:
        """Return whether the server reports changes; most servers say so only after sign-in."""
        connection = self._opened()
        if self._idles is None:
            self._idles = b"IDLE" in b" ".join(self._asked(connection.capability())).upper().split()
        return self._idles

    def _numbers(self, folder: str) -> tuple["_Bounded", list[str]]:
        """Open a folder again, and return its UIDVALIDITY, the next UID, and the number of mails."""
        self._chosen = ""
        connection = self._choose(folder)
        return connection, [_told(connection, name) for name in ("UIDVALIDITY", "UIDNEXT", "EXISTS")]

    def read(self, folder: str, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield mails with their UIDs; if the server has closed the connection meanwhile, open it again."""
        uids = list(ids)
        with self._explained():
            try:
                self._choose(folder)
                found = self._fetched(uids, "(UID BODY.PEEK[])")
            except imaplib.IMAP4.abort:
                self._close()
                self._choose(folder)
                found = self._fetched(uids, "(UID BODY.PEEK[])")
            yield from ((uid, data) for uid, _, data in found)

    def _uids(self, connection: "_Bounded", following: int) -> list[str]:
        """Return the UIDs of a folder; `following` is the next UID, or 0 if the server does not say."""
        parts = [f"UID {at}:{at + _UIDS_AT_ONCE - 1}" for at in range(1, following, _UIDS_AT_ONCE)]
        found = list[str]()
        for part in parts if following else ["ALL"]:
            for line in self._asked(connection.uid("SEARCH", part, "UNDELETED")):
                found += (line or b"").decode("ascii").split()
        return found

    def _fetched(self, uids: list[str], what: str) -> list[tuple[str, int, bytes]]:
        """Return the UID, the size and the text of each mail that the server has."""
        connection = self._opened()
        wanted, found = {*uids}, list[tuple[str, int, bytes]]()
        parts = self._asked(connection.uid("FETCH", ",".join(uids), what)) if uids else []
        for part, after in zip(parts, [*parts[1:], b""], strict=True):
            if isinstance(part, tuple):
                # A server may send the UID before or after the text.
                told = part[0] + b" " + (after if isinstance(after, bytes) else b"")
                uid, size = re.search(rb"\bUID (\d+)", told), re.search(rb"RFC822\.SIZE (\d+)", told)
                if uid and uid[1].decode() in wanted:
                    found.append((uid[1].decode(), int(size[1]) if size else len(part[1]), part[1]))
        return found

    def _choose(self, folder: str) -> "_Bounded":
        """Open a folder read-only."""
        connection = self._opened()
        if self._chosen != folder:
            # `imaplib` accepts bytes as they are, although its types say str.
            self._asked(connection.select(cast(str, self._raw[folder]), readonly=True))
            self._chosen = folder
        return connection

    def _asked(self, answer: tuple[str, list[Any]]) -> list[Any]:
        status, data = answer
        if status != "OK":
            raise imaplib.IMAP4.error(_shown(data))
        return data

    def _opened(self) -> "_Bounded":
        if self._connection is None:
            self._connection = _connected(self._address, self._timeout_s, self._most_bytes)
            self._end = weakref.finalize(self, self._connection.shutdown)  # a source has no method to close it
            self._sign_in(self._connection)
        return self._connection

    def _sign_in(self, connection: "_Bounded") -> None:
        try:
            if self._is_token:
                told = f"user={self._user}\1auth=Bearer {self._secret}\1\1".encode()
                connection.authenticate("XOAUTH2", lambda said: b"" if said else told)
            else:
                connection.login(self._user, self._secret)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            if _LATER.search(str(error)):
                raise
            self._close()
            set_ = "`user` and `token`" if self._is_token else "`user` and `password`"
            raise ConfigError(f"the server refuses {set_}: {_shown([error])}") from None

    def _check_connection(self) -> None:
        """Drop a connection from an earlier request that was cut off since."""
        if self._connection is not None:
            try:
                self._connection.noop()
            except (imaplib.IMAP4.error, OSError):
                self._close()

    def _close(self) -> None:
        self._connection, self._chosen, self._idles = None, "", None
        self._end()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn failures into one line each, and drop the connection, whose state is then unknown."""
        host = self._address.hostname
        try:
            yield
        except (imaplib.IMAP4.error, OSError, ValueError) as error:
            self._close()
            raise _said(error, host or "") from None


class _Bounded(imaplib.IMAP4):
    """A connection with bounded answers: a server may announce a mail of any size."""

    most_bytes = 0
    _left = 0

    def uid(self, command: str, *arguments: str) -> tuple[str, list[Any]]:
        """Send a command whose answer may have at most `most_bytes`."""
        self._left = self.most_bytes
        return super().uid(command, *arguments)

    def read(self, size: int) -> bytes:
        """Read a text of the size that the server has announced."""
        self._left -= size
        if self.most_bytes and self._left < 0:
            raise self.abort(f"it sends more than {self.most_bytes} bytes, which nobody asked for")
        return super().read(size)


class _BoundedSSL(imaplib.IMAP4_SSL, _Bounded):
    """The same with encryption from the first byte."""


def _idled(connection: imaplib.IMAP4, seconds: float, timeout_s: float, ended: Event) -> bool:
    """Wait for anything from the server for `seconds`, or until `ended`; return False if it refuses.

    `imaplib` supports IDLE only from Python 3.14 on. What a server sends together with its consent is noticed at the
    end.
    """
    connection.send(_IDLE_TAG + b" IDLE\r\n")
    said = _lines_until(connection, (b"+", _IDLE_TAG), timeout_s)
    if not said[-1].startswith(b"+"):  # it announced IDLE but refuses it
        return False
    told, end = len(said) > 1, time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(connection.socket(), selectors.EVENT_READ)
        while not told and not ended.is_set() and (left := end - time.monotonic()) > 0:
            told = bool(selector.select(min(left, _TURN_S)))
    connection.send(b"DONE\r\n")
    _lines_until(connection, (_IDLE_TAG,), timeout_s)
    return True


def _lines_until(connection: imaplib.IMAP4, starts: tuple[bytes, ...], timeout_s: float) -> list[bytes]:
    """Return what a server sends, up to a line that starts with one of `starts`."""
    said, end = list[bytes](), time.monotonic() + timeout_s
    while not said or not said[-1].startswith(starts):
        said.append(connection.readline())
        if not said[-1] or time.monotonic() > end:
            raise imaplib.IMAP4.abort("it does not end IDLE")
    return said


def _connected(address: Any, timeout_s: float, most_bytes: int) -> _Bounded:
    """Return a connection that is encrypted or local."""
    host, encrypted = address.hostname, ssl.create_default_context  # which takes 17 ms
    if address.scheme == "imaps":
        made: _Bounded = _BoundedSSL(host, address.port or _SSL_PORT, ssl_context=encrypted(), timeout=timeout_s)
    else:
        made = _Bounded(host, address.port or _PORT, timeout=timeout_s)
        if "STARTTLS" in made.capabilities:
            made.starttls(encrypted())
        elif host not in _HERE:
            made.shutdown()
            raise ConfigError(f"{host} offers no encryption at this port; write imaps://{host}")
    made.most_bytes = most_bytes
    return made


def _said(error: Exception, host: str) -> Exception:
    """Return a failure in one line, with a hint at what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return SourceError(f"the certificate of {host} is not accepted: {error.verify_message}")
    if isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN:
        return SourceError(f"there is no host {host} (mailbox)")
    said = _shown([error])
    if isinstance(error, imaplib.IMAP4.abort | OSError) or _LATER.search(said):
        return Transient(f"{host} does not answer, or breaks off: {said}")
    return SourceError(f"{host} answers: {said}")


def _shown(data: list[Any]) -> str:
    """Return what a server said, in one line."""
    said = b" ".join(one for one in data if isinstance(one, bytes)).decode("utf-8", "replace")
    said = said or " ".join(str(one) for one in data if isinstance(one, Exception)).removeprefix("b'").rstrip("'")
    return " ".join(said.split())[:200]


def _told(connection: imaplib.IMAP4, name: str) -> str:
    """Return a number that the server sent when a folder was opened, or ""."""
    said = (connection.untagged_responses.get(name) or [b""])[-1]
    return said.decode("ascii", "replace") if isinstance(said, bytes) else ""


def _unquoted(raw: bytes) -> bytes:
    return re.sub(rb"\\(.)", rb"\1", raw[1:-1]) if raw.startswith(b'"') else raw


def _quoted(raw: bytes) -> bytes:
    return b'"' + re.sub(rb'(["\\])', rb"\\\1", _unquoted(raw)) + b'"'


def _name(raw: bytes, separator: bytes) -> str:
    """Return the name of a folder, decoded from modified UTF-7 (RFC 3501), with `/` for the server's separator."""
    plain = _unquoted(raw).decode("utf-8", "replace")
    name = _UTF_7.sub(_decoded, plain)
    between = separator.removeprefix(b"\\").decode("ascii", "replace")
    return "/".join(step for step in name.replace(between or "/", "/").split("/") if step)


def _decoded(found: re.Match[str]) -> str:
    if not found[1]:
        return "&"
    packed = found[1].replace(",", "/")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4)).decode("utf-16-be")
    except (binascii.Error, UnicodeDecodeError):
        return found[0]
