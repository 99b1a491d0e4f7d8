"""Unstructured files: the parser `unstructured`, which reads files as the library of that name partitions them."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.parser import Parser
from docmill.tasks.parse.format import FileType, ParseOptions
from docmill.tasks.parse.partition.needed import NEEDED, lacking


@dataclass(frozen=True)
class UnstructuredOptions:
    """`furniture` keeps headers, footers and page numbers, apart from the text; `notes` keeps the notes of slides."""

    furniture: bool = True
    notes: bool = True

    def __post_init__(self) -> None:
        for name, value in (("furniture", self.furniture), ("notes", self.notes)):
            if not isinstance(value, bool):
                raise ValueError(f"{name} must be true or false, got {value!r}")


def _parse(data: bytes, file_type: FileType, limits: ParseOptions, options: UnstructuredOptions) -> Parsed:
    reader = import_module("docmill.tasks.parse.partition.partitioned")
    parsed: Parsed = reader.parse_partitioned(data, file_type.format, limits, options)
    return parsed


def unstructured_parser() -> Parser:
    """Return the parser; nothing of the library is imported before it reads a file."""
    formats: dict[str, Any] = dict.fromkeys(NEEDED, ())
    return Parser("unstructured", 1, formats, _parse, UnstructuredOptions, lacking, "unstructured")
