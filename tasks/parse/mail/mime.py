"""Internet mail: from the bytes of a message to a `Letter`, the form of all kinds of mail, by the standard library.

The library's legacy policy is used, because the newer one raises on many headers of real mail; headers are decoded
here.
"""

import mimetypes
import re
import struct
from base64 import b64decode
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from email.utils import collapse_rfc2231_value
from itertools import chain
from quopri import decodestring
from typing import NamedTuple
from urllib.parse import unquote

from docmill.storage.errors import Rejected
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.pictures.addresses import of_data_uri

_WORD = re.compile(r"=\?([\w.:+-]{1,40})(?:\*[\w-]{0,20})?\?([bBqQ])\?([^?]{0,2000})\?=(?:\s+(?==\?))?")
_FOLD = re.compile(r"\r?\n|\r|\0")
# Their letters are encoded in ASCII bytes, so `decode`, which tries UTF-8 first, would take them for English.
_SEVEN_BIT = ("iso-2022", "iso2022", "hz", "utf-7", "utf7")
_MAX_HEADER = 20_000
"""Characters of a header to decode: lists of recipients fit; a header made to be slow does not."""
_WIDE_WITHIN = 100
"""Bytes of a message that show whether it was saved in UTF-16: every two bytes of ASCII then have a zero."""
_PADDING = "==="  # base64 ignores surplus padding, and fails if it is missing
_READ = ("text/plain", "text/html", "text/enriched", "text/rfc822-headers")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_CMS = ("application/pkcs7-mime", "application/x-pkcs7-mime")
_LOCKED = ("enveloped-data", "authenveloped-data", "")  # kinds of CMS that hide the text; an unnamed kind may, too
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff<>:\"|?*]+")
_SHOWN_ID = re.compile(r"\bcid:([^\s\"'<>()]{1,300})", re.IGNORECASE)
_MAX_NAME = 120
"""Characters of a name: file systems allow 255 bytes, most letters take one or two, and a number may be added."""
_MAX_SUFFIX = 12  # a shorter last part, such as ".docx", is a suffix that a cut name keeps; a longer one is a sentence
_SUFFIXES = {"message/rfc822": ".eml", "application/vnd.ms-outlook": ".msg", "text/plain": ".txt", "image/jpeg": ".jpg"}

_WORD_PIXELS = 12
"""Pixels of a picture's smaller side from which it may show a word: capitals take eight, plus a margin."""
_SIZED = 24  # bytes of a picture within which both formats state its size
_SIZES: tuple[tuple[bytes, Callable[[bytes], tuple[int, ...]]], ...] = (
    (b"\x89PNG\r\n\x1a\n", lambda data: struct.unpack(">II", data[16:24])),
    (b"GIF8", lambda data: struct.unpack("<HH", data[6:10])),
)


@dataclass(frozen=True, slots=True)
class Body:
    """Text to read as plain text or as HTML."""

    text: str
    html: bool = False


class ShownPicture(NamedTuple):
    """A picture that the text of a mail shows by its content id, such as the logo of a signature."""

    name: str
    data: bytes
    content_id: str


@dataclass(slots=True)
class Letter:
    """A mail: its header by lower-case names, and its bodies and attachments in order.

    A body is a tuple of alternatives with the same content. `encrypted` names the kind of encryption. `pictures` belong
    to the text and are not attachments.
    """

    head: dict[str, str] = field(default_factory=dict)
    bodies: list[tuple[Body, ...]] = field(default_factory=list)
    attached: list[tuple[str, bytes]] = field(default_factory=list)
    pictures: list[ShownPicture] = field(default_factory=list)
    encrypted: str = ""
    damage: int = 0

    def shown_picture(self, address: str) -> bytes | None:
        """Return the picture at an address in the text: by content id, or the one that the address contains."""
        if address[:4].lower() != "cid:":
            return of_data_uri(address)
        return next((one.data for one in self.pictures if one.content_id == unquote(address[4:])), None)


def shown_ids(html: str) -> frozenset[str]:
    """Return the content ids of the parts that an HTML text shows, as in `<img src="cid:logo@x">`."""
    return frozenset(unquote(found) for found in _SHOWN_ID.findall(html))


def is_picture(content_type: str, name: str) -> bool:
    """Return whether a part of a mail is a picture, by its type or its name."""
    return any(one.startswith("image/") for one in (content_type, mimetypes.guess_type(name)[0] or ""))


def is_icon(data: bytes) -> bool:
    """Return whether data is a picture whose height or width is too small for a word, such as a logo."""
    size = next((read(data) for sign, read in _SIZES if data.startswith(sign) and len(data) >= _SIZED), None)
    return size is not None and min(size) < _WORD_PIXELS


