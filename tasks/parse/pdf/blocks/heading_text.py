"""PDF heading text: what a line that stands out must say, and must not say, to be a heading."""

import re

from docmill.tasks.parse.pdf.blocks.marks import BULLET, CAPTION

LEADERS = re.compile(r"\.{5}|(?: \.){4}|\u2026{2}|(?: ?\u00b7){5}|_{5}")
"""Of a list of contents, or of a form to fill in."""
_THREE_LETTERS = re.compile(r"[^\W\d_]{3}")
_NO_ENDS = ".,;:"
_RUN_IN_WORDS = 5  # of a heading that ends with a stop on a line of its own, such as "Governing law."
_SENTENCE_WORDS = 8  # from which on large text with a stop at its end is a sentence: a quotation, a lead
_MAX_BOLD = 120  # letters of a heading as large as the text, which has less else to tell it from text
_LEAST_WORD = 3  # letters of a word: signs and initials are no heading
_NAMED = r"(?:chapter|section|article|part|appendix|annex|clause|kapitel|abschnitt|artikel|chapitre|titre|teil)\s+"
_NUMBER = re.compile(
    rf"(?:(?P<named>{_NAMED})(?P<which>\d{{1,3}}|[A-Z]|[IVXLC]{{1,6}})(?![\w.]*\w)"
    r"|(?P<decimal>(?:\d{1,2}|[A-Z](?=\.\d))(?:\.\d{1,2}){0,4})(?![\w)])\.?\s+(?=\S)"
    r"|§+\s*(?P<paragraph>\d{1,3}))",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})\)\s|[A-Za-z]\.\s+[a-z]")
_QUOTES = "\"'\u2018\u2019\u201c\u201d\u00ab\u00bb(\u00bf\u00a1"
_ADDRESS = re.compile(r"\w@\w|https?://|\bwww\.")
_FORMULA = re.compile(r"[<>={}\\∑∫∈≤≥]")
_MARKED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[A-Z]\.|[IVX]{1,5}\.|§+\s*\d+)\s+\S")


def depth(text: str) -> int:
    """Return how many numbers the number of a heading has: 3 for "1.3.1 Wear", 1 for "Section 4", 0 for none."""
    match = _NUMBER.match(text)
    return match["decimal"].count(".") + 1 if match and match["decimal"] else int(match is not None)


def says_no_heading(text: str) -> bool:
    """Return whether a line is an item, a caption, an address, or a line of contents, however large it is."""
    begins = BULLET.match(text) or CAPTION.match(text) or _ITEM.match(text)
    return bool(begins or LEADERS.search(text) or _ADDRESS.search(text))


def is_formula(text: str) -> bool:
    """Return whether text has signs of a formula and at most one word: its large brackets are no large letters."""
    return _FORMULA.search(text) is not None and len(_THREE_LETTERS.findall(text)) < 2


def is_sentence(text: str) -> bool:
    """Return whether text in large letters is a sentence, which headings are not: it stops and is long."""
    return text[-1:] in _NO_ENDS and len(text.split()) >= _SENTENCE_WORDS


def is_capital(text: str) -> bool:
    """Return whether a text of some words is set in capital letters."""
    return text.isupper() and _has_word(text, False)


def reads_as_heading(text: str, mono: bool) -> bool:
    """Return whether a line is short, begins and ends as headings do, and has a word in it."""
    text = text.rstrip()
    if len(text) >= _MAX_BOLD or not _ends_heading(text) or (not mono and _FORMULA.search(text)):
        return False
    return _begins_heading(text, mono) and _has_word(text, mono)


def _ends_heading(text: str) -> bool:
    if text[-1] not in _NO_ENDS:
        return True
    return text[-1] == "." and len(text.split()) <= _RUN_IN_WORDS and text[-2:-1].isalpha()


def _begins_heading(text: str, mono: bool) -> bool:
    first = next((sign for sign in text if sign not in _QUOTES), " ")
    return mono or first.isupper() or _MARKED.match(text) is not None or _is_uncased(first)


def _is_uncased(sign: str) -> bool:
    return sign.isalpha() and sign.lower() == sign.upper()


def _has_word(text: str, mono: bool) -> bool:
    """Return whether a text has a word of letters alone; set as code, letters within a name are enough."""
    if mono:
        return _THREE_LETTERS.search(text) is not None
    words = (word.strip(_QUOTES + ").,:;?!") for word in text.split())
    return any(
        (len(word) >= _LEAST_WORD and word.replace("-", "").isalpha()) or _is_uncased(word[:1]) for word in words
    )
