"""The command `doctor`: what it finds whole, what it finds broken, and what it says to type."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.search.encode.api.same_model import PROBE_TEXTS
from docmill.storage.search.encode.space import FOLDERS
from tests.kit.house import ROOT
from tests.kit.model_server import UNKNOWN, ModelServer
from tests.kit.workbench import Workbench

HEAVY = ("torch", "lancedb", "duckdb", "prefect", "transformers", "sentence_transformers")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    bench = Workbench(tmp_path_factory.mktemp("doctor"), {"embedding": {"model": fake_model}})
    bench.write({"tea.md": "# Tea\n\nGreen tea is steamed.\n"})
    bench.ingest()
    return bench


def found(*arguments: str, status: int = 0) -> dict[str, dict[str, str]]:
    """Return what each check found, by its name, after checking the exit status."""
    result = CliRunner().invoke(app, ["doctor", *arguments, "--json"])
    assert result.exit_code == status, result.output
    return {one["name"]: one for one in json.loads(result.stdout)}


def test_a_whole_store_is_well_and_what_is_optional_is_a_note(bench: Workbench) -> None:
    checks = found("--store", str(bench.root))
    assert {name for name, one in checks.items() if one["state"] != "ok"} <= {
        "tesseract", "libreoffice", "readpst", "disk", "extra s3", "extra openai", "extra anthropic", "extra postgres",
        "extra qdrant",
    }  # fmt: skip
    assert all(one["remedy"] for one in checks.values() if one["state"] != "ok")
    assert "1 document, 1 chunk;" in checks["store"]["found"]
    assert "every vector" in found("--store", str(bench.root), "--deep")["store"]["found"]


def test_each_line_for_a_person_names_the_thing_and_the_command() -> None:
    result = CliRunner().invoke(app, ["doctor", "--store", "none-yet"])
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if " store " in line]
    assert line.endswith("none-yet holds no snapshot yet  → docmill ingest SOURCE --store none-yet")
    assert not Path("none-yet").exists()


def test_a_lost_and_a_cut_file_of_the_store_are_told_with_the_remedy(bench: Workbench, tmp_path: Path) -> None:
    store = bench.copy(tmp_path / "copy").root
    for piece in (store / "tables").rglob("*.parquet"):
        piece.write_bytes(piece.read_bytes()[:-1])
    check = found("--store", str(store), status=1)["store"]
    assert (check["state"], check["remedy"]) == ("broken", f"docmill repair --store {store}")
    assert " bytes, not " in check["found"]
    for snapshot in (store / "snapshots").iterdir():
        snapshot.write_text("{}")
    assert found("--store", str(store), status=1)["store"]["remedy"].startswith("docmill ")


def test_a_cut_model_is_broken(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(next(iter(FOLDERS.values()))(), model)
    assert found("--embedding-model", str(model))["model"]["state"] == "ok"
    with (model / "model.safetensors").open("rb+") as file:
        file.truncate(1_000_000)
    assert (
        "model.safetensors of 1000000 bytes, not " in found("--embedding-model", str(model), status=1)["model"]["found"]
    )
    (model / "tokenizer.json").unlink()
    assert "lacks tokenizer.json" in found("--embedding-model", str(model), status=1)["model"]["found"]
    assert found("--embedding-model", "./nowhere", status=1)["model"]["state"] == "broken"


def test_it_says_where_texts_are_sent(server: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("DOCMILL_EMBEDDING__BASE_URL", f"{server.url}/v1")
    model = found("--embedding-model", "openai:x")["model"]
    assert model["found"] == f"openai:x; texts and questions leave docmill: they are sent to {server.url}/v1"
    assert [body["input"] for _, _, body in server.requests] == [[*PROBE_TEXTS]], "which it asks for the dimension"
    lacking = found("--embedding-model", f"openai:{UNKNOWN}", status=1)["model"]
    assert lacking["found"] == f"[embedding] {server.url}/v1 has no model '{UNKNOWN}'"


def test_wrong_settings_are_a_finding_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "docmill.toml").write_text("[serch]\nweight = 1\n")
    checks = found(status=1)
    assert "the nearest is search" in checks["settings"]["found"]
    assert checks["python"]["state"] == "ok"


def test_a_program_is_needed_only_if_the_settings_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found()["tesseract"]["state"] == "note"
    assert "install" in found("--set", "parse.ocr=tesseract", status=1)["tesseract"]["remedy"]
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\necho eng\n")
    program.chmod(0o755)
    assert found("--set", "parse.ocr=tesseract")["tesseract"]["state"] == "ok"
    german = found("--set", "parse.ocr=tesseract", "--set", "parse.ocr_languages=eng+deu", status=1)["tesseract"]
    assert german["found"].endswith("has no data for deu")


def test_a_store_on_an_object_store_is_asked_only_if_told_to() -> None:
    assert found("--store", "s3://bucket/docs")["store"]["found"] == "s3://bucket/docs: not asked"


@pytest.fixture
def api() -> Iterator[str]:
    """Serve what answers like Prefect's API that wants a secret."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that http.server calls
            self.send_error(401 if self.path == "/api/health" else 404)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_api_that_runs_would_use_must_answer(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "prefect", raising=False)  # once imported, it keeps the address of its start
    monkeypatch.setenv("PREFECT_API_URL", f"{api}/api")
    assert found()["prefect"]["found"].endswith("answers and wants its secret")
    monkeypatch.setenv("PREFECT_API_URL", f"{api}/other")
    assert "answers with 404" in found(status=1)["prefect"]["found"]
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    assert "does not answer" in found(status=1)["prefect"]["found"]
    assert found("--engine", "local")["prefect"]["state"] == "note"


def test_doctor_imports_nothing_heavy(bench: Workbench) -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from docmill.flows.cli.app import app;"
        f"assert CliRunner().invoke(app, ['doctor', '--store', {str(bench.root)!r}]).exit_code == 0;"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
