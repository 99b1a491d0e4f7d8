"""Format: a name, a version, and a function from bytes to a parsed document."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from docmill.storage.schema import Parsed

FILE_TYPE_VERSION = 9  # raise it when any file gets another type than before
Signature = tuple[int, bytes]
"""Bytes, and the offset at which a file has them."""


@dataclass(frozen=True, slots=True)
class FileType:
    """What a file is: a key of `FORMATS`, and for source code its language, such as "python"."""

    format: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How to parse: passwords to try, and limits in characters of text, elements and unpacked bytes.

    `language` is the programming language of source code; `parse` sets it from the file type. With
    `ocr` text in pictures is read by `ocr_engine`, which may give a version after its name; `ocr_languages` are
    tesseract's names, such as "eng+deu". With `comments` those of
    Word documents and OpenDocument texts are read. `pictures` are the files beside a page that it shows, by their
    paths relative to it.
    """

    language: str = ""
    passwords: tuple[str, ...] = field(default=(), repr=False, metadata={"secret": True})
    ocr: bool = False
    ocr_engine: str = "tesseract"
    ocr_languages: str = "eng"
    comments: bool = False
    max_characters: int = 50_000_000
    max_elements: int = 1_000_000
    max_unpacked_bytes: int = 500_000_000
    pictures: Mapping[str, bytes] = field(default_factory=dict, repr=False, hash=False)


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file; raise `version` whenever `parse` returns a different text or different elements.

    `files` and `by` are columns of the page on formats: which files these are, and how they are read. The rest is what
    tells the format, and what it decides:

    - `signatures`: bytes at an offset; `members` and `streams`: what the first name within a zip archive or a compound
      file begins with; `opendocument`: the kind of document that its `mimetype` states.
    - `begins`: how a text of the format begins beyond doubt, whatever its name. `holds`: what a text holds for which
      the suffix is believed; without it, the text needs other signs.
    - `akin`: formats, and languages, of which the name decides. `labels`: what the classifier calls the format.
    - `content_type`: that of all documents of the format, and why (`because`).
    """

    name: str
    version: int
    parse: Callable[[bytes, ParseOptions], Parsed]
    suffixes: frozenset[str]
    files: str
    by: str
    signatures: tuple[Signature, ...] = ()
    members: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    opendocument: str = ""
    begins: re.Pattern[str] | None = None
    holds: re.Pattern[str] | None = None
    akin: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    content_type: str = ""
    because: str = ""
