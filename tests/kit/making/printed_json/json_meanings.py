"""The meanings of the fields of what `--json` prints, those of columns and attributes included."""

import inspect
import re
from collections.abc import Mapping
from typing import NamedTuple

import docmill
from docmill.storage.sql.column_descriptions import TABLES
from tests.kit.making.printed_json.json_fields import PRINTED


class JsonField(NamedTuple):
    """A field of an object that a command prints."""

    path: str
    type: str
    meaning: str


def _attributes(kind: type) -> dict[str, str]:
    """Return what a docstring says of each attribute."""
    said = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    return {
        name: " ".join(text.split()) for name, text in re.findall(r"^ {4}(\w+): (.*?)(?=^ {4}\w|\Z)", said, re.M | re.S)
    }


SAID: dict[str, Mapping[str, str]] = {
    "ingest": _attributes(docmill.Report),
    "plan": _attributes(docmill.Report),
    "watch": _attributes(docmill.Report),
    "search": _attributes(docmill.Hit),
    "list": TABLES["documents"][1],
    "show": {**TABLES["chunks"][1], **TABLES["documents"][1]},
    "explain": TABLES["chunks"][1],
    "history": TABLES["snapshots"][1],
    "rejects": TABLES["rejects"][1],
}


def fields_of(command: str) -> list[JsonField]:
    """Return the fields of what a command prints, in their order."""
    rows = (line.split(" |", 2) for line in PRINTED[command].fields.splitlines())
    names = ((path, kind.strip(), said.strip(), re.split(r"[.\]]", path)[-1] or path) for path, kind, said in rows)
    return [JsonField(path, kind, said or SAID[command][name]) for path, kind, said, name in names]
