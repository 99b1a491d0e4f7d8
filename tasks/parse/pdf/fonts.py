"""PDF fonts: what a font's name, flags and weight say of the text that is set in it."""

import ctypes
import re
from dataclasses import dataclass

from tasks.parse.pdf.calls import calls

_BOLD = re.compile(r"bold|black|heavy|cmbx|medi|-bd", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|menlo|typewriter|inconsolata|source ?code|fixed|(?:cm|sf|l)tt", re.IGNORECASE)
_BOLD_WEIGHT = 600
_FIXED_PITCH = 1
_NAME_BYTES = 128


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
    buffer = ctypes.create_string_buffer(_NAME_BYTES)
    length = ask["FPDFFont_GetBaseFontName"](pointer, ctypes.addressof(buffer), _NAME_BYTES)
    name = buffer.value.decode("latin-1") if 0 < length <= _NAME_BYTES else ""
    bold = _BOLD.search(name) is not None or ask["FPDFFont_GetWeight"](pointer) >= _BOLD_WEIGHT
    flags = ask["FPDFFont_GetFlags"](pointer)
    mono = _MONO.search(name) is not None or (flags > 0 and bool(flags & _FIXED_PITCH))
    return Font(bold, mono) if bold or mono else PLAIN
