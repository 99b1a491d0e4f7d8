"""Run tables: the rows of runs and of their costs after a commit; a run that commits several times has one row.

Commits of other commands than ingest get a row, too.
"""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import COSTS, RUNS, from_table, to_table
from docmill.storage.schema import CostRow, RunRow
from docmill.storage.schema_evolution import conform
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.tables import read_table


def other_runs(base: StoredSnapshot | None, run: RunRow) -> pa.Table:
    """Return the rows of other runs, so that a run that commits several times has one row."""
    held = read_table(base, "runs")
    return held.filter(pc.not_equal(held.column("run_id"), run.run_id)) if _continues(base, run) else held


def _continues(base: StoredSnapshot | None, run: RunRow) -> bool:
    return base is not None and base.snapshot.pending is not None and base.snapshot.run_id == run.run_id


def costs_of(base: StoredSnapshot | None, added: tuple[CostRow, ...], run: RunRow) -> pa.Table:
    """Return the costs of all runs including those `added`; a row with more calls replaces the earlier one."""
    number = run.snapshot
    held = read_table(base, "costs")
    if base is not None and _continues(base, run):  # costs that this run committed earlier move to its new snapshot
        held = to_table([_moved(row, base.number, number) for row in from_table(held, CostRow)], COSTS)
    rows = {(row.run_id, row.purpose): row for row in from_table(held, CostRow)}
    for row in added:  # a process that died after a commit may not have removed its notes of costs
        before = rows.get((row.run_id, row.purpose))
        if before is None or before.calls < row.calls:
            rows[row.run_id, row.purpose] = replace(row, snapshot=number)
    return to_table([*rows.values()], COSTS)


def _moved(row: CostRow, before: int, number: int) -> CostRow:
    return replace(row, snapshot=number) if row.snapshot == before else row


def run_of(verb: str, **counts: int) -> RunRow:
    """Return the row of a run that begins now, named by its verb; counts that are not given are 0."""
    now = datetime.now(UTC)
    named = {"run_id": f"{now:%Y%m%dT%H%M%S%f}-{verb}", "engine": verb, "started": now.isoformat("T", "seconds")}
    row: RunRow = from_table(conform(pa.Table.from_pylist([named | counts]), RUNS), RunRow)[0]
    return row
