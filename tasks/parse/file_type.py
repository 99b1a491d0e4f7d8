"""File type: what a file is, by its content first, then by a name that its content does not belie."""

import json
import re
from itertools import islice
from pathlib import PurePosixPath

from storage.errors import Rejected
from tasks.parse.decode import decode, is_text
from tasks.parse.delimited import DELIMITERS, find_delimiter
from tasks.parse.format import FileType
from tasks.parse.formats import FORMATS
from tasks.parse.languages import (
    BY_SUFFIX,
    LANGUAGES,
    language_of_interpreter,
    language_of_suffix,
    signs,
)
from tasks.parse.signatures import binary_kind

_HEAD = 65_536
_MAX_JSON = 20_000_000
_HTML = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_TAGS = re.compile(r"</?(?:p|div|span|a|table|tr|td|ul|ol|li|h[1-6]|br|title|body|b|i|script|img)\b[^<>]*>", re.I)
_XML = re.compile(r"\s*<(?:\?xml\b|!DOCTYPE\b|[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>)")
_MARKDOWN = re.compile(
    r"^\#{1,6}\s\S | ^(?:```|~~~)\w* | ^\s*[-*+]\s+\[[ x]\]\s | \[[^\]\n]+\]\([^)\n]+\) | ^\|?\s*:?-{3,}:?\s*\|"
    r"| \*\*\w[^*\n]*\*\* | ^={3,}\s*$",
    re.MULTILINE | re.VERBOSE,
)
_BULLETS = re.compile(r"^\s*[-*+]\s\S|^>\s", re.MULTILINE)
_SETTINGS = {
    "yaml": re.compile(r"^\s*(?:-\s+)?[\w\"'./${}-]+:(?:\s.*)?$|^\s*-\s\S.*$|^\s*\#.*$|^---\s*$", re.MULTILINE),
    "toml": re.compile(r"^\s*[\w.\"-]+\s*=\s\S.*$|^\[\[?[\w.\"-]+\]\]?\s*$|^\s*\#.*$|^\s*[\"'\]].*$", re.MULTILINE),
}
_MAIL = re.compile(r"(?:[\w-]+:[ \t].*(?:\r?\n[ \t].*)*\r?\n){3,}")
_MAIL_NAMES = re.compile(r"^(?:From|To|Subject|Date|MIME-Version|Message-ID|Received|Return-Path):", re.M | re.I)
# Kinds of text that have a parser of their own, or will have; read as plain text they would be noise.
_UNREAD = {
    ".eml": "eml",
    ".mbox": "mbox",
    ".ipynb": "ipynb",
    ".mhtml": "mhtml",
    ".mht": "mhtml",
    ".rtf": "rtf",
    ".p7s": "eml",
}
_BY_SUFFIX = {suffix: name for name, form in FORMATS.items() if name != "code" for suffix in form.suffixes}
_DATA = frozenset(("json", "yaml", "toml", "ini", "xml"))
_SAMPLE_WIDTH = 250
_SAMPLE_LINES = 400
_MIN_ROWS = 3
_SHORT_LINE = 40


def detect_file_type(name: str, data: bytes) -> FileType:
    """Return the format and language of a file called `name`; raise Rejected where no parser fits.

    Magic bytes and the members of an archive decide alone. A text's suffix is believed unless the
    text plainly is something else; without a known suffix the text alone decides.
    """
    if not data.strip(b"\0 \t\r\n"):
        raise Rejected("empty", f"{len(data)} bytes, none of them text" if data else "0 bytes")
    kind = binary_kind(data)
    if kind in FORMATS:
        return FileType(kind)
    if kind:
        raise Rejected("unsupported", f"{kind} files are not among the formats: {', '.join(FORMATS)}")
    suffix = _suffix(name)
    if not is_text(data):
        known = suffix in _BY_SUFFIX or suffix in BY_SUFFIX
        raise Rejected("undecodable" if known else "unsupported", "binary data of no known kind")
    text = decode(data[:_HEAD]).text
    return _text_type(suffix, text, data)


def _suffix(name: str) -> str:
    """Return the suffix of a name in small letters, or the whole of a name that has none."""
    path = PurePosixPath(name)
    whole = path.name.lower()
    return whole if whole in BY_SUFFIX else (path.suffix.lower() or whole)


def _sample(text: str) -> str:
    """Return the beginnings of a text's first lines that are not blank: no pattern can be slow on them."""
    lines = (line[:_SAMPLE_WIDTH] for line in text.splitlines() if line.strip())
    return "\n".join(islice(lines, _SAMPLE_LINES)) + "\n"


