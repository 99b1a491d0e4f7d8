"""Statement: an SQL statement with its limits, and the frames in which processes exchange statements and answers.

A frame has a byte for its kind, its length, and its data. A statement is JSON and a table is an Arrow stream, so
reading them cannot run code.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

READY, ASKED, TABLE, TAKEN, ROWS, END, FAILED = b"r", b"a", b"t", b"b", b"d", b"e", b"f"
"""Kinds of frames: the process is ready; a statement; a table for it (END follows the last); the process begins; data
of the result; the end of the result; an error instead of it."""
HEAD = struct.Struct("!cQ")

Files = Mapping[str, Sequence[Path]]


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Limits of one statement: wall-clock seconds, and megabytes for its work and the same again for its result.

    Only the first `rows` of the result are kept; None keeps all.
    """

    seconds: float = 60.0
    memory_mb: int = 2048
    rows: int | None = None


DEFAULT_LIMITS = SqlLimits()


@dataclass(frozen=True, slots=True)
class Statement:
    """One SELECT over views named by `files`, or one predicate over the chunks of `files`, or over its documents
    if it names no chunks.

    `past` are the files of other snapshots by number or tag, for macros such as `chunks_at(41)`. `keys` are the keys of
    [metadata] with their types.
    """

    sql: str
    files: Files
    limits: SqlLimits = DEFAULT_LIMITS
    past: Mapping[str, Files] = field(default_factory=dict)
    is_predicate: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the statement as JSON."""
        limits = [self.limits.seconds, self.limits.memory_mb, self.limits.rows]
        past = {at: _named(files) for at, files in self.past.items()}
        return json.dumps([self.sql, _named(self.files), limits, past, self.is_predicate, dict(self.keys)]).encode()


def decode(data: bytes) -> Statement:
    """Return the statement that `Statement.encode` wrote."""
    sql, files, limits, past, *rest = json.loads(data)
    return Statement(sql, _found(files), SqlLimits(*limits), {at: _found(one) for at, one in past.items()}, *rest)


def frame(kind: bytes, data: bytes = b"") -> bytes:
    """Return a frame."""
    return HEAD.pack(kind, len(data)) + data


def too_long(limits: SqlLimits) -> str:
    """Return the message for a statement that reached its limit of time."""
    return f"the statement ran for more than {limits.seconds:g} s and was stopped; make it smaller"


def too_large(limits: SqlLimits) -> str:
    """Return the message for a statement that reached its limit of memory."""
    return f"the statement needed more than {limits.memory_mb} MB and was stopped; make it smaller"


def _named(files: Files) -> dict[str, list[str]]:
    """Return absolute paths, because the other process may have another working folder."""
    return {name: [str(path.absolute()) for path in paths] for name, paths in files.items()}


def _found(named: Mapping[str, Any]) -> dict[str, list[Path]]:
    return {name: [Path(path) for path in paths] for name, paths in named.items()}
