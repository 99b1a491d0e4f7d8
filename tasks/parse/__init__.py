"""Parsing: from a file's bytes to its canonical text, the typed spans of it, and what it says of itself."""

from docmill.tasks.parse.file_type import detect_file_type
from docmill.tasks.parse.format import FileType, Format, ParseOptions
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.reading import parse, parser_key

__all__ = ["FORMATS", "FileType", "Format", "ParseOptions", "detect_file_type", "parse", "parser_key"]
