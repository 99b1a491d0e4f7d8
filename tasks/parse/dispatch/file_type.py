"""File type: detected from a file's content first, then from its name, unless the content contradicts it.

The order is: magic bytes; the members of a zip container; a suffix that only a plugin knows, or the first bytes of a
binary file that only a plugin reads; the name, if the text confirms it; an unmistakable text; a classifier, if name and
text disagree or say nothing; the name, if the text at least allows it.
"""

import re
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from docmill.storage.errors import Rejected
from docmill.tasks.parse.decode import decode, is_text
from docmill.tasks.parse.dispatch.parsers import format_of_signature, format_of_suffix, unusable
from docmill.tasks.parse.dispatch.text_signs import (
    MAX_JSON,
    bears_out,
    guess,
    is_chat_instead,
    is_prose,
    may_be,
    overrules_markdown,
    plainly,
    recorded,
    sample,
)
from docmill.tasks.parse.formats import FORMATS, FileType
from docmill.tasks.parse.programming_languages import BY_SUFFIX, LANGUAGES, language_of_suffix
from docmill.tasks.parse.signatures import INSTEAD, binary_kind

if TYPE_CHECKING:
    from magika import Magika

_HEAD = 65_536
"""Bytes of text to look at: more than a sample of its lines takes, unless they are very long."""
_OVERRULES = 0.8
"""The classifier's score that overrules a name which the text allows; lower, and texts about code become code."""
_SUGGESTS = 0.6
"""The classifier's score that counts if no name contradicts it; lower, and its guess is no better than counting signs.
"""
_SHORT_CODE = 1_000
"""Characters of source code that may lack the signs of its language, such as comments and constants."""
_SENTENCE = re.compile(r"^[A-Z][^\W_][^(){}\[\]=;<>#\"]*[.!?]$", re.MULTILINE)
_BY_SUFFIX = {suffix: name for name, form in FORMATS.items() if name != "code" for suffix in form.suffixes}
# Languages with such similar syntax that the name decides between them; for formats, see their records.
_FAMILIES = (
    {"c", "cpp", "objectivec"}, {"javascript", "typescript", "vue"}, {"ini", "toml"}, {"r", "matlab"},
    {"scala", "groovy", "kotlin"}, {"css", "vue"},
)  # fmt: skip
_DOUBTED = frozenset(("text", "log", "code", "csv", "markdown", "html", "eml", "json", "jsonl", "ipynb", "xml"))
"""Formats whose names the classifier may overrule although the text allows them, because many kinds of text do."""
_OF_SENTENCES = ("text", "markdown")  # formats with sentences, about which the classifier knows nothing better
# Its labels for languages that docmill names differently; those for formats are in their records.
_LANGUAGES = {
    "asm": "assembly", "batch": "batch", "cs": "csharp", "csproj": "xml", "gemfile": "ruby", "gemspec": "ruby",
    "gradle": "groovy", "hcl": "terraform", "objectivec": "objectivec", "proto": "protobuf", "scss": "css", "vba": "vb",
    "vcxproj": "xml", "winregistry": "ini", "bazel": "python", "coffeescript": "javascript",
}  # fmt: skip
_FORMATS = {label: form.name for form in FORMATS.values() for label in form.labels}


_PDF_OBJECT = b"endobj"
"""Ends each object of a PDF. A damaged header hides the format, and small files are all ASCII: without this sign, the
source of such a file would be read as text."""


def detect_file_type(name: str, data: bytes) -> FileType:
    """Return the format and language of a file called `name`; raise Rejected if no parser fits."""
    if not data.strip(b"\0 \t\r\n"):
        raise Rejected("empty", f"{len(data)} bytes, none of them text" if data else "0 bytes")
    kind, suffix = binary_kind(data), _suffix(name)
    if kind == "encrypted":
        return _locked(suffix)
    if kind in FORMATS:
        return FileType(kind)
    if not kind and suffix == ".pdf" and _PDF_OBJECT in data:
        return FileType("pdf")
    if plugged := format_of_suffix(suffix):
        return FileType(plugged)
    if not kind and is_text(data):
        return _known(_text_type(suffix, decode(data[:_HEAD]).text, data))
    return _binary_type(kind, suffix, data)


def _binary_type(kind: str, suffix: str, data: bytes) -> FileType:
    """Return the type of a binary file that docmill does not read but a plugin may."""
    if plugged := format_of_signature(data, kind):
        return FileType(plugged)
    if kind:
        return _known(FileType(kind))
    named = suffix in _BY_SUFFIX or suffix in BY_SUFFIX
    raise Rejected("undecodable" if named else "unsupported", f"binary data of unknown type{unusable()}")


