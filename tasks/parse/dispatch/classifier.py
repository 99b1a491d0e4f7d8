"""Classifier: the likeliest type of a text, by Google's magika, whose model is part of its wheel.

It takes about 4 ms a file and 60 MB once, so it is asked only if name and content leave the type open.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from docmill.tasks.parse.format import FileType
from docmill.tasks.parse.languages import LANGUAGES

if TYPE_CHECKING:
    from magika import Magika

# Its labels for languages and formats that docmill names differently.
_LANGUAGES = {
    "asm": "assembly",
    "batch": "batch",
    "cs": "csharp",
    "csproj": "xml",
    "gemfile": "ruby",
    "gemspec": "ruby",
    "gradle": "groovy",
    "hcl": "terraform",
    "objectivec": "objectivec",
    "proto": "protobuf",
    "scss": "css",
    "vba": "vb",
    "vcxproj": "xml",
    "winregistry": "ini",
    "bazel": "python",
    "coffeescript": "javascript",
}
_FORMATS = {
    "csv": "csv",
    "eml": "eml",
    "html": "html",
    "ipynb": "ipynb",
    "json": "json",
    "jsonl": "jsonl",
    "latex": "latex",
    "markdown": "markdown",
    "mht": "eml",
    "rdf": "xml",
    "rst": "rst",
    "rtf": "rtf",
    "srt": "subtitles",
    "svg": "xml",
    "tsv": "csv",
    "vtt": "subtitles",
    "xml": "xml",
}


@lru_cache(maxsize=1)
def _model() -> "Magika":
    from magika import Magika

    return Magika()


def classify(text: str, least: float) -> FileType | None:
    """Return the likeliest type of a text; None for plain text or a score, in [0, 1], below `least`.

    The format may be one that `FORMATS` lacks. Source: Fratantonio et al., Magika, ICSE 2025.
    """
    result = _model().identify_bytes(text.encode("utf-8", "replace"))
    label = str(result.output.label)
    if result.score < least:
        return None
    if label in _FORMATS:
        return FileType(_FORMATS[label])
    language = _LANGUAGES.get(label, label)
    return FileType("code", language) if language in LANGUAGES else None
