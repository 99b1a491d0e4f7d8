"""Outlook messages: from the bytes of a .msg file to a `Letter`, by `olefile` (MS-OXMSG, MS-OXPROPS).

A property of variable size is a stream whose name ends in its number and type. Dates and integers are in one stream,
`__properties_version1.0`: a header, followed by entries of equal size.
"""

import codecs
import io
import struct
from datetime import UTC, datetime, timedelta
from email.header import Header
from email.mime.application import MIMEApplication
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.parser import HeaderParser
from hashlib import sha256
from typing import Any

from docmill.storage.errors import Rejected
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.mail.mime import Body, Letter, ShownPicture, decoded, is_picture, message_name, shown_ids

# Property numbers from MS-OXPROPS.
_SUBJECT, _BODY, _HTML, _HEADERS, _CLASS = 0x0037, 0x1000, 0x1013, 0x007D, 0x001A
_SENDER, _SENDER_MAIL, _SENDER_SMTP, _SENT_FOR = 0x0C1A, 0x0C1F, 0x5D01, 0x0042
_NAME, _MAIL, _SMTP, _KIND = 0x3001, 0x3003, 0x39FE, 0x0C15
_CONTENT_TYPE, _CONTENT_ID = 0x370E, 0x3712  # PidTagAttachMimeTag, PidTagAttachContentId
_LONG_FILE, _FILE, _CONTENT, _CODEPAGE, _INTERNET_CODEPAGE = 0x3707, 0x3704, 0x3701, 0x3FFD, 0x3FDE
_DATES = (0x0039, 0x0E06, 0x3007)  # sent, delivered, created
_MESSAGE_ID, _ANSWERS = 0x1035, 0x1042
_RECEIVERS = {1: "to", 2: "cc", 3: "bcc"}
_WIDE, _NARROW, _BINARY, _OBJECT = "001F", "001E", "0102", "000D"  # types in stream names: texts, bytes, storage
_INTEGER, _TIME = 0x0003, 0x0040  # types in entries
_INTEGER_SIZE = 4  # of the eight bytes of a value
# Bytes before the first entry, by the kind of storage (MS-OXMSG 2.4.1).
_MESSAGE_HEADER, _ENCLOSED_HEADER, _PART_HEADER = 32, 24, 8
_ENTRY_SIZE, _TAG_SIZE, _VALUE_AT = 16, 4, 8  # an entry has a tag, four bytes of flags, and eight bytes of value
_KEPT = ("from", "to", "cc", "subject", "date", "message-id", "in-reply-to")
_CODEPAGES = {65001: "utf-8", 20127: "ascii", 28591: "cp1252", 50220: "iso-2022-jp", 51949: "euc-kr", 54936: "gb18030"}
_MAX_DEPTH = 10
"""Messages nested in messages: each is serialized again for every level around it, so depth costs time and memory."""
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_TICKS_A_MICROSECOND = 10  # times count tenths of a microsecond
_BOUNDARY_DIGITS = 32
"""Digits of a hash in the boundary between parts: 128 bits, so that no part contains it by chance."""


def read_outlook(data: bytes) -> Letter:
    """Return the letter of a .msg file; raise Rejected if the container is damaged."""
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            return _Folder(container, []).letter()
    except (OSError, struct.error, ValueError, LookupError, TypeError, RecursionError) as error:
        raise Rejected("corrupt", f"cannot be read as msg: {type(error).__name__}: {error}") from error


