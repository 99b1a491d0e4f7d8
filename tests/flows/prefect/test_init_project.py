"""The project that `docmill init --prefect` writes: deployed and run as it is, and its variants by their schemas."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.config.input_settings import ParseSettings
from docmill.flows.config.settings import ClusterSettings

ROOT = Path(__file__).parents[3]
PATIENCE_S = 300.0
ENDING_S = 3.0  # in which a worker and a server end by themselves
JSON = {"Content-Type": "application/json"}
PROJECT = {"docmill.toml", "prefect.yaml", ".gitignore", ".docmillignore", "README.md", "docs/welcome.md"}
IMAGE = {"Dockerfile", ".dockerignore", "wheels/README.md"}
PARSER_GB = ParseSettings().memory_mb / 1024


def init(folder: Path, *flags: str) -> set[str]:
    result = CliRunner().invoke(app, ["init", str(folder), *flags])
    assert result.exit_code == 0, result.stderr
    return {str(Path(line).relative_to(folder)) for line in result.stdout.splitlines()}


def test_a_project_is_written_once_and_whole(tmp_path: Path) -> None:
    assert init(tmp_path / "one", "--prefect") == PROJECT | {".env"}
    (tmp_path / "two").mkdir()
    (tmp_path / "two/README.md").write_text("mine")
    refused = CliRunner().invoke(app, ["init", str(tmp_path / "two"), "--prefect"])
    assert refused.exit_code == 1
    assert [path.name for path in (tmp_path / "two").iterdir()] == ["README.md"]


def test_the_next_step_is_told(tmp_path: Path) -> None:
    alone = CliRunner().invoke(app, ["init", str(tmp_path / "alone")])
    assert alone.stdout == f"{tmp_path}/alone/docmill.toml\n"
    assert alone.stderr == f"docmill: next: set `sources` in {tmp_path}/alone/docmill.toml, then type: docmill plan\n"
    project = CliRunner().invoke(app, ["init", str(tmp_path / "one"), "--prefect"])
    said = f"put documents into {tmp_path}/one/docs, then type the commands of {tmp_path}/one/README.md"
    assert project.stderr == f"docmill: next: {said}\n"


@pytest.mark.parametrize("flags", [["--prefect"], ["--docker"], ["--k8s"], ["--docker", "--k8s"]])
def test_each_readme_says_where_a_worker_finds_the_server(tmp_path: Path, flags: list[str]) -> None:
    init(tmp_path, *flags)
    commands, after = (tmp_path / "README.md").read_text().split("```")[1:]
    assert "PREFECT_API_URL" in after
    assert (". ./.env" in commands) == (flags != ["--docker"])
    assert ("PREFECT_API_URL" in (tmp_path / "compose.yaml").read_text()) if "--docker" in flags else True


def values(secrets: Path) -> dict[str, str]:
    """Return the variables of a file such as `.env`."""
    lines = [line.partition("=") for line in secrets.read_text().splitlines() if not line.startswith("#")]
    return {name: value for name, _, value in lines}


def basic(secret: str) -> str:
    """Return the header of a request that knows a secret."""
    return f"Basic {b64encode(secret.encode()).decode()}"


@contextmanager
def typed(folder: Path, commands: str, environment: dict[str, str]) -> Iterator[str]:
    """Run the commands of a README in a shell; what they print is yielded, and what they left running is ended."""
    with (folder / "typed.log").open("wb") as log:
        shell = subprocess.Popen(
            ["bash", "-ec", commands], cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        status = shell.wait(PATIENCE_S)
        printed = (folder / "typed.log").read_text()
        assert status == 0, printed
        yield printed
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGTERM)
            time.sleep(ENDING_S)
            os.killpg(shell.pid, signal.SIGKILL)


@pytest.mark.flow
@pytest.mark.slow
def test_the_readme_of_a_new_project_leads_to_a_green_run(
    tmp_path: Path, created_home: Path, warm_prefect: Path
) -> None:
    folder = tmp_path / "a project"
    init(folder, "--prefect")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "DOCMILL_"))}
    path = os.pathsep.join((str(warm_prefect), str(Path(sys.executable).parent), os.environ["PATH"]))
    own = {"PREFECT_HOME": str(created_home), "PREFECT_SERVER_API_PORT": port, "DO_NOT_TRACK": "1"}
    commands = (folder / "README.md").read_text().split("```")[1].replace("4200", port)
    secrets = folder / ".env"
    secrets.write_text(secrets.read_text().replace("4200", port))
    headers = {**JSON, "Authorization": basic(values(secrets)["PREFECT_API_AUTH_STRING"])}
    with typed(folder, commands, {**kept, **own, "PYTHONPATH": str(ROOT), "PATH": path}) as printed:
        with urlopen(Request(f"http://127.0.0.1:{port}/api/flow_runs/filter", b"{}", headers)) as answer:
            (run,) = [one for one in json.load(answer) if one["state_type"] != "SCHEDULED"]
        assert (run["name"], run["state_name"]) == ("ingest docs → store", "Completed"), printed
        assert run["state"]["message"] == "Snapshot 1 committed"
    assert (folder / "store/snapshots/000001.json").exists()


def test_the_docker_project_names_what_it_uses(tmp_path: Path) -> None:
    assert init(tmp_path, "--docker") == PROJECT | IMAGE | {".env", "compose.yaml"}
    compose: dict[str, Any] = yaml.safe_load((tmp_path / "compose.yaml").read_text())
    services = compose["services"]
    assert set(services) == {"prefect", "minio", "worker", "scheduler", "parser"}
    assert {name for name, one in services.items() if one.get("profiles")} == {"scheduler", "parser"}
    assert not any("ports" in services[name] for name in ("scheduler", "parser"))
    named = {mount.partition(":")[0] for one in services.values() for mount in one.get("volumes", [])}
    assert {name for name in named if not name.startswith(".")} == set(compose["volumes"])
    assert set(services["worker"]["depends_on"]) <= set(services)
    pull = yaml.safe_load((tmp_path / "prefect.yaml").read_text())["pull"]
    (folder,) = [step["prefect.deployments.steps.set_working_directory"]["directory"] for step in pull]
    assert f"WORKDIR {folder}\n" in (tmp_path / "Dockerfile").read_text()


@pytest.mark.parametrize("flag", ["--prefect", "--docker"])
def test_the_secrets_of_a_project_are_its_own_and_private(tmp_path: Path, flag: str) -> None:
    found = []
    for name in ("one", "two"):
        init(tmp_path / name, flag)
        secrets = tmp_path / name / ".env"
        assert secrets.stat().st_mode & 0o777 == 0o600
        found.append(values(secrets))
        for ignored in (".gitignore", *[".dockerignore"] * (flag == "--docker")):
            assert ".env" in (tmp_path / name / ignored).read_text().splitlines()
    names = {name for name in found[0] if "AUTH_STRING" in name or "PASSWORD" in name}
    assert {"PREFECT_API_AUTH_STRING"} < names
    assert all(found[0][name] != found[1][name] and len(found[0][name]) >= 32 for name in names)


def test_a_container_is_reached_only_through_a_port_that_wants_a_secret(tmp_path: Path) -> None:
    init(tmp_path, "--docker")
    services: dict[str, Any] = yaml.safe_load((tmp_path / "compose.yaml").read_text())["services"]
    assert {name: one["ports"] for name, one in services.items() if "ports" in one} == {
        "prefect": ["127.0.0.1:4200:4200"]
    }
    assert not any(key in one for one in services.values() for key in ("network_mode", "privileged", "pid"))
    told = services["prefect"]["environment"]
    assert told["PREFECT_SERVER_API_AUTH_STRING"].startswith("${PREFECT_API_AUTH_STRING:?")
    assert told["PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS"] == "http://127.0.0.1:4200,http://localhost:4200"
    joined = [one for one in services.values() if "DOCMILL_CLUSTER__ADDRESS" in one["environment"]]
    assert len(joined) == 3
    for one in joined:
        assert one["environment"]["DOCMILL_CLUSTER__ADDRESS"] == "tls://scheduler:8786"
        assert one["environment"]["DOCMILL_CLUSTER__TLS_KEY"] in one["entrypoint"][-1]
        assert "DOCMILL_CLUSTER__INSECURE" not in one["environment"]
    for one in services.values():
        for name, value in one["environment"].items():
            assert not re.search("PASSWORD|SECRET|AUTH|PEM", name) or value.startswith("${"), f"{name} is no secret"
        assert one["restart"] == "unless-stopped"


def test_an_image_takes_a_wheel_or_what_one_names_and_runs_by_no_root(tmp_path: Path) -> None:
    init(tmp_path, "--docker")
    lines = (tmp_path / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    (pip,) = [number for number, line in enumerate(lines) if line.startswith("RUN pip install")]
    assert "COPY wheels /wheels" in lines[:pip]
    assert "--find-links /wheels" in lines[pip]
    assert "tesseract-ocr" in lines[lines.index("COPY wheels /wheels") - 1]
    assert lines.index("USER 1000") < lines.index("COPY --chown=1000 . .")
    services = yaml.safe_load((tmp_path / "compose.yaml").read_text())["services"]
    arguments = {line.removeprefix("ARG ").partition("=")[0] for line in lines if line.startswith("ARG ")}
    built = [one["build"]["args"] for one in services.values() if "build" in one]
    assert [set(one) for one in built] == [arguments] * len(built)
    assert all(value.startswith(f"${{{name}:-") for one in built for name, value in one.items())
    assert built[0]["DOCMILL"].removeprefix("${DOCMILL:-").removesuffix("}") in "".join(lines)


def test_containers_have_room_for_the_processes_that_parse(tmp_path: Path) -> None:
    init(tmp_path, "--docker", "--k8s")
    services: dict[str, Any] = yaml.safe_load((tmp_path / "compose.yaml").read_text())["services"]
    assert all("mem_limit" in one for one in services.values())
    rooms = []
    for name in ("worker", "parser"):
        cpus, memory = (re.sub(r"\$\{\w+:-(\d+)g?\}", r"\1", services[name][key]) for key in ("cpus", "mem_limit"))
        rooms.append((cpus, memory))
    manifests = list(yaml.safe_load_all((tmp_path / "cluster.yaml").read_text()))
    (worker,) = [
        one for one in manifests if one["kind"] == "Deployment" and one["metadata"]["name"] == "docmill-worker"
    ]
    limits = worker["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    variables = json.loads((tmp_path / "work-pool.json").read_text())["variables"]["properties"]
    rooms += [(limits["cpu"], limits["memory"])]
    rooms += [(variables["cpu_limit"]["default"], variables["memory_limit"]["default"])]
    for cpus, memory in rooms:
        assert float(memory.removesuffix("Gi")) >= float(cpus) * PARSER_GB + 2, "two for the model and the commit"


def test_pods_run_by_no_root_take_the_newest_image_and_jobs_go_away(tmp_path: Path) -> None:
    init(tmp_path, "--k8s")
    template = json.loads((tmp_path / "work-pool.json").read_text())
    variables = template["variables"]["properties"]
    assert variables["image_pull_policy"]["default"] == "Always"
    assert 3600 <= variables["finished_job_ttl"]["default"] <= 7 * 24 * 3600
    manifests = yaml.safe_load_all((tmp_path / "cluster.yaml").read_text())
    pods = [one["spec"]["template"]["spec"] for one in manifests if one["kind"] == "Deployment"]
    assert all(pod["containers"][0]["imagePullPolicy"] == "Always" for pod in pods)
    for pod in (*pods, template["job_configuration"]["job_manifest"]["spec"]["template"]["spec"]):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 1000
        assert "serviceAccountName" in pod or pod["automountServiceAccountToken"] is False
        (container,) = pod["containers"]
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert "memory" in container["resources"]["limits"]


def test_the_pods_of_a_cluster_find_each_other(tmp_path: Path) -> None:
    init(tmp_path, "--k8s")
    made: list[dict[str, Any]] = list(yaml.safe_load_all((tmp_path / "cluster.yaml").read_text()))
    by_kind = {kind: [one for one in made if one["kind"] == kind] for kind in {one["kind"] for one in made}}
    labels = {}
    for one in by_kind["Deployment"]:
        pod = one["spec"]["template"]
        assert one["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
        labels[one["metadata"]["name"]] = pod["metadata"]["labels"]
        (container,) = pod["spec"]["containers"]
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
        assert {mount["name"] for mount in container.get("volumeMounts", [])} == volumes
    assert set(labels) == {"docmill-scheduler", "docmill-worker", "docmill-prefect"}
    (service,) = by_kind["Service"]
    assert service["spec"]["selector"] == labels["docmill-scheduler"]
    (names,) = by_kind["ConfigMap"]
    port = service["spec"]["ports"][0]["port"]
    assert names["data"]["DOCMILL_CLUSTER__ADDRESS"] == f"tls://{service['metadata']['name']}:{port}"
    (policy,) = by_kind["NetworkPolicy"]
    pod = json.loads((tmp_path / "work-pool.json").read_text())["job_configuration"]["job_manifest"]["spec"]["template"]
    (allowed,) = policy["spec"]["ingress"][0]["from"]
    assert allowed["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    settings = {f"DOCMILL_CLUSTER__{name.upper()}" for name in ClusterSettings.model_fields}
    assert {name for name in names["data"] if name.startswith("DOCMILL_")} <= settings


@pytest.mark.flow
@pytest.mark.usefixtures("prefect_api")
def test_prefect_takes_the_work_pool_for_kubernetes(tmp_path: Path) -> None:
    from prefect import get_client
    from prefect.client.schemas.actions import WorkPoolCreate

    assert init(tmp_path, "--k8s") == PROJECT | IMAGE | {"work-pool.json", "cluster.yaml"}
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
        "docmill.flows.learn.learn",
        "docmill.flows.evaluate.evaluate",
    ]


@pytest.mark.parametrize("flags", [["--prefect"], ["--docker"], ["--k8s"]])
def test_learning_is_deployed_for_each_night_and_waits_to_be_switched_on(tmp_path: Path, flags: list[str]) -> None:
    init(tmp_path, *flags)
    for file in (tmp_path / "prefect.yaml", ROOT / "deployments" / "prefect.yaml"):
        every = yaml.safe_load(file.read_text())["deployments"]
        (own,) = (one for one in every if one["entrypoint"] == "docmill.flows.learn.learn")
        assert [(one["cron"], one["active"]) for one in own["schedules"]] == [("0 2 * * *", False)]
        assert own["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}


@pytest.mark.flow
@pytest.mark.parametrize(
    ("title", "event"),
    [
        ("automation.yaml", "docmill.snapshot.committed"),
        ("alert.yaml", "prefect.flow-run.Failed"),
        ("rejects.yaml", "docmill.documents.rejected"),
    ],
)
def test_the_automations_of_the_guide_fit_the_schema_of_prefect(title: str, event: str) -> None:
    from prefect.events.schemas.automations import AutomationCore, EventTrigger

    page = (ROOT / "docs" / "guides" / "prefect.md").read_text(encoding="utf-8")
    read = AutomationCore.model_validate(yaml.safe_load(page.split(f'title="{title}"\n')[1].split("```")[0]))
    assert isinstance(read.trigger, EventTrigger)
    assert event in read.trigger.expect
