"""PDF fonts: what a font's name, flags and weight say of the text that is set in it."""

import ctypes
import re
from dataclasses import dataclass
from functools import lru_cache

from docmill.tasks.parse.pdf.text.pdfium_calls import calls

_BOLD = re.compile(r"bold|black|heavy|cmbx|medi|-bd", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|menlo|typewriter|inconsolata|source ?code|fixed|(?:cm|sf|l)tt", re.IGNORECASE)
_BOLD_WEIGHT = 600
_FIXED_PITCH = 1
_NAME_BYTES = 128
_NAME = ctypes.create_string_buffer(_NAME_BYTES)  # where pdfium writes a name
_NAME_AT = ctypes.addressof(_NAME)


@dataclass(frozen=True, slots=True)
class Font:
    """What is known of a font."""

    bold: bool = False
    mono: bool = False

    def both(self, other: "Font") -> "Font":
        """Return what holds of two fonts."""
        if self is other:
            return self
        bold, mono = self.bold and other.bold, self.mono and other.mono
        return Font(bold, mono) if bold or mono else PLAIN


PLAIN = Font()


def read_font(pointer: int | None) -> Font:
    """Return what pdfium says of a font by its address."""
    if pointer is None:
        return PLAIN
    ask = calls()
    length = ask["FPDFFont_GetBaseFontName"](pointer, _NAME_AT, _NAME_BYTES)
    bold, mono = _named(_NAME.value if 0 < length <= _NAME_BYTES else b"")
    bold = bold or ask["FPDFFont_GetWeight"](pointer) >= _BOLD_WEIGHT
    flags = ask["FPDFFont_GetFlags"](pointer)
    mono = mono or (flags > 0 and bool(flags & _FIXED_PITCH))
    return Font(bold, mono) if bold or mono else PLAIN


@lru_cache(maxsize=4_096)
def _named(name: bytes) -> tuple[bool, bool]:
    """Return whether a font is bold, and whether of one width, by its name."""
    text = name.decode("latin-1")
    return _BOLD.search(text) is not None, _MONO.search(text) is not None
