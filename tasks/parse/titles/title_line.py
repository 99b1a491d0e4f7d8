"""Title line: the forms in which people write the title of a section where they have no markup.

Each form is one entry of `FORMS`. A form that is *sure* is a title wherever it stands. Lines of the other forms are
also entries of lists, names, verses and shouts, so `untitled` judges them by what stands around them.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

_CHAPTER = re.compile(
    r"(?:(?P<top>book|part|volume|act|teil)|chapter|canto|scene|article|appendix|section|letter|stave|lesson|annex"
    r"|schedule|exhibit|kapitel|artikel|abschnitt|anhang|chapitre|annexe|cap[ií]tulo|art[ií]culo)"
    r"[ \t]+(?:[ivxlcdm]+|\d+(?:\.\d+)*[a-z]?|the[ \t]\w+|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)\b[.:]?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST = 120
"""Maximum characters of a title. A longer block that begins like one is a paragraph ("Section 2 of the act provides
..."); with less, long chapter titles are lost."""
_LONGEST_SURE = 250
"""Maximum characters of a title between signs: titles of scientific articles have up to 200."""
_WIKI = re.compile(
    r"(?P<signs>=(?:[ ]?=){0,5})[ ]+(?P<text>[^\s=](?:.*[^\s=])?)[ ]+(?P=signs)\Z"
    r"|(?P<tight>={2,6})(?P<words>[^\s=](?:[^=\n]*[^\s=])?)(?P=tight)\Z"
)
_UNDERLINED = re.compile(r"(?P<text>\S[^\n]*?)[ \t]*\r?\n[ \t]*(?P<rule>=+|-+|~+|\^+|\*+|#+)\Z")
_SHORTEST_RULE = 4
"""Signs under a title: three are a thematic break or the separator of a signature."""
_ITEM = re.compile(r"item[ \t]+\d{1,2}[a-z]?(?:\([a-z]\))?(?:[.:\-–—]+[ \t]*|[ \t]+)(?P<rest>[A-Z].*)", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,4}|[IVXL]{1,6}|[A-Z](?=\.))(?P<dot>[.)]?)[ \t]+(?P<rest>\S.*)"
)
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|__)(?P<text>(?!\s).+?(?<!\s))\1\Z")
_LEAST_LETTERS = 4
"""Letters of a title that no sign sets off: fewer are an abbreviation, an initial, or the OR between two clauses."""
_LETTERS = 0.6
"""The least share of letters in a title, spaces aside: with less, it is an amount, a date, a formula or a reference."""
_WORDS = 14
"""The most words of a title that nothing but its place sets off: longer ones are sentences without a stop."""
_NUMBERED_WORDS = 22
"""The most words of a title with a number: scientific titles have about 15, and clauses that go on have more."""
_STOPPED_WORDS = 14
"""The most words of a title with a number and a stop; clauses of contracts are such lines, and mostly longer."""
_CLAUSE_WORDS = 6
"""The same below the first level, where contracts have clauses of eight words and more."""
_CLAIM = re.compile(r"\bclaims? \d|\bpreceding claims?\b")  # of a patent, which names the claim that it narrows
_UNLIKE = re.compile(
    r"[|{}<>=@_\t\\]|https?:|www\.|[ ]{3}|\.{3}|\u2026|[ \t]\d+\Z|\A\W*\d"
    r"|\A(?:dear|hi|hello|hey|from|to|cc|bcc|date|subject|re|fwd?|tel|telephone|phone|fax|e-?mail|address|attn|by|source"
    r"|note|signed|sincerely|yours|regards|best|thanks|thank|cheers|love|respectfully|figure|fig|table|page|p\.s|ps"
    r"|copyright|\(c\)|©|mr|mrs|ms|dr)\b",
    re.IGNORECASE,
)


class TitleLine(NamedTuple):
    """A title: its form, its depth within the form from 1 on, and its words.

    `form` is a name in `FORMS`, and what tells kinds of that form apart: the sign of a rule, letters for numbers.
    """

    form: str
    depth: int
    text: str


class Form(NamedTuple):
    """A way to write titles: how to read a block as one; `sure` if nothing else is written so.

    A `numbered` one may stand in documents of few words, such as lists of tables.
    """

    read: Callable[[str], TitleLine | None]
    sure: bool = False
    numbered: bool = False


def title_line(block: str) -> TitleLine | None:
    """Return a block as a title, by the first form that it has, or None."""
    if len(block) > _LONGEST_SURE or block.count("\n") > 1:
        return None
    return next((found for form in FORMS.values() if (found := form.read(block))), None)


def _wiki(block: str) -> TitleLine | None:
    """Read ` = Title = ` and ` = = Title = = `, whose signs tell the depth."""
    match = _WIKI.match(block)
    if match is None or not _has_letters(match["text"] or match["words"]):  # `==123==` begins a line of some logs
        return None
    signs = match["signs"] or match["tight"]
    return TitleLine("wiki", signs.count("="), _words(match["text"] or match["words"]))