def _text_type(suffix: str, whole: str, data: bytes) -> FileType:
    text = _sample(whole)
    if suffix in _UNREAD or _is_notebook(text):
        kind = _UNREAD.get(suffix, "ipynb")
        raise Rejected("unsupported", f"{kind} files are not among the formats: {', '.join(FORMATS)}")
    named = _named(suffix, text)
    if (
        named is not None
        and named.format in ("markdown", "code")
        and _fits(named, text, whole)
        and not _HTML.match(text)
    ):
        return named
    plain = _plainly(text, data)
    if plain is not None:
        return plain
    if named is not None and _fits(named, text, whole):
        return named
    guess = _guess(text, whole)
    # That it is a program is seen in the text; in which language, the name knows better.
    both = named is not None and named.format == guess.format == "code" and guess.language not in _DATA
    return named if both and named is not None and named.language not in _DATA else guess


def _named(suffix: str, text: str) -> FileType | None:
    if suffix in _BY_SUFFIX:
        return FileType(_BY_SUFFIX[suffix])
    language = language_of_suffix(suffix, text) or language_of_interpreter(text)
    return FileType("code", language) if language else None


def _fits(named: FileType, text: str, whole: str) -> bool:
    """Return whether a text may well be what its name says."""
    if named.format == "code":
        return signs(named.language, text) > 0
    if named.format == "csv":
        return _is_table(whole)
    if named.format == "html":
        return _TAGS.search(text) is not None
    return True


def _plainly(text: str, data: bytes) -> FileType | None:
    """Return what a text is beyond doubt: an HTML page, JSON, XML."""
    if _HTML.match(text):
        return FileType("html")
    if _is_json(text, data):
        return FileType("code", "json")
    if text.lstrip().startswith("<?xml"):
        return FileType("code", "xml")
    return None


def _is_json(text: str, data: bytes) -> bool:
    if text.lstrip()[:1] not in ("{", "[") or len(data) > _MAX_JSON:
        return False
    whole = decode(data).text
    lines = list(islice(filter(str.strip, whole.splitlines()), 3))
    return _loads(whole) or all(line.strip()[:1] in "{[" and _loads(line) for line in lines)


def _loads(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _is_notebook(text: str) -> bool:
    return text.lstrip().startswith("{") and '"cells"' in text and ('"nbformat"' in text or '"cell_type"' in text)


def _guess(text: str, whole: str) -> FileType:
    """Return what a text without a telling name most likely is, by how many of its lines say so."""
    plain = text.lstrip()
    lines = text.count("\n")
    language = language_of_interpreter(plain)
    if language:
        return FileType("code", language)
    if len(_TAGS.findall(text)) > lines / 4 and plain.startswith("<"):
        return FileType("html")
    if _XML.match(text) and plain.rstrip().endswith(">"):
        return FileType("code", "xml")
    for setting, pattern in _SETTINGS.items():
        if len(pattern.findall(text)) > 0.6 * lines:
            return FileType("code", setting)
    best, score = max(
        ((name, signs(name, text) / lines) for name in LANGUAGES if name not in _WEAK), key=lambda x: x[1]
    )
    markdown = (len(_MARKDOWN.findall(text)) + len(_BULLETS.findall(text)) / 4) / lines
    if markdown > 0.05 and markdown > score:
        return FileType("markdown")
    if lines >= _MIN_ROWS and score < 0.2 and find_delimiter(whole) and _regular(whole):
        return FileType("csv")
    return FileType("code", best) if score > 0.1 else FileType("text")


# Signs so common in other texts that they do not tell on their own.
_WEAK_WORDS = """
    json yaml toml ini css xml makefile batch groovy verilog fortran pascal vb shell lisp matlab diff
"""
_WEAK = frozenset(_WEAK_WORDS.split())


def _is_table(text: str) -> bool:
    """Return whether a file called a table may be one: rows of short fields, or a column of short lines."""
    rows = [line for line in text.splitlines() if line.strip()]
    if find_delimiter(text):
        commas = text.count(", ") + text.count("; ")
        return len(rows) < _MIN_ROWS or commas < 0.7 * sum(text.count(sign) for sign in DELIMITERS) or _regular(text)
    ends = sum(line.rstrip().endswith((".", ":", "!", "?")) for line in rows)
    return sum(map(len, rows)) < _SHORT_LINE * len(rows) and ends < 0.2 * len(rows)


def _regular(text: str) -> bool:
    """Return whether all rows have as many fields as the first, and short ones, as tables have and prose has not."""
    delimiter = find_delimiter(text)
    rows = [line.count(delimiter) for line in text.splitlines()[:-1] if line.strip()]
    return rows.count(rows[0]) > 0.9 * len(rows) if rows else False
