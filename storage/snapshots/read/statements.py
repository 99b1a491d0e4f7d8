"""Statements: run SQL over one snapshot, and over other kept snapshots that the statement names."""

import re
from collections.abc import Mapping
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
_OF_VECTORS = re.compile(rf"\b(?:{'|'.join(OF_VECTORS)}|{EMBEDDINGS}|neighbours)\b", re.IGNORECASE)
"""Names in a statement that need the packs of vectors, which a mirror may have to fetch first."""
_OF_QUESTIONS = re.compile(r"\basked_questions\b", re.IGNORECASE)
_OF_QUERIES = re.compile(rf"\b(?:queries|{'|'.join(OF_QUERIES)})\b", re.IGNORECASE)
_OF_LEARNED = re.compile(r"\blearned\b", re.IGNORECASE)
_OF_JUDGEMENTS = re.compile(r"\bjudgements\b", re.IGNORECASE)


def run_statement(stored: StoredSnapshot, statement: str, limits: SqlLimits) -> pa.Table:
    """Return the rows of one SELECT over a snapshot."""
    files = {name: stored.paths(name) for name in SCHEMAS}
    if _OF_VECTORS.search(statement):
        files[EMBEDDINGS] = _packs_of_space(stored)
    extra = {
        "snapshots": snapshots_table(stored.root, stored.number),
        "evaluations": measurements.read(stored.root),
    }
    if _OF_QUESTIONS.search(statement):  # their texts and hits are many times larger than the measures
        extra["asked_questions"] = measurements.read_asked(stored.root)
    if _OF_JUDGEMENTS.search(statement):  # each is a file of its own
        extra["judgements"] = judgements.table(stored.root)
    if _OF_QUERIES.search(statement):
        extra["queries"] = query_log.table(stored.root)
    if _OF_LEARNED.search(statement):
        extra["learned"] = learned_settings.table(stored.root)
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