def format_of_name(name: str) -> str:
    """Return the format that a file name, or a glob of names, states by its suffix, or "" if it states none."""
    suffix = _suffix(name)
    return _BY_SUFFIX.get(suffix) or ("code" if suffix in BY_SUFFIX else format_of_suffix(suffix))


def _locked(suffix: str) -> FileType:
    """Return the type of an encrypted Office document from its name: its content is unknown without the password."""
    stated = _BY_SUFFIX.get(suffix, "")
    return FileType(stated if stated in ("docx", "pptx", "xlsx") else "docx")


def _known(found: FileType) -> FileType:
    if found.format in FORMATS:
        return found
    if found.format in INSTEAD:
        raise Rejected("unsupported", f"{INSTEAD[found.format]}{unusable()}")
    why = f"{found.format} files are not supported; supported are {', '.join(FORMATS)}{unusable()}"
    raise Rejected("unsupported", why)


def _suffix(name: str) -> str:
    """Return the suffix of a name in lower case, or the whole name if it has none."""
    path = PurePosixPath(name)
    whole = path.name.lower()
    return whole if whole in BY_SUFFIX else (path.suffix.lower() or whole)


def _text_type(suffix: str, whole: str, data: bytes) -> FileType:
    text = sample(whole)
    named = _named(suffix, text)
    if named is None:
        return _seen(text, whole, data, _SUGGESTS, not is_prose(text)) or guess(text, whole)
    if is_chat_instead(named, text):
        return FileType("chat")
    if bears_out(named, text, whole):
        return named
    if may_be(named, text, whole):
        doubted = named.format in _DOUBTED and not (named.format in _OF_SENTENCES and is_prose(text))
        return _allowed(named, _seen(text, whole, data, _OVERRULES, doubted), text)
    if named.format == "code" and _may_be_short_code(text, data):
        return named
    return _doubted(named, _seen(text, whole, data, _SUGGESTS)) or guess(text, whole)


def _may_be_short_code(text: str, data: bytes) -> bool:
    """Return whether a text is too short to show its language, as constants and comments are, and is nothing else."""
    return len(text) <= _SHORT_CODE and not _SENTENCE.search(text) and plainly(text, data) is None


def _allowed(named: FileType, seen: FileType | None, text: str) -> FileType:
    """Return the name's type if the text allows it; another recognised type wins unless the name is more specific."""
    if seen is None or (named.format == "markdown" and not overrules_markdown(seen, text)):
        return named
    if _akin(named, seen) and named.format != "text":
        return named
    return seen


def _doubted(named: FileType, seen: FileType | None) -> FileType | None:
    """Return the type of a text that contradicts the name; the name still decides between similar languages."""
    if seen is not None and named.format == seen.format == "code" and _akin(named, seen):
        return named
    return seen


def _seen(text: str, whole: str, data: bytes, score: float, asked: bool = True) -> FileType | None:
    """Return the type of a text without its name, by its signs or else by the classifier if `asked`."""
    return plainly(text, data) or recorded(text) or (_guessed(whole, data, score) if asked else None)


def _guessed(whole: str, data: bytes, score: float) -> FileType | None:
    """Return the classifier's type of a text; None if that is JSON, which has already been tried."""
    found = classify(whole, score)
    broken = found is not None and found.format in ("json", "jsonl") and len(data) <= MAX_JSON
    return None if broken else found


def _named(suffix: str, text: str) -> FileType | None:
    if suffix in _BY_SUFFIX:
        return FileType(_BY_SUFFIX[suffix])
    language = language_of_suffix(suffix, text)
    return FileType("code", language) if language else None


def _akin(one: FileType, other: FileType) -> bool:
    """Return whether the name decides between two types."""
    names = {kind.language or kind.format for kind in (one, other)}
    akin = any(names & {kind.format} and names <= FORMATS[kind.format].akin | {kind.format} for kind in (one, other))
    return akin or any(names <= family for family in _FAMILIES)


@lru_cache(maxsize=1)
def _model() -> "Magika":
    import onnxruntime
    from magika import Magika

    class SingleThread(Magika):
        """Computes in the calling thread; with a thread per core, idle threads would spin for as long again."""

        def _init_onnx_session(self) -> Any:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            return onnxruntime.InferenceSession(self._model_path, options, providers=["CPUExecutionProvider"])

    return SingleThread()


def classify(text: str, least: float) -> FileType | None:
    """Return the likeliest type of a text; None for plain text or a score, in [0, 1], below `least`.

    The format may be missing from `FORMATS`. Source: Fratantonio et al., Magika, ICSE 2025.
    """
    result = _model().identify_bytes(text.encode("utf-8", "replace"))
    label = str(result.output.label)
    if result.score < least:
        return None
    if label in _FORMATS:
        return FileType(_FORMATS[label])
    language = _LANGUAGES.get(label, label)
    return FileType("code", language) if language in LANGUAGES else None
