"""Readers: the parsers that settings choose by path, instead of the default of a format, and the engine of OCR.

Of the two engines, rapidocr comes with its models as the extra `ocr`, and tesseract is a program of the system.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

from docmill.storage.errors import ConfigError, Rejected
from docmill.storage.keys import key_of
from docmill.tasks.parse.dispatch.parser import NoOptions, Parser
from docmill.tasks.parse.dispatch.parsers import PARSERS, default_parser, options_of_parser, plugged, unusable
from docmill.tasks.parse.formats import FORMATS, FileType, ParseOptions
from docmill.tasks.paths.patterns import PathPatterns, patterns_of

RAPIDOCR, TESSERACT = "rapidocr", "tesseract"
_SCANNED = ("pdf", "image")  # formats whose text may depend on OCR
_SCANNED_FACTS = ("ocr_pages", "scanned_pages", "pictured_pages", "garbled_pages", "pages_without_text")
"""Metadata of a PDF about pages that OCR reads, or would read."""
_COMMENTED = ("docx", "doc", "odt")  # formats whose text depends on whether comments are read
_GLOBS = 256
"""Compiled globs to cache, as for routes."""
_VAGUE = "text"
"""The format whose suffixes prove nothing: HTML or a mail may be named .txt, and another parser may read it."""


@dataclass(frozen=True, slots=True)
class ChosenReader:
    """The name of a parser and its options; checked when constructed."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild on unpickling: a worker loads plugins before its memory is limited."""
        return ChosenReader, (self.name, self.options)

    def __post_init__(self) -> None:
        options_of_parser(self.name, self.options)

    @property
    def parser(self) -> Parser:
        """Return the parser."""
        return PARSERS[self.name]

    def spelled(self) -> tuple[Any, ...]:
        """Return the parts that a key must cover."""
        return self.name, self.parser.whole_version, asdict(options_of_parser(self.name, self.options))

    def readable(self) -> list[str]:
        """Return the formats for which nothing must be installed."""
        return [form for form in self.parser.formats if not self.parser.lacks(form)]

    def takes(self, form: str) -> bool:
        """Return whether the parser reads a format."""
        return form in self.parser.formats


