"""A run on workers that a Prefect flow shows."""

import json
from pathlib import Path

import pytest

from docmill.flows.prefect.prefect_run import run_prefect
from docmill.storage.remote.objects.bucket import connect
from tests.kit.faults.cluster_runs import BUCKET, rows_of, settings_on
from tests.kit.faults.machines import Machines
from tests.kit.workbench import Workbench

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_api")]


def test_a_flow_shows_what_the_workers_did(cluster: Machines, bench: Workbench, tmp_path: Path) -> None:
    from prefect import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId

    here = bench.copy(tmp_path / "here")
    near = here.ingest()
    far = run_prefect(settings_on(cluster.settings, bench), [str(bench.docs)])
    assert (far.engine, far.documents, far.chunks) == ("dask", near.documents, near.chunks)
    assert rows_of(bench) == rows_of(here)
    assert bench.files("chunks") == here.files("chunks")
    assert connect(BUCKET).listing() == []
    with get_client(sync_client=True) as client:
        # Other flows have a store of this name, too, but none of them has workers.
        (told,) = [artifact for artifact in client.read_latest_artifacts() if artifact.key == "workers-store"]
        assert told.flow_run_id
        own = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[told.flow_run_id]))
        left = {artifact.key: artifact.data for artifact in client.read_artifacts(artifact_filter=own)}
    table = json.loads(str(left["workers-store"]))
    assert {row["worker"] for row in table} == {"one", "two"}
    assert (sum(row["documents"] for row in table), sum(row["killed"] for row in table)) == (153, 0)
    assert left["progress-store"] == 100.0