class _Folder:
    """A storage of the container: a message, a recipient or an attachment."""

    def __init__(self, container: Any, path: list[str], header: int = _MESSAGE_HEADER, charset: str = "") -> None:
        self._container = container
        self._path = path
        self._fixed = self._read("__properties_version1.0")[header:]
        self._charset = self._codepage(_CODEPAGE, _INTERNET_CODEPAGE) or charset

    def letter(self, depth: int = 0) -> Letter:
        """Return the message in this storage."""
        options = (Body(self.text(_BODY)), Body(self._html(), html=True))
        letter = Letter(self._head(), [tuple(option for option in options if option.text.strip())])
        if self.text(_CLASS).upper() == "IPM.NOTE.SMIME":
            letter.encrypted = "S/MIME"
        shown = shown_ids(options[1].text)
        for folder in self._folders("__attach_version1.0_#"):
            folder.attach_to(letter, shown, depth)
            if folder.text(_CONTENT_TYPE) == "application/pgp-encrypted":
                letter.encrypted = "application/pgp-encrypted"
        if letter.encrypted and not letter.bodies[0]:  # the only attachment is the encrypted mail itself
            letter.bodies, letter.attached = [], []
        return letter

    def attach_to(self, letter: Letter, shown: frozenset[str], depth: int) -> None:
        """Add the attachment in this storage to a letter whose text shows the parts with the ids `shown`."""
        attached, content_id = self.attachment(depth), self.text(_CONTENT_ID)
        if attached and content_id in shown and is_picture(self.text(_CONTENT_TYPE), attached[0]):
            letter.pictures.append(ShownPicture(*attached, content_id))
        elif attached:
            letter.attached.append(attached)

    def _html(self) -> str:
        """Return the HTML body, which is stored as bytes or, by some programs, as text."""
        html = self._read(f"__substg1.0_{_HTML:04X}{_BINARY}")
        if not html:
            return self.text(_HTML)
        return _decoded(html, self._codepage(_INTERNET_CODEPAGE) or self._charset)

    def text(self, number: int) -> str:
        """Return a text property, or ""."""
        wide = self._read(f"__substg1.0_{number:04X}{_WIDE}")
        if wide:
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        return _decoded(self._read(f"__substg1.0_{number:04X}{_NARROW}"), self._charset).rstrip("\0")

    def number(self, number: int) -> int:
        """Return an integer property, or 0."""
        return int.from_bytes(self._value(number, _INTEGER)[:_INTEGER_SIZE], "little")

    def attachment(self, depth: int) -> tuple[str, bytes] | None:
        """Return an attachment's name and content; a message is converted to internet mail."""
        name = self.text(_LONG_FILE) or self.text(_FILE) or self.text(_NAME)
        inside = f"__substg1.0_{_CONTENT:04X}{_OBJECT}"
        if self._container.exists("/".join([*self._path, inside, "__properties_version1.0"])):
            if depth >= _MAX_DEPTH:
                raise Rejected("corrupt", f"messages nested more than {_MAX_DEPTH} deep")
            enclosed = _Folder(self._container, [*self._path, inside], _ENCLOSED_HEADER, self._charset)
            letter = enclosed.letter(depth + 1)
            return message_name(letter.head.get("subject") or name), _as_mime(letter)
        content = self._read(f"__substg1.0_{_CONTENT:04X}{_BINARY}")
        return (name, content) if content else None

    def _head(self) -> dict[str, str]:
        """Return the internet headers, if the message has any, completed from the properties."""
        head: dict[str, str] = {}
        for name, value in HeaderParser().parsestr(self.text(_HEADERS)).raw_items():
            head.setdefault(name.lower(), decoded(value))
        known = self._receivers() | {
            "from": self._sender(),
            "subject": self.text(_SUBJECT),
            "date": next(filter(None, map(self._date, _DATES)), ""),
            "message-id": self.text(_MESSAGE_ID),
            "in-reply-to": self.text(_ANSWERS),
        }
        return {name: value for name, value in known.items() if value and name not in head} | head

    def _sender(self) -> str:
        name = self.text(_SENDER) or self.text(_SENT_FOR)
        return _address(name, self.text(_SENDER_SMTP) or self.text(_SENDER_MAIL))

    def _receivers(self) -> dict[str, str]:
        """Return the recipients by header: to, cc, bcc."""
        found: dict[str, list[str]] = {}
        for folder in self._folders("__recip_version1.0_#"):
            address = _address(folder.text(_NAME), folder.text(_SMTP) or folder.text(_MAIL))
            found.setdefault(_RECEIVERS.get(folder.number(_KIND), "to"), []).append(address)
        return {name: ", ".join(filter(None, addresses)) for name, addresses in found.items()}

    def _date(self, number: int) -> str:
        ticks = int.from_bytes(self._value(number, _TIME), "little")
        if not ticks:
            return ""
        try:
            return (_EPOCH + timedelta(microseconds=ticks // _TICKS_A_MICROSECOND)).isoformat(timespec="seconds")
        except OverflowError:
            return ""

    def _value(self, number: int, kind: int) -> bytes:
        """Return the eight bytes of a fixed-size property, or b""."""
        tag = struct.pack("<HH", kind, number)
        for at in range(0, len(self._fixed) - _ENTRY_SIZE + 1, _ENTRY_SIZE):
            if self._fixed[at : at + _TAG_SIZE] == tag:
                return self._fixed[at + _VALUE_AT : at + _ENTRY_SIZE]
        return b""

    def _codepage(self, *numbers: int) -> str:
        """Return the charset stated by the first of these properties that is known, or ""."""
        for page in filter(None, map(self.number, numbers)):
            try:
                return codecs.lookup(_CODEPAGES.get(page) or f"cp{page}").name
            except LookupError:
                continue
        return ""

    def _folders(self, prefix: str) -> list["_Folder"]:
        depth = len(self._path)
        names = {
            entry[depth]
            for entry in self._container.listdir(streams=False, storages=True)
            if len(entry) == depth + 1 and entry[:depth] == self._path and entry[depth].startswith(prefix)
        }
        return [_Folder(self._container, [*self._path, name], _PART_HEADER, self._charset) for name in sorted(names)]

    def _read(self, name: str) -> bytes:
        path = "/".join([*self._path, name])
        if not self._container.exists(path):
            return b""
        with self._container.openstream(path) as stream:
            content: bytes = stream.read()
        return content


def _decoded(data: bytes, charset: str) -> str:
    try:
        return decode(data, charset).text if data else ""
    except Rejected:
        return data.decode("utf-8", "replace")


def _address(name: str, mail: str) -> str:
    if not mail or "@" not in mail or mail == name:
        return name or mail
    return f"{name} <{mail}>" if name else mail


def _as_mime(letter: Letter) -> bytes:
    """Return a letter as internet mail, so that an enclosed message can be a document."""
    parts: list[MIMEBase] = [_written(body) for group in letter.bodies for body in group]
    kind = "alternative"
    if letter.attached or letter.pictures or not parts:
        files = [_attachment(name, data) for name, data in letter.attached]
        pictures = [_attachment(name, data, content_id) for name, data, content_id in letter.pictures]
        parts = [_joined("alternative", parts), *files, *pictures]
        kind = "mixed"
    message = _joined(kind, parts)
    for name in _KEPT:
        if letter.head.get(name):
            message.add_header(name.title(), Header(letter.head[name], "utf-8").encode())
    return message.as_bytes()


def _written(body: Body) -> MIMEText:
    return MIMEText(body.text, "html" if body.html else "plain", "utf-8")


def _joined(kind: str, parts: list[MIMEBase]) -> MIMEBase:
    """Return several parts as one; the boundary is a hash of their content, so that equal letters are equal bytes."""
    digest = sha256(b"".join(part.as_bytes() for part in parts)).hexdigest()
    return MIMEMultipart(kind, f"=={digest[:_BOUNDARY_DIGITS]}", parts)


def _attachment(name: str, data: bytes, content_id: str = "") -> MIMEBase:
    part = MIMEApplication(data)
    if content_id:
        part.add_header("Content-ID", f"<{content_id}>")
    part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", name))
    return part
