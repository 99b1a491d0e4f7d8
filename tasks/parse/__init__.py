"""Parsing: from a file's bytes to its canonical text, the typed spans of it, and what it says of itself."""

from tasks.parse.file_type import detect_file_type
from tasks.parse.format import FileType, Format, ParseOptions
from tasks.parse.formats import FORMATS
from tasks.parse.reading import parse, parser_key

__all__ = ["FORMATS", "FileType", "Format", "ParseOptions", "detect_file_type", "parse", "parser_key"]
