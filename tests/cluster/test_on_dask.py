"""A run on two workers that share nothing with the driver but a scheduler and a bucket."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.cluster.dask_cluster import DaskCluster
from docmill.storage.errors import ConfigError, Transient
from docmill.storage.remote.objects.bucket import connect
from docmill.storage.search.encode import space
from tests.kit.fake_encoder import NAME, write_model
from tests.kit.faults.cluster_runs import BUCKET, Heard, pages, rows_of, run_on
from tests.kit.faults.machines import Machines
from tests.kit.model_server import ModelServer
from tests.kit.remote_bench import make_bucket
from tests.kit.workbench import Workbench
from tests.kit.writers.certificates import write_certificates
from tests.kit.writers.figures import drawn

SUBJECTS = ("mill grinds the grain", "ship sails the sea", "program reads the file")


def test_workers_make_the_rows_that_threads_make(cluster: Machines, bench: Workbench, tmp_path: Path) -> None:
    here = bench.copy(tmp_path / "here")
    near, log = here.ingest(), list[str]()
    engine = Heard(log)
    far = run_on(cluster.settings, bench, engine)
    assert (far.engine, far.documents, far.chunks) == ("dask", near.documents, near.chunks)
    assert [(row.uri, row.reason) for row in far.rejects] == [(row.uri, row.reason) for row in near.rejects]
    assert bench.chunks() == here.chunks()
    assert bench.files("chunks") == here.files("chunks")
    assert rows_of(bench) == rows_of(here)
    for query in ("red knob", "Page 7"):
        there, then = bench.store.search(query, k=10), here.store.search(query, k=10)
        assert [hit.chunk_id for hit in there] == [hit.chunk_id for hit in then]
        assert np.allclose([hit.score for hit in there], [hit.score for hit in then])
    assert {line.split(":")[0] for line in log if line.startswith("worker ")} == {"worker one", "worker two"}
    table = engine.tables["workers"]
    assert [row["worker"] for row in table] == ["one", "two"]
    assert sum(row["documents"] for row in table) == 153
    assert sum(row["texts"] for row in table) == far.embedded
    assert sum(row["tokens"] for row in table) == far.tokens_embedded
    assert connect(BUCKET).listing() == []
    assert run_on(cluster.settings, bench).snapshot is None
    with cluster.client() as client:
        assert not any(client.run(os.path.exists, str(bench.docs / "void.md")).values())


def test_workers_read_objects_themselves_and_embed_where_the_label_is(
    cluster: Machines, bench: Workbench, tmp_path: Path
) -> None:
    here = bench.copy(tmp_path / "here")
    near = here.ingest()
    make_bucket("origin")
    for path in sorted(bench.docs.iterdir()):
        connect("s3://origin/docs").upload(path, path.name)
    log: list[str] = []
    engine = Heard(log)
    far = run_on(cluster.settings, bench, engine, "s3://origin/docs", embed_on="GPU")
    assert any(line.startswith("read-000000: worker ") for line in log)
    assert (far.documents, far.chunks) == (near.documents, near.chunks)
    assert [chunk.text for chunk in bench.chunks()] == [chunk.text for chunk in here.chunks()]
    texts = {row["worker"]: row["texts"] for row in engine.tables["workers"]}
    assert (texts["one"], texts["two"]) == (0, far.embedded)
    with pytest.raises(ConfigError, match=r"no worker has the resource TPU of cluster\.embed_on"):
        run_on(cluster.settings, bench, embed_on="TPU")


@pytest.mark.parametrize("bucket", ["", "pictured"])
def test_pictures_beside_a_page_travel_with_it(cluster: Machines, tmp_path: Path, fake_model: str, bucket: str) -> None:
    bench, picture = Workbench(tmp_path, {"parse": {"ocr": False}, "embedding": {"model": fake_model}}), drawn(1)
    bench.write({"p.html": "<h1>Lagoon</h1><p>Bloom.</p><img src=one.png>", "one.png": picture})
    if bucket:
        make_bucket(bucket)
        for path in bench.docs.iterdir():
            connect(f"s3://{bucket}/docs").upload(path, path.name)
    sources = [f"s3://{bucket}/docs"] if bucket else []
    assert run_on(cluster.settings, bench, None, *sources).documents.added == 2
    with bench.store as store:
        (figure,) = store.figures("p.html")
        assert store.figure(figure.key).data == picture
    assert run_on(cluster.settings, bench, None, *sources).snapshot is None


def test_models_are_asked_by_the_driver_and_documents_split_by_workers(
    cluster: Machines, tmp_path: Path, fake_model: str, server: ModelServer
) -> None:
    sentences = " ".join(f"The {name} and here is number {i} of it." for name in SUBJECTS for i in range(8))
    routes = [{"glob": "parts/**", "strategy": "semantic", "options": {"size": 64}}]
    model = {"provider": "openai", "model": "loopback", "base_url": f"{server.url}/v1"}
    settings = {"embedding": {"model": fake_model}, "model": model, "routes": routes}
    bench = Workbench(tmp_path / "far", {**settings, "chunk": {"contextualizer": "llm"}})
    bench.write({**pages(5), "parts/one.md": f"# Things\n\n{sentences}"})
    here = bench.copy(tmp_path / "here")
    near, asked = here.ingest(), len(server.requests)
    assert asked
    log: list[str] = []
    far = run_on(cluster.settings, bench, Heard(log))
    assert len(server.requests) == 2 * asked
    assert bench.chunks() == here.chunks()
    assert {row.strategy for row in bench.chunks()} >= {"semantic"}
    assert (far.documents, far.chunks, far.embedded, far.model["calls"]) == (
        near.documents,
        near.chunks,
        near.embedded,
        near.model["calls"],
    )
    steps = {line.partition("-")[0] for line in log if ": worker " in line}
    assert steps == {"batch", "again", "embed"}
    assert connect(BUCKET).listing() == []
    assert run_on(cluster.settings, bench).snapshot is None


def test_only_who_shows_a_certificate_of_the_authority_gets_in(cluster: Machines, tmp_path: Path) -> None:
    address = cluster.settings.address.replace("tls:", "tcp:")
    plain = cluster.settings.model_copy(update={"address": address, "insecure": True})
    stranger = cluster.settings.model_copy(update=write_certificates(tmp_path))
    for settings in (plain, stranger):
        with pytest.raises(Transient, match="no scheduler at"):
            DaskCluster(settings, connect_s=1.0)
    DaskCluster(cluster.settings).close()


def test_the_status_of_a_cluster_has_a_row_for_each_worker(cluster: Machines, fake_model: str) -> None:
    values = {name: getattr(cluster.settings, name) for name in ("address", "tls_ca", "tls_cert", "tls_key")}
    flags = [f'--set=cluster.{name}="{value}"' for name, value in values.items()]
    command = ["status", "--cluster", "--json", f'--set=embedding.model="{fake_model}"', *flags]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)
    assert [(row["worker"], row["resources"], row["state"]) for row in rows] == [
        ("one", "", "ready"),
        ("two", "GPU=1", "ready"),
    ]
    assert all(row["address"].startswith("tls://127.0.0.1:") and row["about"].endswith(" CPUs") for row in rows)


def test_a_driver_with_another_model_is_refused_by_all(cluster: Machines, bench: Workbench, tmp_path: Path) -> None:
    other = write_model(tmp_path / NAME, dimension=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(space.FOLDERS, NAME, lambda: other)
        with pytest.raises(ConfigError, match=r"worker (one|two) would make other rows: .* has the weights"):
            run_on(cluster.settings, bench)


def test_freight_inside_of_the_store_is_refused(cluster: Machines, bench: Workbench) -> None:
    with pytest.raises(ConfigError, match="must be outside the store"):
        run_on(cluster.settings, bench, freight=str(bench.root / "freight"))
