"""Decode: bytes to text, with the encoding that was chosen, never mojibake in silence."""

import codecs
import re
import sys
from typing import NamedTuple

from docmill.storage.errors import Rejected

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b")) + b"\x7f"
_HIGH = bytes(range(128, 256))
_SAMPLE = 200_000
_ESCAPES = re.compile(rb"\x1b\$[@B(]")  # to Japanese letters, in bytes of ASCII
_BY_ESCAPES = "iso2022_jp_2"
_FEW = 6
_MAX_CONTROLS = 0.005
_MAX_DAMAGE = 0.01


class Decoded(NamedTuple):
    """Text without its byte order mark, the encoding, and how many bytes were no text in it."""

    text: str
    encoding: str
    damage: int

    @property
    def metadata(self) -> dict[str, object]:
        """Return what a document's metadata says of its encoding."""
        return {"encoding": self.encoding} | ({"undecodable_bytes": self.damage} if self.damage else {})


def decode(data: bytes, declared: str = "") -> Decoded:
    """Return the text of a file: by byte order mark, `declared`, UTF-8, zero bytes, then statistics.

    Newlines stay as they are in the file. Raise Rejected `undecodable` for what is no text.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _with_damage(data[len(mark) :], encoding)
    wide = _wide(data)
    if wide:
        return _with_damage(data, wide)
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
    """Return whether `data`, the beginning of a file, looks like text of some encoding."""
    marked = any(data.startswith(mark) for mark, _ in _BOMS)
    return marked or bool(_wide(data)) or _controls(data) <= _MAX_CONTROLS


def _controls(data: bytes) -> float:
    sample = data[:_SAMPLE]
    return (len(sample) - len(sample.translate(None, _CONTROLS))) / max(len(sample), 1)


def _python_name(declared: str) -> str:
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        return ""
    # The WHATWG reads these labels as their supersets, and so do all browsers.
    return {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030"}.get(name, name)


def _wide(data: bytes) -> str:
    """Return which UTF-16 or UTF-32 a text without byte order mark is in, by where its zeros stand.

    What would be a text of control characters is none.
    """
    encoding = _by_zeros(data)
    text = data[:_SAMPLE].decode(encoding, "replace") if encoding else ""
    controls = sum(sign < " " and sign not in "\t\n\v\f\r\x1a\x1b" for sign in text)
    return encoding if controls <= _MAX_CONTROLS * len(text) else ""


def _by_zeros(data: bytes) -> str:
    sample = data[: _SAMPLE // 4 * 4]
    if b"\0" not in sample or len(data) % 2:
        return ""
    zeros = [sample[i::4].count(0) / max(len(sample) // 4, 1) for i in range(4)]
    if min(zeros[2:]) > 0.9 and zeros[0] < 0.5 and len(data) % 4 == 0:
        return "utf-32-le"
    if min(zeros[:2]) > 0.9 and zeros[3] < 0.5 and len(data) % 4 == 0:
        return "utf-32-be"
    even, odd = (zeros[0] + zeros[2]) / 2, (zeros[1] + zeros[3]) / 2
    if odd > 0.4 and even < 0.02:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 and odd < 0.02 else ""


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
        raise Rejected("undecodable", f"marked or shaped as {encoding}, but {damage} places are no {encoding}")
    return Decoded(text, encoding, max(damage, 0))


def _nearly_utf8(data: bytes) -> Decoded | None:
    """Return UTF-8 text of which a few bytes were cut or damaged, if far more of it is sound."""
    text = data.decode("utf-8", "replace")
    damage = text.count("\ufffd")
    sound = len(data) - len(data.translate(None, _HIGH)) - damage
    return Decoded(text, "utf-8", damage) if sound > 20 * damage else None


def forget_statistics() -> None:
    """Drop the 22 MB of tables that chardet keeps once it was asked; it takes 70 ms to load them again."""
    models = sys.modules.get("chardet.models")
    for kept in [*vars(models).values()] if models is not None else ():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()


def _guess(data: bytes) -> Decoded:
    """Return the text in the likeliest encoding; too few bytes to tell from are Western European."""
    import chardet

    high = len(data) - len(data.translate(None, _HIGH))
    if high < _FEW and high < len(data) / 5 and (text := _strict(data, "cp1252")) is not None:
        return Decoded(text, "cp1252", 0)
    encoding = _python_name(chardet.detect(data[:_SAMPLE])["encoding"] or "")
    if not encoding:
        raise Rejected("undecodable", "not UTF-8, and no other encoding is likely")
    return _with_damage(data, encoding)
