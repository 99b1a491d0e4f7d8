"""By address: the destination that a person names, such as `chunks.jsonl` or `postgresql://HOST/DATABASE`."""

import re
from collections.abc import Callable
from pathlib import Path

from docmill.storage.errors import ConfigError
from docmill.storage.exports.parts_folder import DatasetFolder, PartsFolder
from docmill.storage.exports.row_files import FORMATS, JSON_LINES, PARQUET
from docmill.storage.exports.single_file import SingleFile
from docmill.storage.exports.stamp import Destination

TABLE = "chunks"
"""The name of a table or collection unless another one is given."""
FORMS = (
    "NAME.jsonl or NAME.parquet for one file",
    "jsonl:FOLDER, parquet:FOLDER or hf:FOLDER for a folder of files",
    "lancedb:FOLDER",
    "qdrant:FOLDER or qdrant:http://HOST:PORT",
    "postgresql://[USER@]HOST[:PORT]/DATABASE",
)
"""What an address of an export can be."""
KINDS_OF_FOLDER = "jsonl:FOLDER, parquet:FOLDER, hf:FOLDER, lancedb:FOLDER or qdrant:FOLDER"
_TABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_KIND = re.compile(r"(?P<kind>[A-Za-z][A-Za-z0-9+]+):(?P<rest>.*)", re.DOTALL)
_SERVER = re.compile(r"https?://[^/]+")
_HOST = re.compile(r"//[^/].*|[^/]+:\d+/?", re.DOTALL)
"""A host where a folder should be: `//HOST` or `HOST:PORT`. As a path it would be a new folder of that name."""


def destination_of(to: str, table: str | None) -> Destination:
    """Return the destination at an address; raise `ConfigError` for one that is none."""
    found = _KIND.fullmatch(to)
    kind, rest = (found["kind"], found["rest"]) if found else ("", to)
    if kind in _WITH_TABLE:
        return _WITH_TABLE[kind](_given(to, rest), _checked(table))
    if table is not None:
        raise ConfigError(f"--table names a table in lancedb:, qdrant: or postgresql://; {to} has none")
    if kind in _FOLDERS:
        return _FOLDERS[kind](_folder(to, rest))
    if kind or Path(to).suffix not in FORMATS:
        raise ConfigError(f"cannot export to {to!r}; {_why(kind)}{'; '.join(FORMS)}")
    return SingleFile(Path(to), FORMATS[Path(to).suffix])


def path_of(to: str) -> Path:
    """Return the path of a file or folder that is given without a kind; raise `ConfigError` for an address."""
    if _KIND.match(to):
        raise ConfigError(f"{to} names no file or folder of this machine; write its path")
    return Path(to)


def _why(kind: str) -> str:
    return "nothing is written into a bucket: export to a folder, and copy it; " if kind == "s3" else "write "


def _given(to: str, rest: str) -> str:
    if not rest.strip("/"):
        raise ConfigError(f"{to} names no place; write {'; '.join(FORMS[2:])}")
    return rest


def _folder(to: str, rest: str) -> Path:
    folder = Path(rest)
    if "://" in rest or not rest or _HOST.fullmatch(rest) or folder.resolve() == folder.resolve().parent:
        server = (
            f"; a server is qdrant:http://{rest.strip('/')}" if _HOST.fullmatch(rest) and to[:7] == "qdrant:" else ""
        )
        raise ConfigError(f"{to} names no folder of this machine; write {KINDS_OF_FOLDER}{server}")
    # What is swapped needs a name of its own. Else the path stays as it was typed, for messages.
    return folder.resolve() if folder.is_symlink() or folder.name in ("", "..") else folder


def _checked(table: str | None) -> str:
    name = TABLE if table is None else table
    if not _TABLE_NAME.fullmatch(name):
        raise ConfigError(f"--table takes letters, digits and _, at most 63 and no digit first, got {name!r}")
    return name


def _lancedb(rest: str, table: str) -> Destination:
    from docmill.storage.exports.lance_table import LanceTable

    return LanceTable(_folder(f"lancedb:{rest}", rest), table)


def _postgres(rest: str, table: str) -> Destination:
    from docmill.storage.exports.postgres_table import PostgresTable, checked_address

    return PostgresTable(checked_address(f"postgresql:{rest}"), table)


def _qdrant(rest: str, table: str) -> Destination:
    from docmill.storage.exports.qdrant_collection import QdrantCollection

    return QdrantCollection(rest if _SERVER.match(rest) else str(_folder(f"qdrant:{rest}", rest)), table)


_WITH_TABLE: dict[str, Callable[[str, str], Destination]] = {
    "lancedb": _lancedb,
    "postgres": _postgres,
    "postgresql": _postgres,
    "qdrant": _qdrant,
}
_FOLDERS: dict[str, Callable[[Path], Destination]] = {
    "hf": DatasetFolder,
    "jsonl": lambda root: PartsFolder(root, JSON_LINES),
    "parquet": lambda root: PartsFolder(root, PARQUET),
}