def _underlined(block: str) -> TitleLine | None:
    """Read a line with a rule under it that is about as long."""
    match = _UNDERLINED.match(block)
    if match is None or not _has_letters(match["text"]) or "  " in match["text"]:  # such is the head of a table
        return None
    rule, text = match["rule"], _words(match["text"])
    even = len(rule) >= _SHORTEST_RULE and len(text) - 2 <= len(rule) <= _LONGEST
    return TitleLine(f"underlined {rule[0]}", 1, text) if even else None


def _chapter(block: str) -> TitleLine | None:
    """Read "CHAPTER IV" and "Article 2. Fees"; the name of a chapter may stand on a line below its number."""
    match = _CHAPTER.match(block) if len(block) <= _LONGEST else None
    if match is None or _goes_on(match["rest"].strip()):
        return None
    return TitleLine("chapter top" if match["top"] else "chapter", 1, _words(block))


def _item(block: str) -> TitleLine | None:
    """Read "Item 1A. Risk Factors", as in filings."""
    match = _ITEM.match(block) if _is_line(block) else None
    if match is None or _goes_on(match["rest"]):
        return None
    return TitleLine("item", 1, _words(block))


def _numbered(block: str) -> TitleLine | None:
    """Read "3.2 Results", "IV. RESULTS" and "12. Costs of the trial.", whose number tells the depth."""
    match = _NUMBERED.match(block) if _is_line(block, _LONGEST_SURE) else None
    if match is None or not _names_numbered(match["rest"]) or len(match["rest"].split()) > _most_words(match):
        return None
    form = "numbered" if match["number"][0].isdigit() else "numbered by letters"
    return TitleLine(form, match["number"].count(".") + 1, _words(block)) if _is_number(match) else None


def _names_numbered(rest: str) -> bool:
    """Return whether what follows a number names something, and is no clause or item of a list."""
    if not rest[0].isupper() or rest.endswith((",", ";", ":")) or _CLAIM.search(rest):
        return False
    return _has_letters(rest) and not _UNLIKE.search(rest)


def _is_number(match: re.Match[str]) -> bool:
    """Return whether a sign at the beginning of a line is a number: "I saw" has none, "5 Blue cups." an amount."""
    if match["dot"] or "." in match["number"]:
        return True
    return match["number"][0].isdigit() and not match["rest"].endswith(".")


def _most_words(match: re.Match[str]) -> int:
    """Return the most words of a title with such a number: what ends like a sentence below 5.1 is a clause."""
    if not match["rest"].endswith("."):
        return _NUMBERED_WORDS
    return _CLAUSE_WORDS if "." in match["number"] else _STOPPED_WORDS


def _capitals(block: str) -> TitleLine | None:
    """Read a line in capitals."""
    if not block.isupper() or not _is_line(block, _LONGEST_SURE) or not _has_letters(block):
        return None
    spoken = not block[0].isalnum() or block.endswith((":", ",", ";", "!"))
    return (
        None if spoken or not _has_letters(block) or _UNLIKE.search(block) else TitleLine("capitals", 1, _words(block))
    )


def _bold(block: str) -> TitleLine | None:
    """Read a line that is emphasised as a whole."""
    match = _EMPHASIS.match(block) if _is_line(block) else None
    if match is None or match[1] in match["text"] or not _names(match["text"].rstrip(":")):
        return None
    return TitleLine("bold", 1, _words(match["text"]))


def _plain(block: str) -> TitleLine | None:
    """Read a short line that does not end like a sentence."""
    return TitleLine("plain", 1, _words(block)) if _is_line(block) and _names(block) else None


def _names(line: str) -> bool:
    first = line[0]
    begins = first.isalpha() and not first.islower()
    short = len(line.split()) <= _WORDS and _has_letters(line)
    return begins and short and (line[-1].isalnum() or line[-1] == ")") and not _UNLIKE.search(line)


def _is_line(block: str, longest: int = _LONGEST) -> bool:
    return "\n" not in block and len(block) <= longest


def _has_letters(line: str) -> bool:
    letters, signs = sum(map(str.isalpha, line)), len("".join(line.split()))
    return letters >= max(_LEAST_LETTERS, _LETTERS * signs)


def _goes_on(rest: str) -> bool:
    """Return whether "Chapter 4" begins a sentence, such as "Chapter 4 showed that ...".

    In a heading, the rest begins with a capital letter, and does not end in a stop unless all of it is in capitals.
    """
    if not rest:
        return False
    stops = rest.endswith((".", ",", ";", "!", "?")) and not rest.isupper()
    return stops or not rest.lstrip("-—–.: ")[:1].isupper()


def _words(text: str) -> str:
    return " ".join(text.split())


FORMS: dict[str, Form] = {
    "wiki": Form(_wiki, sure=True),
    "underlined": Form(_underlined, sure=True),
    "chapter": Form(_chapter, sure=True),
    "item": Form(_item, numbered=True),
    "numbered": Form(_numbered, numbered=True),
    "bold": Form(_bold),
    "capitals": Form(_capitals),
    "plain": Form(_plain),
}
