"""PDF special characters: replace those of pdfium and of typesetters by ordinary ones."""

import re
import unicodedata

from docmill.tasks.parse.pdf.letters.scripts import between_marks

HYPHEN = "\x02"  # how pdfium marks a word cut at a line's end
# Control characters stand for letters that the font does not name; SIGNS makes them visible as such.
SIGNS: dict[int, str | None] = {code: "\ufffd" for code in range(1, 32) if chr(code) not in "\t\n\r\x02"}
SIGNS |= str.maketrans(
    {
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
        "\0": None,
        "\u00ad": None,
        "\u2060": None,
        "\ufffe": HYPHEN,
    }
)
# An accent that is drawn before its letter, as old fonts of LaTeX have it, and the mark that joins with the letter.
_ACCENTS = {
    "\u00b4": "\u0301", "\u00a8": "\u0308", "\u02c6": "\u0302", "\u02dc": "\u0303",
    "\u00b8": "\u0327", "\u02c7": "\u030c", "\u02d8": "\u0306", "\u02da": "\u030a", "\u02d9": "\u0307",
    "\u02dd": "\u030b",
}  # fmt: skip
_ACCENT = "[\u00b4\u00a8\u02c6\u02dc\u00b8\u02c7\u02d8\u02da\u02d9\u02dd]"
_DRAWN_ACCENT = re.compile(rf"({_ACCENT})(?:(?<=[^\W\d_].) )?([A-Za-z\u0131])")
_JOINING = re.compile("(?<=\\w) ?([\u0300-\u036f]+)")
_LIGATURES = "ﬀ-ﬆ"
_LIGATURE = re.compile(f"[{_LIGATURES}]")
_SELDOM = re.compile(f"[{_ACCENT[1:-1]}\u0300-\u036f{_LIGATURES}]")  # what `clean` replaces, besides what no one sees
RIGHT_TO_LEFT_WORD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]{2,}")  # Hebrew, Arabic, Syriac, Thaana, ...
NO_LETTER = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\ue000-\uf8ff\0]")
SOFT = f"\u00ad\ufffe{HYPHEN}"


def clean(text: str) -> str:
    """Return single-spaced text, each sign as people write it."""
    # Nearly every line is printable ASCII in single spaces: what follows is ordered so that it costs next to nothing.
    seldom = not text.isascii() and _SELDOM.search(text) is not None
    if seldom:
        text = _with_accents(text)
    if not text.isprintable() or (seldom and _LIGATURE.search(text)):
        return _with_usual_signs(text)
    return " ".join(text.split()) if "  " in text or text != text.strip(" ") else text


def _with_usual_signs(text: str) -> str:
    soft = HYPHEN if text[-1:] in SOFT else ""
    plain = text[:-1]
    if soft and plain.isascii() and plain.isprintable():  # as nearly all: a word is cut at its end, no sign is odd
        return " ".join((plain + soft).split())
    return " ".join((text.translate(SIGNS).rstrip(HYPHEN) + soft).split())


def _with_accents(text: str) -> str:
    """Return text with letters and the accents that are drawn over them as one character each."""
    if _DRAWN_ACCENT.search(text):
        text = _DRAWN_ACCENT.sub(_accented, text)
    if _JOINING.search(text):
        text = unicodedata.normalize("NFC", _JOINING.sub(r"\1", text))
    return text


def _accented(match: re.Match[str]) -> str:
    """Return a letter with its accent, or what was there if there is no such letter."""
    letter = "i" if match[2] == "\u0131" else match[2]
    whole = unicodedata.normalize("NFC", letter + _ACCENTS[match[1]])
    return whole if len(whole) == 1 else match[0]


def clean_marked(text: str) -> str:
    """Return text with each sign as people write it; the marks around scripts stay."""
    soft = HYPHEN if text[-1:] in SOFT else ""
    return " ".join((between_marks(text, _with_signs).rstrip(HYPHEN) + soft).split())


def _with_signs(text: str) -> str:
    return _with_accents(text).translate(SIGNS)


def in_columns(text: str) -> str:
    """Return a line of code with its inner spaces, which align text vertically."""
    return text.translate(SIGNS).replace("\r", "").expandtabs()
