"""Unstructured files: the parser `unstructured`, which reads files as the library of that name partitions them."""

from importlib import import_module
from typing import Any

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.parser import Parser
from docmill.tasks.parse.format import FileType, ParseOptions
from docmill.tasks.parse.partition.needed import NEEDED, UnstructuredOptions, lacking


def _parse(data: bytes, file_type: FileType, limits: ParseOptions, options: UnstructuredOptions) -> Parsed:
    reader = import_module("docmill.tasks.parse.partition.partitioned")
    parsed: Parsed = reader.parse_partitioned(data, file_type.format, limits, options)
    return parsed


def unstructured_parser() -> Parser:
    """Return the parser; nothing of the library is imported before it reads a file."""
    formats: dict[str, Any] = dict.fromkeys(NEEDED, ())
    return Parser("unstructured", 1, formats, _parse, UnstructuredOptions, lacking, "unstructured")
