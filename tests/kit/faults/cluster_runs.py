"""Runs on the machines of the tests, and what is compared of their stores."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docmill.flows.cluster.cluster_engine import on_cluster
from docmill.flows.config.settings import ClusterSettings, Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.phases import Phase
from docmill.flows.runs.pipeline import ingest
from docmill.flows.runs.report import Report
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.tables.tables import read_table
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench

BUCKET = "s3://freight/of the tests"


class Heard(LocalEngine):
    """Threads, of which the log is kept; `at` is called with each phase."""

    def __init__(self, told: list[str] | None = None, at: Callable[[Phase], None] | None = None) -> None:
        super().__init__(at, threads=16)
        self._told = told
        self.tables: dict[str, list[dict[str, Any]]] = {}

    def log(self, message: str) -> None:
        if self._told is not None:
            self._told.append(message)

    def tell(self, message: str) -> None:
        self.log(message)

    def table(self, name: str, rows: Any, description: str) -> None:
        assert description
        self.tables[name] = rows


def settings_on(
    cluster: ClusterSettings, bench: Workbench, freight: str = BUCKET, engine_name: str = "dask", **more: Any
) -> Settings:
    """Return the settings of a run of a bench on a cluster; `more` are further ones of `[cluster]`."""
    chosen = cluster.model_copy(update={"freight": freight, **more})
    values = {"embedding": {"model": NAME}, **bench.settings}
    return Settings.model_validate({"store": bench.root, "engine": engine_name, "cluster": chosen, **values})


def run_on(
    cluster: ClusterSettings, bench: Workbench, engine: Heard | None = None, *sources: str, **more: Any
) -> Report:
    """Ingest a bench on a cluster."""
    settings = settings_on(cluster, bench, **more)
    with engine or Heard() as own, on_cluster(own, settings) as placed:
        return ingest(settings, sources or [str(bench.docs)], placed)


def rows_of(bench: Workbench) -> list[dict[str, object]]:
    """Return the documents without when they came."""
    table = read_table(open_folder(bench.root).newest(), "documents")
    kept = [name for name in table.column_names if not name.endswith("_at")]
    return [dict(row) for row in table.select(kept).to_pylist()]


def pages(count: int, name: str = "page") -> dict[str, str | bytes]:
    """Return small documents by their names."""
    return {
        f"{name}{i:03}.md": f"# {name.title()} {i}\n\nThe {i}th knob is red.\n\n| a | b |\n|---|---|\n| {i} | x |\n"
        for i in range(count)
    }


def new_bench(folder: Path) -> Workbench:
    """Return a bench with pages, two equal ones of them, and documents that are rejected."""
    bench, made = Workbench(folder), pages(150)
    bench.write({**made, "same.txt": made["page007.md"], "broken.pdf": b"%PDF-1.4 nothing", "void.md": ""})
    return bench
