"""Own title: a document's title is refused where it names no document, or is a heading that stands too late."""

import re
from collections.abc import Sequence
from dataclasses import replace

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.titles.untitled import is_prose

_NO_NAMES = (
    ("no name", r"[(\[]?(?:anonymous|untitled|unnamed|unspecified|unknown|no title|none|null|n/a)[)\]]?\s?\d*"),
    ("a program's default", r"power ?point[ -](?:presentation|präsentation)|présentation powerpoint"),
    ("a program's default", r"(?:document|dokument|presentation|slide|layout|book|mappe|vorlage|sheet)\s?\d*"),
    ("a program's default", r"activereports document|\u65b0\u898f\u6587\u66f8\d*"),
    ("a program's name before a file's", r"microsoft (?:word|excel|powerpoint|office|publisher|visio)\b.*"),
    ("the name of a template", r".*\btemplate|vorlage\b.*"),
    ("a file's name", r".*\.(?:docx?|dotx?|pdf|x?html?|md|tex|dvi|indd|qxd|pptx?|xlsx?|rtf|odt|txt|e?ps)"),
    ("a file's name", r".*\.(?:exe|tmp|psd|pub|wpd)"),
    ("a placeholder", r"\{.*\}|<.*>|%.*%|\[.*\]"),
    ("no words", r"[\W\d_]*"),
)  # fmt: skip
"""What titles that are refused are, and their form; each was the context of every chunk of some real file."""
_NO_TITLE = re.compile("|".join(f"(?:{form})" for _, form in _NO_NAMES), re.IGNORECASE | re.DOTALL)
_LATEST = 1 / 3
"""Share of a document's prose within which the heading that is its title begins. With more, the last heading of a long
text without others, such as "References", names all before it; with less, a letter above a report hides its title."""
_NEAR = 400  # characters, a paragraph: in a short text, a heading below that much may be its title all the same


def names_nothing(title: str) -> bool:
    """Return whether a title is one of those that programs write where an author has written none."""
    return _NO_TITLE.fullmatch(title.strip()) is not None


def with_own_title(parsed: Parsed) -> Parsed:
    """Return a document with no title that names nothing, and none that is only a heading of its later part.

    A heading of the highest level takes its place, if one begins in time. What a document says in a heading of its own
    is its title, whatever form it has.
    """
    if not parsed.title:
        return parsed
    headings = [one for one in parsed.elements if one.kind == "title"]
    own = next((one for one in headings if one.attributes.get("text") == parsed.title), None)
    if _is_early(parsed, own) if own else not names_nothing(parsed.title):
        return parsed
    return replace(parsed, title=_top(parsed, headings))


def _top(parsed: Parsed, headings: Sequence[Element]) -> str:
    first = next((one for one in headings if one.level == 1 and _is_early(parsed, one)), None)
    return str(first.attributes.get("text", "")) if first else ""


def _is_early(parsed: Parsed, heading: Element) -> bool:
    """Return whether a heading stands within the beginning of a document's prose; menus above it do not count."""
    if heading.start_char <= _NEAR:
        return True
    lengths = [(one.start_char, one.end_char - one.start_char) for one in parsed.elements if _is_told(parsed.text, one)]
    above = sum(length for start, length in lengths if start < heading.start_char)
    return above <= max(_NEAR, _LATEST * sum(length for _, length in lengths))


def _is_told(text: str, element: Element) -> bool:
    return element.kind == "paragraph" and is_prose(text[element.start_char : element.end_char].strip())
