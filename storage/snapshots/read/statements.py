"""Statements: run SQL over one snapshot, and over other kept snapshots that the statement names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pyarrow as pa

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.schema_evolution import schema_of
from docmill.storage.snapshots.history import judgements, learned_settings, measurements, query_log, snapshots, tags
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.read.overview import snapshots_table
from docmill.storage.sql.derived_views import EMBEDDINGS, OF_QUERIES, OF_VECTORS
from docmill.storage.sql.statement import SqlLimits
from docmill.storage.sql.statement_pool import query

_AT = re.compile(rf"\b(?:{'|'.join(SCHEMAS)})_at\s*\(\s*'?([\w.-]+)'?\s*\)", re.IGNORECASE)


def _any_of(*names: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(names)})\b", re.IGNORECASE)


_OF_VECTORS = _any_of(*OF_VECTORS, EMBEDDINGS, "neighbours")
"""Names in a statement that need the packs of vectors, which a mirror may have to fetch first."""
_READ_IF_NAMED: tuple[tuple[str, re.Pattern[str], Callable[[Path], pa.Table]], ...] = (
    ("asked_questions", _any_of("asked_questions"), measurements.read_asked),  # many times larger than the measures
    ("judgements", _any_of("judgements"), judgements.table),  # each is a file of its own
    ("queries", _any_of("queries", *OF_QUERIES), query_log.table),
    ("learned", _any_of("learned"), learned_settings.table),
)
"""Tables beside the snapshot that are read only if a statement names them or a view of them."""


def run_statement(stored: StoredSnapshot, statement: str, limits: SqlLimits) -> pa.Table:
    """Return the rows of one SELECT over a snapshot."""
    files = {name: stored.paths(name) for name in SCHEMAS}
    if _OF_VECTORS.search(statement):
        files[EMBEDDINGS] = _packs_of_space(stored)
    extra = {"snapshots": snapshots_table(stored.root, stored.number), "evaluations": measurements.read(stored.root)}
    extra |= {name: read(stored.root) for name, sign, read in _READ_IF_NAMED if sign.search(statement)}
    return query(files, extra, statement, limits, _past(stored, statement), stored.snapshot.keys)


def _packs_of_space(stored: StoredSnapshot) -> list[Path]:
    """Return the packs whose vectors have the snapshot's dimension; others are from a previous model."""
    packs, dimension = stored.ensure_packs("embeddings"), stored.snapshot.space.dimension
    return [path for path in packs if schema_of(path).field("vector").type.list_size == dimension]


def _past(stored: StoredSnapshot, statement: str) -> dict[str, Mapping[str, list[Path]]]:
    """Return the files of the kept snapshots that a statement names in a macro such as `chunks_at(41)`."""
    found = _named_snapshots(stored.root, statement)
    if not found:
        return {}
    kept = {state.number: state for state in snapshots.each(stored.root) if state.number in found.values()}
    states = {at: replace(stored, snapshot=kept[number]) for at, number in found.items() if number in kept}
    stored.folder.ensure([*chain.from_iterable(state.snapshot.table_files() for state in states.values())])
    return {at: {name: state.paths(name) for name in SCHEMAS} for at, state in states.items()}


def _named_snapshots(root: Path, statement: str) -> dict[str, int]:
    """Return the numbers of the snapshots that a statement names; a number takes precedence over an equal tag."""
    named = set(_AT.findall(statement))
    known = tags.tags(root) | {str(number): number for number in snapshots.numbers(root)}
    return {at: number for at, number in known.items() if at in named}