@dataclass(frozen=True, slots=True)
class ReaderTable:
    """Chooses a reader by the first glob that matches a uri; globs are written as in .gitignore.

    Plugin parsers are imported when a table is built, because they say which files they read.
    """

    by_glob: tuple[tuple[str, ChosenReader], ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild on unpickling, as `ChosenReader` is."""
        return ReaderTable, (self.by_glob,)

    def __post_init__(self) -> None:
        for glob, reader in self.by_glob:
            _compile(glob)
            _check(glob, reader)
        for _ in plugged():
            pass

    def chosen(self, uri: str) -> ChosenReader | None:
        """Return the reader of a uri, or None for the default parser of its format."""
        return next((reader for glob, reader in self.by_glob if _compile(glob).match(uri)), None)


def _check(glob: str, reader: ChosenReader) -> None:
    """Raise ConfigError for a rule whose reader cannot read files with the suffix in its glob."""
    from docmill.tasks.parse.dispatch.file_type import format_of_name  # loads format detection: 0.1 s

    form = format_of_name(PurePosixPath(glob).name)
    if form not in ("", _VAGUE) and not reader.takes(form):
        raise ConfigError(f"{_refusal(reader, form)}, but {glob!r} names such files")
    if lacking := reader.parser.lacks(form if reader.takes(form) else ""):
        raise ConfigError(f"reader {reader.name!r}: {lacking}")


def _refusal(reader: ChosenReader, form: str) -> str:
    return f"reader {reader.name!r} does not read {form} files, only {', '.join(reader.parser.formats)}"


@lru_cache(maxsize=_GLOBS)
def _compile(glob: str) -> PathPatterns:
    return patterns_of([glob], "[[parse.readers]] glob")


def parser_for(file_type: FileType, reader: ChosenReader | None) -> tuple[Parser, Any]:
    """Return the parser of a file and its options; raise Rejected if none reads it, or it cannot be used here."""
    if reader is None:
        parser = default_parser(file_type.format)
        if parser is None:
            why = f"format {file_type.format!r} must be one of {', '.join(FORMATS)}{unusable()}"
            raise Rejected("unsupported", why)
        return parser, NoOptions() if parser.options is NoOptions else parser.options()
    if not reader.takes(file_type.format):
        raise Rejected("unsupported", f"{_refusal(reader, file_type.format)}; [[parse.readers]] chose it")
    if lacking := reader.parser.lacks(file_type.format):
        raise Rejected("not_installed", lacking)
    return reader.parser, options_of_parser(reader.name, reader.options)


def may_be_scanned(file_type: FileType, metadata: str) -> bool:
    """Return whether OCR affects the text of a file, given its document's metadata as JSON."""
    return file_type.format == "image" or (
        file_type.format in _SCANNED and any(f'"{fact}"' in metadata for fact in _SCANNED_FACTS)
    )


def parser_key(
    file_type: FileType, options: ParseOptions, reader: ChosenReader | None = None, scanned: bool = True
) -> str:
    """Return the key of everything besides a file's content that determines its canonical text.

    Passwords and limits decide whether there is a text, but not which, so they are not part of the key. Nor is OCR for
    a file that is not `scanned`. A new version of tesseract goes unnoticed, because only the program knows it. The key
    is "" if nothing installed reads the format.
    """
    form = FORMATS.get(file_type.format)
    if form is not None and (reader is None or reader.name == form.name):
        ocr = _ocr_key(options) if scanned and file_type.format in _SCANNED else ()
        comments = ("comments",) if options.comments and file_type.format in _COMMENTED else ()
        return key_of("parser", file_type.format, form.version, file_type.language, *ocr, *comments)
    chosen = reader or _default(file_type.format)
    return key_of("parser", file_type.format, file_type.language, chosen.spelled()) if chosen else ""


def _ocr_key(options: ParseOptions) -> tuple[str, ...]:
    by = () if options.ocr_engine == TESSERACT else (options.ocr_engine,)
    return (options.ocr_languages, *by) if options.ocr else ()


def parser_name(file_type: FileType, reader: ChosenReader | None = None) -> str:
    """Return the format and its parser's version, with the parser's name if it is not docmill's own."""
    form = FORMATS.get(file_type.format)
    if form is not None and (reader is None or reader.name == form.name):
        return f"{form.name} {form.version}"
    return f"{file_type.format} by {reader_name(file_type, reader) or 'no parser'}"


def reader_name(file_type: FileType, reader: ChosenReader | None) -> str:
    """Return the name and version of the parser of a file, or "" for docmill's default."""
    chosen = reader if file_type.format in FORMATS else reader or _default(file_type.format)
    return "" if chosen is None or chosen.name == file_type.format in FORMATS else str(chosen.parser)


def _default(form: str) -> ChosenReader | None:
    """Return the plugin parser that reads a format by default, or None unless there is exactly one."""
    try:
        parser = default_parser(form)
    except Rejected:
        return None
    return ChosenReader(parser.name) if parser else None


_UNKNOWN = """
amh ara asm aze_cyrl bel ben bod bul chr div dzo ell fas grc guj heb hin hye iku kan kat kaz khm kir kor lao mal mar mkd
mon mya nep ori pan pus rus san sin snd srp syr tam tel tgk tha tir uig ukr urd uzb_cyrl yid
"""
"""Languages of tesseract whose scripts rapidocr's model lacks: it knows Latin letters, Chinese and Japanese."""


def engine_for(wanted: str, languages: str) -> str:
    """Return the engine that a value of `[parse] ocr` selects on this machine, with what its results depend on.

    It is "" if OCR is off. `auto` uses rapidocr if it is installed; `on` uses tesseract otherwise, and for scripts that
    rapidocr does not know.
    """
    installed = bool(find_spec(RAPIDOCR))
    if wanted == RAPIDOCR or (installed and _prefers_rapidocr(wanted, languages)):
        return f"{RAPIDOCR} {version(RAPIDOCR)}" if installed else RAPIDOCR
    return TESSERACT if wanted in ("on", TESSERACT) else ""


def reading_key(engine: str, languages: str) -> str:
    """Return the key of everything that decides which words an engine reads in a picture."""
    return key_of("reading", engine, languages)


def _prefers_rapidocr(wanted: str, languages: str) -> bool:
    knows = not {*_UNKNOWN.split()} & {*re.split("[+/]", languages)}
    return {"auto": knows, "on": knows or not shutil.which(TESSERACT)}.get(wanted, False)
