"""PDF fonts: whether text is bold or monospaced, by a font's name, flags and weight."""

import ctypes
import re
from dataclasses import dataclass
from functools import lru_cache

from docmill.tasks.parse.pdf.text.pdfium_calls import calls
from docmill.tasks.parse.pdf.text.place import tenths

_BOLD = re.compile(r"bold|black|heavy|cmbx|medi|-bd", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|menlo|typewriter|inconsolata|source ?code|fixed|(?:cm|sf|l)tt", re.IGNORECASE)
_BOLD_WEIGHT = 600  # "semi-bold"; text is set in 400, seldom 500, and headings in 600 and more
_FIXED_PITCH = 1  # the flag of a font of one width, in a PDF's font descriptor
_NAME_BYTES = 128  # longer than the names of real fonts; nothing is made of a name that does not fit
_KNOWN_NAMES = 4_096  # kept by a worker over its documents, which share most of them

_LEAST_FIT, _MOST_FIT = 0.5, 2.5
"""Heights of a line in sizes of its font. A line is about 1.2 sizes high; outside of these the size cannot be true,
since some fonts count in units of their own. Closer limits would change the sizes of fonts with tall or flat boxes."""
_OF_HEIGHT = 0.85  # the size of a font by the height of its line, the inverse of those 1.2
_LEAST_SIZE = 0.1  # points, what sizes are rounded to; others divide by them


@dataclass(frozen=True, slots=True)
class Font:
    """The properties of a font: bold, and monospaced, as for code."""

    bold: bool = False
    mono: bool = False

    def both(self, other: "Font") -> "Font":
        """Return the properties that both fonts share."""
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
    name = ctypes.create_string_buffer(_NAME_BYTES)
    length = ask["FPDFFont_GetBaseFontName"](pointer, ctypes.addressof(name), _NAME_BYTES)
    bold, mono = _named(name.value if 0 < length <= _NAME_BYTES else b"")
    bold = bold or ask["FPDFFont_GetWeight"](pointer) >= _BOLD_WEIGHT
    flags = ask["FPDFFont_GetFlags"](pointer)  # -1 where it has none
    mono = mono or (flags > 0 and bool(flags & _FIXED_PITCH))
    return Font(bold, mono) if bold or mono else PLAIN


@lru_cache(maxsize=_KNOWN_NAMES)
def _named(name: bytes) -> tuple[bool, bool]:
    """Return whether a font is bold, and whether it is monospaced, by its name."""
    text = name.decode("latin-1")
    return _BOLD.search(text) is not None, _MONO.search(text) is not None


def fitting_size(size: float, height: float) -> float:
    """Return a font's size in tenths of a point if it fits the height of its line, else one by that height."""
    fits = _LEAST_FIT * size <= height <= _MOST_FIT * size
    return max(tenths(size if fits else _OF_HEIGHT * height), _LEAST_SIZE)
