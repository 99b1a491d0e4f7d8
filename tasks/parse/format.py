"""Format: a name, a version, and a function from bytes to a parsed document."""

from collections.abc import Callable
from dataclasses import dataclass, field

from docmill.storage.schema import Parsed


@dataclass(frozen=True, slots=True)
class FileType:
    """What a file is: a key of `FORMATS`, and for source code its language, such as "python"."""

    format: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How to parse: passwords to try, and limits in characters of text, elements and unpacked bytes.

    `language` is the programming language of source code; `parse` sets it from the file type. With
    `ocr` text in pictures is read; `ocr_languages` are tesseract's names, such as "eng+deu". With `comments` those of
    Word documents and OpenDocument texts are read.
    """

    language: str = ""
    passwords: tuple[str, ...] = field(default=(), repr=False, metadata={"secret": True})
    ocr: bool = False
    ocr_languages: str = "eng"
    comments: bool = False
    max_characters: int = 50_000_000
    max_elements: int = 1_000_000
    max_unpacked_bytes: int = 500_000_000


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file; raise `version` whenever `parse` returns a different text or different elements.

    `files` and `by` are columns of the README: which files these are, and how they are read.
    """

    name: str
    version: int
    parse: Callable[[bytes, ParseOptions], Parsed]
    suffixes: frozenset[str]
    files: str
    by: str
