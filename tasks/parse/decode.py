"""Decode: bytes to text, with the chosen encoding and a count of damage, so that mojibake never goes unnoticed."""

import codecs
import re
import sys
from functools import partial
from typing import NamedTuple
from unicodedata import category

from docmill.storage.errors import Rejected

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_MARK = "\ufeff"
# Control characters that do not occur in texts, unlike tabs, line and file ends, and escapes for colours.
_CONTROLS = bytes(set(range(ord(" "))) - set(b"\t\n\v\f\r\x1a\x1b")) + b"\x7f"
_HIGH = bytes(range(128, 256))  # all bytes beyond ASCII
_SAMPLE = 200_000
"""Bytes used to detect the kind of text: statistics need some pages, and chardet is slow on a whole book."""
_CODES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-~])"  # ECMA-48, 5.4 and 5.6
)
"""Terminal codes, which are not shown: colours, cursor moves, link addresses."""
_TITLED = re.compile(rb"\x1b\][^\x07\x1b\n]*\x07")  # a window title or an address: the only codes that end with a bell
_OVERSTRUCK = re.compile(rb"_\x08(?=[^\s\x08])|([!-~]|[\xc2-\xf4][\x80-\xbf]{1,3})\x08(?=\1)")
"""A letter printed over itself, or over a line, as in `man` pages: bold and underlined letters."""
_LETTERS_ONCE = re.compile("[\x80-\x84\x86-\x9f]")  # controls, except for NEL, which some systems write
_OF_WINDOWS = {code: bytes((code,)).decode("cp1252", "ignore") or chr(code) for code in range(0x80, 0xA0)}
"""What a control means if Windows text was decoded as Latin-1, such as quotation marks and dashes."""
_ESCAPES = re.compile(rb"\x1b\$[@B(]")  # to Japanese letters in ASCII bytes
_BY_ESCAPES = "iso2022_jp_2"
_MAX_CONTROLS = 0.005
"""Share of control characters that a text may have: a page break or a stray byte, but far fewer than binary data."""
_MAX_DAMAGE = 0.01
"""Share of characters that may be damaged; above it, the byte order mark or the likeliest encoding is itself wrong."""
_SOUND_A_DAMAGE = 20
"""Sound non-ASCII bytes per damaged place in UTF-8: other encodings look like UTF-8 only by chance."""
_FEW = 6  # bytes
_MIN_ASCII = 5
"""Fewer than `_FEW` non-ASCII bytes, and fewer than one byte in `_MIN_ASCII`, are taken for Western European: a few
names or quotation marks in English text, from which statistics would guess any language."""
_STRANGE = re.compile(
    r"[^\W\d_][\x80-\xac\xae-\xb6\xb8-\xbf×÷ƒ†-•‰-›\u02c6\u02dc][^\W\d_]|[a-z][À-ÖØ-ÞŠŽŸ]|[A-Z][šžœ][a-z]"
)
"""A sign within a word, or a capital after a small letter: Eastern European, DOS or Mac text that was decoded as
Western European. A word may contain an apostrophe, a dash, a soft hyphen or a middle dot."""
_OUTDATED = re.compile("mac|cp4|cp8")
"""Encodings of DOS and old Macs: in a table with a few umlauts, statistics find them as often as the right one."""
_USUAL = re.compile("(?:[\0-\x7fäöüßÄÖÜéèêëàâçîïôûùÿœæñóíáúãõåøÅÆØÉÈÀÇÑ¿¡«»°§“”„\u2018’–—…•€\xa0]|[\u2500-\u256c])*")
"""Western text: letters and signs of its languages, and the rules of tables drawn under DOS."""
_OF_DOS_AND_MACS = ("cp850", "mac_roman")
_TWICE = re.compile("[\xc2\xc3][\x80-\xbf\u0152-\u2122]|\xe2[\u20ac\x80-\x9f]")
"""Letters and signs of UTF-8 that was read as Western European and encoded again."""
_BYTES = {ord(letter): code for code, letter in _OF_WINDOWS.items() if ord(letter) > ord("\xff")}
_UTF32_BYTES = 4  # per character
_UPPER_ZEROS = 0.9
"""Share of zeros that the two upper bytes of UTF-32 must exceed: they are zero in all living scripts."""
_LOWER_ZEROS = 0.5  # and the share of zeros that its lowest byte must stay below, or the data is mostly empty
_HALF_ZEROS = 0.4
"""Share of zeros that the upper bytes of UTF-16 must exceed: in Western text nearly all are zero, and in a text of
tables those of signs and digits. In other scripts, only those of blanks and digits are."""
_BLANKS = re.compile("[ \r\n]")  # in texts of all scripts
_STRAY_ZEROS = 0.02  # share of zeros in the lower bytes of UTF-16 above which the data is binary


