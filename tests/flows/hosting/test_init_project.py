"""The project that `docmill init --prefect` writes: deployed and run as it is, and its variants by their schemas."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.hosting.prefect_server import embedded_server

ROOT = Path(__file__).parents[3]
PROJECT = {"docmill.toml", "prefect.yaml", ".gitignore", ".docmillignore", "README.md", "docs/welcome.md"}


def init(folder: Path, *flags: str) -> set[str]:
    result = CliRunner().invoke(app, ["init", str(folder), *flags])
    assert result.exit_code == 0, result.stderr
    return {str(Path(line).relative_to(folder)) for line in result.stdout.splitlines()}


def prefect(folder: Path, *words: str) -> str:
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", *words],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_project_is_written_once_and_whole(tmp_path: Path) -> None:
    assert init(tmp_path / "one", "--prefect") == PROJECT
    (tmp_path / "two").mkdir()
    (tmp_path / "two/README.md").write_text("mine")
    refused = CliRunner().invoke(app, ["init", str(tmp_path / "two"), "--prefect"])
    assert refused.exit_code == 1
    assert [path.name for path in (tmp_path / "two").iterdir()] == ["README.md"]


@pytest.fixture
def own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a Prefect server on which no other test makes a work pool `docmill`."""
    for name in [name for name in os.environ if name.startswith("PREFECT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect home"))
    with embedded_server() as url:
        yield url


@pytest.mark.flow
@pytest.mark.slow
@pytest.mark.usefixtures("own_server")
def test_a_new_project_deploys_and_its_first_run_is_green(tmp_path: Path) -> None:
    from prefect import get_client
    from prefect.client.schemas.actions import WorkPoolCreate

    folder = tmp_path / "a project"
    init(folder, "--prefect")
    with get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name="docmill", type="process"), overwrite=True)
        prefect(folder, "deploy", "--all")
        deployment = client.read_deployment_by_name("ingest/docmill")
        assert [step["prefect.deployments.steps.set_working_directory"] for step in deployment.pull_steps or ()] == [
            {"directory": str(folder)}
        ]
        run = client.create_flow_run_from_deployment(deployment.id)
        prefect(tmp_path, "flow-run", "execute", str(run.id))
        state = client.read_flow_run(run.id).state
    assert state is not None
    assert (state.name, state.message) == ("Completed", "Snapshot 1 committed")
    assert (folder / "store/snapshots/000001.json").exists()


def test_the_docker_project_names_what_it_uses(tmp_path: Path) -> None:
    assert init(tmp_path, "--docker") == PROJECT | {"Dockerfile", ".dockerignore", "compose.yaml"}
    compose: dict[str, Any] = yaml.safe_load((tmp_path / "compose.yaml").read_text())
    services = compose["services"]
    assert set(services) == {"prefect", "minio", "worker"}
    named = {mount.partition(":")[0] for one in services.values() for mount in one["volumes"]}
    assert {name for name in named if not name.startswith(".")} == set(compose["volumes"])
    assert set(services["worker"]["depends_on"]) <= set(services)
    pull = yaml.safe_load((tmp_path / "prefect.yaml").read_text())["pull"]
    (folder,) = [step["prefect.deployments.steps.set_working_directory"]["directory"] for step in pull]
    assert f"WORKDIR {folder}\n" in (tmp_path / "Dockerfile").read_text()


@pytest.mark.flow
@pytest.mark.usefixtures("prefect_api")
def test_prefect_takes_the_work_pool_for_kubernetes(tmp_path: Path) -> None:
    from prefect import get_client
    from prefect.client.schemas.actions import WorkPoolCreate

    assert init(tmp_path, "--k8s") == PROJECT | {"Dockerfile", ".dockerignore", "work-pool.json"}
    template = json.loads((tmp_path / "work-pool.json").read_text())
    pool = WorkPoolCreate(name="docmill-k8s", type="kubernetes", base_job_template=template)
    with get_client(sync_client=True) as client:
        kept = client.create_work_pool(pool, overwrite=True)
    assert kept.base_job_template["variables"]["properties"]["image"]["default"] == "docmill-project:latest"
    assert kept.base_job_template == template


@pytest.mark.flow
@pytest.mark.parametrize("flags", [["--prefect"], ["--docker"], ["--k8s"]])
def test_the_deployments_fit_the_schema_of_prefect(tmp_path: Path, flags: list[str]) -> None:
    from prefect.cli.deploy._models import PrefectYamlModel

    init(tmp_path, *flags)
    read = PrefectYamlModel.model_validate(yaml.safe_load((tmp_path / "prefect.yaml").read_text()))
    assert [one.entrypoint for one in read.deployments] == [
        "docmill.flows.ingest.ingest",
        "docmill.flows.evaluate.evaluate",
    ]