def unique_names(attached: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Return attachments with safe names, no two of which differ only in case."""
    found: list[tuple[str, bytes]] = []
    last: dict[str, int] = {}
    for name, data in attached:
        name = safe_name(name)
        stem, dot, suffix = name.rpartition(".")
        while name.lower() in last:
            last[name.lower()] += 1
            number = last[name.lower()]
            name = f"{stem}-{number}.{suffix}" if dot else f"{suffix}-{number}"
        last[name.lower()] = 1
        found.append((name, data))
    return found


def safe_name(name: str) -> str:
    """Return the last part of a path, without characters that file systems reserve."""
    name = _UNSAFE.sub(" ", name.replace("\\", "/").rpartition("/")[2])
    name = " ".join(name.split()).strip(". ")
    stem, dot, suffix = name.rpartition(".")
    if len(name) > _MAX_NAME and dot and len(suffix) < _MAX_SUFFIX:
        name = f"{stem[: _MAX_NAME - len(suffix) - 1]}.{suffix}"
    return name[:_MAX_NAME] or "attachment"


def name_for(content_type: str, stem: str = "attachment") -> str:
    """Return a name for an attachment that has none."""
    return stem + (_SUFFIXES.get(content_type) or mimetypes.guess_extension(content_type) or ".bin")


def message_name(subject: str) -> str:
    """Return a file name for a message inside another."""
    return (subject.replace("/", "-").replace("\\", "-") or "message") + ".eml"


def read_mime(data: bytes) -> Letter:
    """Return the letter of a message; raise Rejected if its parts are nested too deeply."""
    letter = Letter()
    try:
        message = message_from_bytes(_narrow(data))
        charset = _charset_of_head(message, data)
        for name, value in message.raw_items():
            letter.head.setdefault(name.lower(), decoded(value, charset))
        letter.bodies = _walk(message, letter, _shown(message))
    except RecursionError as error:
        raise Rejected("corrupt", "a mail with parts nested hundreds deep") from error
    return letter


def _charset_of_head(message: Message, data: bytes) -> str:
    """Return the likeliest charset of a non-ASCII header, detected with the body, because the header is too short."""
    if all(value.isascii() for _, value in message.raw_items()):
        return ""
    stated = (part.get_content_charset() for part in message.walk() if not part.is_multipart())
    charset = next(filter(None, stated), "")
    try:
        return charset if charset not in ("", "us-ascii", "ascii") else decode(data).encoding
    except Rejected:
        return ""


def decoded(value: str, charset: str = "") -> str:
    """Return a header in one line, cut at 20,000 characters, with its encoded words decoded (RFC 2047).

    Non-ASCII bytes outside encoded words are UTF-8, or else in `charset`.
    """
    value = _FOLD.sub("", value[:_MAX_HEADER])
    if not value.isascii():
        value = _text(value.encode("utf-8", "surrogateescape"), charset)[0]
    text, at, pending, charset = "", 0, b"", ""
    for word in _WORD.finditer(value):
        if word.start() != at or word[1].lower() != charset:  # a character may be split between two words
            text, pending = text + _text(pending, charset)[0], b""
        text += value[at : word.start()]
        pending, charset, at = pending + _bytes_of(word), word[1].lower(), word.end()
    return " ".join((text + _text(pending, charset)[0] + value[at:]).split())


def _bytes_of(word: re.Match[str]) -> bytes:
    try:
        if word[2] in "qQ":
            return decodestring(word[3].encode(), header=True)
        return b64decode(word[3] + _PADDING)
    except ValueError:
        return word[0].encode()


def _narrow(data: bytes) -> bytes:
    """Return a message without text before its header; one in UTF-16, which `email` cannot read, becomes UTF-8."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or b"\0" in data[:_WIDE_WITHIN]:
        data = decode(data).text.encode()
    return data.removeprefix(BOM_UTF8).lstrip(b"\r\n")


def _shown(message: Message) -> frozenset[str]:
    """Return the content ids that a message's HTML shows, if it has pictures with one."""
    parts = [part for part in message.walk() if not part.is_multipart()]
    if not any(_content_id(part) and is_picture(part.get_content_type(), _name(part)) for part in parts):
        return frozenset()
    html = (_content(part).decode("utf-8", "replace") for part in parts if part.get_content_type() == "text/html")
    return shown_ids("\n".join(html))


def _content_id(part: Message) -> str:
    return str(part.get("content-id", "")).strip().strip("<>")


def _walk(part: Message, letter: Letter, shown: frozenset[str]) -> list[tuple[Body, ...]]:
    """Return the bodies of a part and its nested parts; add its attachments and shown pictures to the letter."""
    kind = _kind(part)
    if _is_locked(part, kind):
        letter.encrypted = str(part.get_param("protocol") or kind)
        return []
    if kind == "message/delivery-status":
        return [(_status(part),)]
    if kind == "message/rfc822":
        letter.attached += _enclosed(part)
        return []
    if part.is_multipart():
        return _together(kind, [_walk(one, letter, shown) for one in _parts(part)])
    if _is_shown(part, kind):
        return [(_body(part, kind, letter),)]
    files, content_id = _file(part, kind), _content_id(part)
    if content_id in shown and is_picture(kind, _name(part)):
        letter.pictures += [ShownPicture(*file, content_id) for file in files]
    else:
        letter.attached += files
    return []


def _kind(part: Message) -> str:
    """Return the type of a part; one that states parts, but not what separates them, is text."""
    kind = part.get_content_type()
    return "text/plain" if kind.startswith("multipart/") and not part.is_multipart() else kind


def _is_locked(part: Message, kind: str) -> bool:
    enveloped = kind in _CMS and _parameter(part, "smime-type") in _LOCKED
    return kind == "multipart/encrypted" or enveloped


def _is_shown(part: Message, kind: str) -> bool:
    """Return whether mail programs show a part as text; a part with a file name is an attachment."""
    return kind in _READ and not _name(part) and part.get_content_disposition() != "attachment"


def _status(part: Message) -> Body:
    """Return a delivery report; `email` would take each of its paragraphs for a message."""
    return Body("\n".join(str(block) for block in _parts(part)))


def _together(kind: str, inside: list[list[tuple[Body, ...]]]) -> list[tuple[Body, ...]]:
    """Return the bodies of several parts: as alternatives, or one after another."""
    if kind != "multipart/alternative":
        return list(chain.from_iterable(inside))
    options = tuple(chain.from_iterable(map(_joined, inside)))
    return [options] if options else []


def _file(part: Message, kind: str) -> list[tuple[str, bytes]]:
    """Return the file in a part, with its name; none if it is empty or only a signature."""
    content = b"" if kind in _SIGNATURES else _content(part)
    return [(_name(part) or name_for(kind), content)] if content.strip() else []


def _parts(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [one for one in payload if isinstance(one, Message)] if isinstance(payload, list) else []


def _joined(groups: list[tuple[Body, ...]]) -> list[Body]:
    """Return several texts as one body if all have the same type, such as HTML before and after an inline picture."""
    bodies = [group[-1] for group in groups]
    if len({body.html for body in bodies}) == 1:
        return [Body("\n\n".join(body.text for body in bodies), bodies[0].html)]
    return bodies


def _body(part: Message, kind: str, letter: Letter) -> Body:
    text, damage = _text(_content(part), _parameter(part, "charset"))
    letter.damage += damage
    if _parameter(part, "format").lower() == "flowed":
        text = _unflowed(text, _parameter(part, "delsp").lower() == "yes")
    return Body(text, html=kind == "text/html")


def _text(data: bytes, charset: str) -> tuple[str, int]:
    """Return bytes as text, and the number of damaged characters; a wrong or unknown charset is ignored."""
    if charset.lower().startswith(_SEVEN_BIT):
        try:
            return data.decode(charset), 0
        except (UnicodeError, LookupError):
            pass
    try:
        found = decode(data, charset)
    except Rejected:
        text = data.decode("utf-8", "replace").replace("\0", "")
        return text, text.count("\ufffd")
    return found.text, found.damage


def _unflowed(text: str, delete_space: bool) -> str:
    """Return a text, joining lines that were broken by a program rather than its author (RFC 3676)."""
    lines: list[str] = []
    soft, depth = False, 0
    for line in text.splitlines():
        quotes = len(line) - len(line.lstrip(">"))
        content = line[quotes:].removeprefix(" ")
        if soft and quotes == depth and content != "-- ":
            lines[-1] = (lines[-1][:-1] if delete_space else lines[-1]) + content
        else:
            lines.append(">" * quotes + " " * bool(quotes) + content)
        soft, depth = content.endswith(" ") and content != "-- ", quotes
    return "\n".join(lines)


def _content(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _enclosed(part: Message) -> list[tuple[str, bytes]]:
    """Return the messages that a part encloses, each as a separate file."""
    found = []
    for one in _parts(part):
        if part.get("content-transfer-encoding", "").strip().lower() in ("base64", "quoted-printable"):
            one["Content-Transfer-Encoding"] = part["content-transfer-encoding"]
            data = _content(one)
        else:
            data = one.as_bytes()
        if data.strip():
            subject = decoded(str(one.get("subject", "")))
            found.append((_name(part) or message_name(subject), data))
    return found


def _name(part: Message) -> str:
    for name, said in part.raw_items():  # in bare bytes, which `get_param` would replace
        if not said.isascii():
            part.replace_header(name, said.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    value = part.get_param("filename", None, "content-disposition") or part.get_param("name")
    return decoded(collapse_rfc2231_value(value)) if value else ""


def _parameter(part: Message, name: str) -> str:
    value = part.get_param(name)
    return collapse_rfc2231_value(value).strip() if value else ""