class Decoded(NamedTuple):
    """Text without its byte order mark, the encoding, and the number of invalid bytes."""

    text: str
    encoding: str
    damage: int

    @property
    def metadata(self) -> dict[str, object]:
        """Return the metadata entries about the encoding."""
        return {"encoding": self.encoding} | ({"undecodable_bytes": self.damage} if self.damage else {})


def decode(data: bytes, declared: str = "") -> Decoded:
    """Return the text of a file: by byte order mark, zero bytes, escapes, UTF-8, `declared`, and finally statistics.

    Newlines are unchanged. Terminal codes and byte order marks are removed, and controls that were Windows letters are
    restored to these. Raise Rejected `undecodable` if the data is not text.
    """
    found = _decode(data, declared)
    if not found.text.isascii():
        found = found._replace(text=_restored(found.text))
    return found._replace(text=_CODES.sub("", found.text)) if "\x1b" in found.text else found


def _restored(text: str) -> str:
    """Return text with Windows letters for controls, encoded only once, and without marks of byte order."""
    text = text.replace(_MARK, "")
    if _TWICE.search(text):
        text = _encoded_once(text)
    return text.translate(_OF_WINDOWS) if _LETTERS_ONCE.search(text) else text


def _encoded_once(text: str) -> str:
    """Return the text that was encoded twice, or the text itself if any of its letters says that it was not."""
    try:
        return text.translate(_BYTES).encode("latin-1").decode()
    except UnicodeError:
        return text


def _decode(data: bytes, declared: str) -> Decoded:
    mark, encoding = _mark_of(data)
    encoding = encoding or _wide(data)
    if encoding:
        return _with_damage(data[len(mark) :], encoding)
    if b"\b" in data:
        data = _OVERSTRUCK.sub(b"", data)
    if _ESCAPES.search(data, 0, _SAMPLE) and (text := _strict(data, _BY_ESCAPES)) is not None:
        return Decoded(text, _BY_ESCAPES, 0)
    if _controls(data) > _MAX_CONTROLS:
        raise Rejected("undecodable", "binary data, not text of a known encoding")
    for encoding in filter(None, ("utf-8", _python_name(declared))):
        text = _strict(data, encoding)
        if text is not None:
            return Decoded(text, encoding, 0)
    return _nearly_utf8(data) or _guess(data)


def is_text(data: bytes) -> bool:
    """Return whether `data`, the beginning of a file, looks like text in some encoding."""
    _, marked = _mark_of(data)
    return bool(marked or _wide(data)) or _controls(data) <= _MAX_CONTROLS


