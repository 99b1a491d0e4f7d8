"""File type: what a file is, by its content first, then by a name that its content does not belie.

In this order: magic bytes; the members of a zip container; the name where the text bears it out; what the text
plainly is; a classifier where name and text disagree or are silent; the name where the text at least allows it.
"""

from pathlib import PurePosixPath

from docmill.storage.errors import Rejected
from docmill.tasks.parse.decode import decode, is_text
from docmill.tasks.parse.dispatch.classifier import classify
from docmill.tasks.parse.dispatch.text_signs import (
    MAX_JSON,
    bears_out,
    guess,
    is_irc,
    may_be,
    plainly,
    recorded,
    sample,
)
from docmill.tasks.parse.format import FileType
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.languages import BY_SUFFIX, language_of_suffix
from docmill.tasks.parse.signatures import INSTEAD, binary_kind

VERSION = 3  # raise it when any file gets another type than before
_HEAD = 65_536
_OVERRULES = 0.8  # the classifier's score that is believed against a name which the text allows
_SUGGESTS = 0.6  # and without one
_BY_SUFFIX = {suffix: name for name, form in FORMATS.items() if name != "code" for suffix in form.suffixes}
# Types that share so much of their syntax that a name decides between them.
_FAMILIES = (
    {"c", "cpp", "objectivec"},
    {"javascript", "typescript", "vue"},
    {"ini", "toml"},
    {"json", "jsonl"},
    {"html", "vue"},
    {"eml", "mbox"},
    {"markdown", "rst", "org"},
    {"text", "log", "chat"},
    {"r", "matlab"},
    {"scala", "groovy", "kotlin"},
    {"css", "vue"},
)


def detect_file_type(name: str, data: bytes) -> FileType:
    """Return the format and language of a file called `name`; raise Rejected where no parser fits."""
    if not data.strip(b"\0 \t\r\n"):
        raise Rejected("empty", f"{len(data)} bytes, none of them text" if data else "0 bytes")
    kind, suffix = binary_kind(data), _suffix(name)
    if kind == "encrypted":  # what is inside, only its password tells
        stated = _BY_SUFFIX.get(suffix, "")
        return FileType(stated if stated in ("docx", "pptx", "xlsx") else "docx")
    if kind:
        return _known(FileType(kind))
    if not is_text(data):
        named = suffix in _BY_SUFFIX or suffix in BY_SUFFIX
        raise Rejected("undecodable" if named else "unsupported", "binary data of no known kind")
    return _known(_text_type(suffix, decode(data[:_HEAD]).text, data))


def _known(found: FileType) -> FileType:
    if found.format in FORMATS:
        return found
    if found.format in INSTEAD:
        raise Rejected("unsupported", INSTEAD[found.format])
    raise Rejected("unsupported", f"{found.format} files are not among the formats: {', '.join(FORMATS)}")


def _suffix(name: str) -> str:
    """Return the suffix of a name in small letters, or the whole of a name that has none."""
    path = PurePosixPath(name)
    whole = path.name.lower()
    return whole if whole in BY_SUFFIX else (path.suffix.lower() or whole)


def _text_type(suffix: str, whole: str, data: bytes) -> FileType:
    text = sample(whole)
    named = _named(suffix, text)
    if named is not None and named.format == "log" and is_irc(text):
        return FileType("chat")
    if named is not None and bears_out(named, text, whole):
        return named
    allowed = named is not None and may_be(named, text, whole)
    seen = plainly(text, data) or recorded(text) or _guessed(whole, data, _OVERRULES if allowed else _SUGGESTS)
    if named is not None and seen is not None and named.format == seen.format == "code" and _akin(named, seen):
        return named
    if named is not None and allowed and (seen is None or _akin(named, seen)):
        return seen if named.format == "text" and seen else named
    return seen or guess(text, whole)


def _guessed(whole: str, data: bytes, score: float) -> FileType | None:
    """Return what the classifier takes a text for; what looks like JSON and cannot be loaded is none."""
    found = classify(whole, score)
    broken = found is not None and found.format in ("json", "jsonl") and len(data) <= MAX_JSON
    return None if broken else found


def _named(suffix: str, text: str) -> FileType | None:
    if suffix in _BY_SUFFIX:
        return FileType(_BY_SUFFIX[suffix])
    language = language_of_suffix(suffix, text)
    return FileType("code", language) if language else None


def _akin(one: FileType, other: FileType) -> bool:
    names = {kind.language or kind.format for kind in (one, other)}
    return any(names <= family for family in _FAMILIES)
