"""PDF special characters: replace those of pdfium and of typesetters by ordinary ones."""

import re

HYPHEN = "\x02"  # how pdfium marks a word cut at a line's end
RAISED, LOWERED = "\x0e", "\x0f"  # around superscript figures, until it is known what they are
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
        "\ufffe": HYPHEN,
    }
)
_LIGATURE = re.compile("[ﬀ-ﬆ]")
RIGHT_TO_LEFT_WORD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]{2,}")  # Hebrew, Arabic, Syriac, Thaana, ...
NO_LETTER = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\ue000-\uf8ff\0]")
SOFT = f"\u00ad\ufffe{HYPHEN}"


def clean(text: str) -> str:
    """Return single-spaced text, each sign as people write it."""
    # Nearly every line is printable ASCII in single spaces: what follows is ordered so that it costs next to nothing.
    if not text.isprintable() or (not text.isascii() and _LIGATURE.search(text)):
        soft = HYPHEN if text[-1:] in SOFT else ""
        text = text.translate(SIGNS).rstrip(HYPHEN) + soft
        return " ".join(text.split())
    return " ".join(text.split()) if "  " in text or text[:1] == " " or text[-1:] == " " else text


def clean_raised(text: str) -> str:
    """Return text with each sign as people write it; the marks around what is raised stay."""
    return RAISED.join(part.translate(SIGNS) for part in text.split(RAISED))


def in_columns(text: str) -> str:
    """Return a line of code with its inner spaces, which align text vertically."""
    return text.translate(SIGNS).replace("\r", "").expandtabs()