def _mark_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark at the start of data and its encoding, both empty if there is none."""
    return next(((mark, encoding) for mark, encoding in _BOMS if data.startswith(mark)), (b"", ""))


def _controls(data: bytes) -> float:
    """Return the share of bytes that are control characters."""
    sample = data[:_SAMPLE]
    sample = _OVERSTRUCK.sub(b"", sample) if b"\b" in sample else sample
    sample = _TITLED.sub(b"", sample) if b"\x1b]" in sample else sample
    return (len(sample) - len(sample.translate(None, _CONTROLS))) / max(len(sample), 1)


def _python_name(declared: str) -> str:
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        return ""
    # The WHATWG maps these labels to their supersets, as all browsers do.
    return {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030"}.get(name, name)


def _wide(data: bytes) -> str:
    """Return the UTF-16 or UTF-32 encoding of a text without byte order mark, judged by the positions of its zeros.

    Return "" if the text would consist of control characters.
    """
    encoding = _by_zeros(data) or _by_blanks(data)
    text = data[:_SAMPLE].decode(encoding, "replace") if encoding else ""
    controls = sum(sign < " " and sign not in "\t\n\v\f\r\x1a\x1b" for sign in text)
    return encoding if controls <= _MAX_CONTROLS * len(text) else ""


def _by_zeros(data: bytes) -> str:
    sample = data[: _SAMPLE // _UTF32_BYTES * _UTF32_BYTES]
    if b"\0" not in sample or len(data) % 2:
        return ""
    words = max(len(sample) // _UTF32_BYTES, 1)
    zeros = [sample[place::_UTF32_BYTES].count(0) / words for place in range(_UTF32_BYTES)]
    widest = "" if len(data) % _UTF32_BYTES else _utf32_by_zeros(zeros)
    return widest or _utf16_by_zeros(zeros)


def _utf32_by_zeros(zeros: list[float]) -> str:
    """Return the UTF-32 variant that fits these shares of zeros at the four bytes of a character, or ""."""
    if min(zeros[2:]) > _UPPER_ZEROS and zeros[0] < _LOWER_ZEROS:
        return "utf-32-le"
    if min(zeros[:2]) > _UPPER_ZEROS and zeros[-1] < _LOWER_ZEROS:
        return "utf-32-be"
    return ""


def _utf16_by_zeros(zeros: list[float]) -> str:
    """Return the UTF-16 variant that fits these shares of zeros at the four bytes of two characters, or ""."""
    even, odd = sum(zeros[0::2]) / 2, sum(zeros[1::2]) / 2
    if odd > _HALF_ZEROS and even < _STRAY_ZEROS:
        return "utf-16-le"
    if even > _HALF_ZEROS and odd < _STRAY_ZEROS:
        return "utf-16-be"
    return ""


def _by_blanks(data: bytes) -> str:
    """Return the UTF-16 variant of a text in a script other than Latin, such as Greek or Chinese, judged by its blanks.

    Blanks are separate characters only in the right variant. Text in another encoding has no zeros, and other data
    contains code points that Unicode has not assigned.
    """
    if b"\0" not in data[:_SAMPLE] or len(data) % 2:
        return ""
    texts = {encoding: data[:_SAMPLE].decode(encoding, "replace") for encoding in ("utf-16-le", "utf-16-be")}
    blanks, encoding = max((len(_BLANKS.findall(text)), encoding) for encoding, text in texts.items())
    kinds = set(map(category, set(texts[encoding])))
    return encoding if blanks and "\ufffd" not in texts[encoding] and not kinds & {"Cn", "Co"} else ""


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _with_damage(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, "replace")
    damage = text.count("\ufffd")
    if damage and encoding.startswith("utf"):
        damage -= data.count("\ufffd".encode(encoding))
    if damage > max(2, len(text) * _MAX_DAMAGE):
        raise Rejected("undecodable", f"looks like {encoding}, but {damage} places are not valid {encoding}")
    return Decoded(text, encoding, max(damage, 0))


def _nearly_utf8(data: bytes) -> Decoded | None:
    """Return UTF-8 text with a few cut or damaged bytes, if far more of it is sound."""
    text = data.decode("utf-8", "replace")
    damage = text.count("\ufffd")
    sound = len(data) - len(data.translate(None, _HIGH)) - damage
    return Decoded(text, "utf-8", damage) if sound > _SOUND_A_DAMAGE * damage else None


def forget_statistics() -> None:
    """Drop the 22 MB of tables that chardet keeps after its first use; loading them again takes 70 ms."""
    models = sys.modules.get("chardet.models")
    for kept in [*vars(models).values()] if models is not None else ():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()


def _guess(data: bytes) -> Decoded:
    """Return the text in the likeliest encoding: Western European if there are too few non-ASCII bytes to tell."""
    high = len(data) - len(data.translate(None, _HIGH))
    is_mostly_ascii = high < len(data) / _MIN_ASCII
    western = _strict(data, "cp1252") if is_mostly_ascii else None
    few = western is not None and high < _FEW
    sound = western is not None and not _STRANGE.search(western)
    encoding = "cp1252" if few and sound else _by_statistics(data, "cp1252" if few else "")
    return _with_damage(data, _western_of(data, encoding, sound) if is_mostly_ascii else encoding)


def _western_of(data: bytes, encoding: str, sound: bool) -> str:
    """Return the encoding of a text with few letters beyond ASCII: of Western text if another one is as outdated."""
    if not _OUTDATED.match(encoding):
        return encoding
    return "cp1252" if sound else next(filter(partial(_is_western, data), _OF_DOS_AND_MACS), encoding)


def _is_western(data: bytes, encoding: str) -> bool:
    text = data.decode(encoding)
    return _USUAL.fullmatch(text) is not None and not _STRANGE.search(text)


def _by_statistics(data: bytes, default: str = "") -> str:
    """Return the likeliest encoding, else the default; raise Rejected if there is neither."""
    import chardet

    encoding = _python_name(chardet.detect(data[:_SAMPLE])["encoding"] or "") or default
    if not encoding:
        raise Rejected("undecodable", "not UTF-8, and no other encoding fits")
    return encoding
