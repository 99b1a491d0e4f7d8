"""Run tables: the rows of runs and of their costs after a commit; a run that commits several times has one row."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import COSTS, from_table, to_table
from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.schema import CostRow, RunRow
from docmill.storage.tables.tables import read_table


def other_runs(base: StoredSnapshot | None, run: RunRow) -> pa.Table:
    """Return the rows of earlier runs; a run that commits several times has one row."""
    held = read_table(base, "runs")
    return held.filter(pc.not_equal(held.column("run_id"), run.run_id)) if _continues(base, run) else held


def _continues(base: StoredSnapshot | None, run: RunRow) -> bool:
    return base is not None and base.snapshot.pending is not None and base.snapshot.run_id == run.run_id


def costs_of(base: StoredSnapshot | None, added: tuple[CostRow, ...], run: RunRow) -> pa.Table:
    """Return the costs of all runs with those `added`; rows that the store already has are skipped."""
    number = run.snapshot
    held = read_table(base, "costs")
    if base is not None and _continues(base, run):  # the costs that this run has committed before move with it
        held = to_table([_moved(row, base.number, number) for row in from_table(held, CostRow)], COSTS)
    known = {(row.run_id, row.purpose) for row in from_table(held, CostRow)}
    fresh = [replace(row, snapshot=number) for row in added if (row.run_id, row.purpose) not in known]
    return pa.concat_tables([held, to_table(fresh, COSTS)])


def _moved(row: CostRow, before: int, number: int) -> CostRow:
    return replace(row, snapshot=number) if row.snapshot == before else row
