"""RTF letters: convert the non-ASCII letters of a rich text document to UTF-8, which pandoc reads.

RTF writes such a letter as a byte, `\\'cf`, in the code page of its font, or in the document's if the font names none;
or as a number, `\\u1087?`, followed by a replacement for old readers. Pandoc takes every byte for Western European, and
loses halves of surrogate pairs, and the letter after a number that no space ends. Source: Rich Text Format
specification 1.9.1, "Character Set" and "Unicode RTF".
"""

import codecs
import re
from dataclasses import dataclass, replace

_TOKEN = re.compile(
    rb"\\'(?P<byte>[0-9a-fA-F]{2})|(?P<raw>[\x80-\xff]+)|(?P<open>\{)|(?P<close>\})"
    rb"|\\(?P<word>fonttbl|plain|mac|ansicpg|fcharset|deff|info|bin|uc|u|f)(?P<number>-?\d{1,9})?(?![A-Za-z0-9]) ?"
    rb"|\\[^'A-Za-z]"
)
_INSTEAD = re.compile(rb"\\'[0-9a-fA-F]{2}|\\[A-Za-z]+-?\d* ?|\\[^A-Za-z']|[^{}\\\r\n]")
_WORD = re.compile(rb"\\[A-Za-z]+(?:-?\d+)?\Z")
_SIGN = re.compile(r"[{}\\]")
_LONGEST_WORD = 40
"""Bytes before letters that may hold a control word: the specification allows 32 letters, then a number."""
_WESTERN = "cp1252"
_FONT_WORDS = ("f", "deff", "plain")
_CHARSETS = {  # of fonts; 1 is the document's own, 2 that of symbols
    0: _WESTERN, 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "cp950", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
    254: "cp437", 255: "cp850",
}  # fmt: skip
_NO_SECOND = (b"", b"\\", b"{", b"}", b"\r", b"\n")
_OF_TWO_BYTES = ("cp932", "cp949", "gbk", "cp950")
# Code pages that Python calls by a name; `\mac`, which has no number, is read as 0.
_PAGES = {0: "mac_roman", 936: "gbk", 10000: "mac_roman", 10007: "mac_cyrillic", 65001: "utf-8"}
_MAX_INSTEAD = 9
"""Replacement characters for one number: one or two are usual; a damaged count must not swallow the text."""
_UNITS = 0x10000  # numbers of UTF-16 code units; those from 32,768 on are written as negative ones


@dataclass(frozen=True)
class _Group:
    """The state of a group: its font, and the number of replacement characters of a number."""

    font: int = -1
    instead: int = 1


def with_letters(data: bytes) -> bytes:
    """Return a rich text document with its non-ASCII letters as UTF-8."""
    return _Letters(data).rewritten()


def _python_name(page: int) -> str:
    name = _PAGES.get(page, f"cp{page}")
    try:
        "".encode(name)
    except LookupError:
        return _WESTERN
    return name


class _Letters:
    """A walk over a document's control words; `_fonts` are the code pages of those that name one."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._page = _WESTERN
        self._fonts: dict[int, str] = {}
        self._default = -1
        self._group = _Group()
        self._around: list[_Group] = []
        self._parts: list[bytes] = []
        self._copied = 0

    def rewritten(self) -> bytes:
        """Return the document with each run of letters replaced."""
        at = 0
        while token := _TOKEN.search(self._data, at):
            at = token.end()
            if _is_letter(token):
                at = self._letters(token.start())
            elif token["open"]:
                self._around.append(self._group)
            elif token["close"]:
                self._group = self._around.pop() if self._around else _Group()
            elif token["word"] == b"bin":
                at = self._leave_out(token.start(), at + max(0, int(token["number"] or 0)))
            elif token["word"]:
                self._obey(token["word"].decode(), int(token["number"] or 0))
        return b"".join(self._parts) + self._data[self._copied :]

    def _leave_out(self, start: int, end: int) -> int:
        """Copy what is before the bytes of a picture, which are no text in any code page; return their end."""
        self._parts.append(self._data[self._copied : start])
        self._copied = min(end, len(self._data))
        return self._copied

    def _obey(self, word: str, number: int) -> None:
        """Apply a control word."""
        if word == "deff":
            self._default = number
        if word == "info":  # titles and authors are in the code page of the document, whatever its font
            self._group = replace(self._group, font=-1)
        if word == "fcharset":
            self._name_charset(number)
        elif word in ("ansicpg", "mac"):
            self._page = _python_name(number)
        elif word == "uc":
            self._group = replace(self._group, instead=max(0, min(number, _MAX_INSTEAD)))
        elif word in _FONT_WORDS:
            self._group = replace(self._group, font=number if word == "f" else self._default)

    def _name_charset(self, number: int) -> None:
        """Record the code page of the font being declared."""
        if number in _CHARSETS:
            self._fonts[self._group.font] = _CHARSETS[number]

    def _letters(self, start: int) -> int:
        """Write a run of letters, which may be halves of pairs, as one text; return its end."""
        page = self._fonts.get(self._group.font, self._page)
        decoder = codecs.getincrementaldecoder(page)("replace")
        units, at = bytearray(), start
        while (token := _TOKEN.match(self._data, at)) and _is_letter(token):
            at = token.end()
            if token["word"]:
                units += _utf16(decoder.decode(b"", True)) + _unit(token)
                at = self._after_instead(at)
                continue
            units += _utf16(decoder.decode(token["raw"] or bytes.fromhex(token["byte"].decode())))
            if page in _OF_TWO_BYTES and decoder.getstate()[0] and self._data[at : at + 1] not in _NO_SECOND:
                units += _utf16(decoder.decode(self._data[at : at + 1]))  # the second half, an ASCII letter by itself
                at += 1
        self._replace(start, at, (units + _utf16(decoder.decode(b"", True))).decode("utf-16-le", "replace"))
        return at

    def _replace(self, start: int, end: int, text: str) -> None:
        """Copy what is before a run of letters, then write it; a space keeps it apart from a control word."""
        gap = b" " if _WORD.search(self._data, max(self._copied, start - _LONGEST_WORD), start) else b""
        self._parts += (self._data[self._copied : start], gap, _SIGN.sub(r"\\\g<0>", text).encode())
        self._copied = end

    def _after_instead(self, at: int) -> int:
        """Return the end of the replacement characters of a number."""
        for _ in range(self._group.instead):
            instead = _INSTEAD.match(self._data, at)
            at = instead.end() if instead else at
        return at


def _is_letter(token: re.Match[bytes]) -> bool:
    return token.lastgroup in ("byte", "raw") or token["word"] == b"u"


def _unit(token: re.Match[bytes]) -> bytes:
    return (int(token["number"] or 0) % _UNITS).to_bytes(2, "little")


def _utf16(letters: str) -> bytes:
    return letters.encode("utf-16-le")
