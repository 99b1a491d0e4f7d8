"""Run rows: the row in `runs` of a commit that no ingest has made."""

from datetime import UTC, datetime

import pyarrow as pa

from docmill.storage.arrow_schema import RUNS, from_table
from docmill.storage.schema import RunRow
from docmill.storage.schema_evolution import conform


def run_of(verb: str, **counts: int) -> RunRow:
    """Return the row of a run that begins now; it is named by its verb, and counts that are not given are 0."""
    now = datetime.now(UTC)
    named = {"run_id": f"{now:%Y%m%dT%H%M%S%f}-{verb}", "engine": verb, "started": now.isoformat("T", "seconds")}
    row: RunRow = from_table(conform(pa.Table.from_pylist([named | counts]), RUNS), RunRow)[0]
    return row
