"""Orders lie on disk as plain text that can only be read, without the passwords that are tried on documents."""

import json
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from docmill.storage import failpoints
from docmill.storage.errors import ConfigError
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.paths.local_file import LocalFile
from docmill.tasks.work.batch.step_orders import load_order, passwords_of, save_order
from docmill.tasks.work.batch.unpack import UnpackOrder
from docmill.tasks.work.pool.plain_json import Unreadable
from tests.kit import victim
from tests.kit.model_server import ModelServer
from tests.kit.workbench import Workbench
from tests.kit.writers.archives import locked_zip

pytestmark = pytest.mark.usefixtures("fake_model")

PASSWORD = "open sesame"
GUIDES = {"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.md": "# Notes\n\nWords about snow.\n"}


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path, {"parse": {"passwords": [PASSWORD]}})
    made.write({"locked.zip": locked_zip(GUIDES, PASSWORD.encode()), "plain.md": "# Plain\n\nAn open page.\n"})
    return made


def lying(root: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder by their names; a draft may be renamed meanwhile."""
    found = {}
    for path in root.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file():
                found[path.name] = path.read_bytes()
    return found


def revealing(files: dict[str, bytes]) -> list[str]:
    secrets = (PASSWORD.encode(), PASSWORD.encode("utf-16-le"))
    return [name for name, data in files.items() if any(secret in data for secret in secrets)]


def test_passwords_are_tried_and_never_on_disk_while_a_run_goes_on(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, bytes] = {}
    told: list[str] = []

    def watch(_: str) -> None:
        now = lying(bench.root)
        seen.update(now)
        told.extend(revealing(now))

    monkeypatch.setattr(failpoints, "watch", watch)
    report = bench.ingest()
    assert (report.documents.added, report.documents.rejected) == (3, 0)
    orders = {name for name in seen if name.startswith(("order", "embed-", "publish"))}
    assert {"order.json", "order-00000.json", "embed-00000.json", "publish.json"} <= orders
    assert all(json.loads(seen[name]) for name in orders if name.endswith(".json"))
    assert not [name for name in seen if "pickle" in name]
    assert (told, revealing(lying(bench.root))) == ([], [])


@pytest.mark.parametrize("boundary", ["after stage texts", "before rename vectors", "before link artifact"])
def test_a_killed_run_leaves_no_password(bench: Workbench, token_counts_folder: Path, boundary: str) -> None:
    process = victim.start(victim.ingest, bench, token_counts_folder, boundary)
    process.join(60)
    assert process.exitcode == -9
    left = lying(bench.root / "staging")
    assert "order-00000.json" in left
    assert revealing(left) == []
    assert bench.ingest().documents.added == 3
    assert revealing(lying(bench.root)) == []


def test_an_order_with_a_password_is_not_written(tmp_path: Path) -> None:
    order = UnpackOrder(LocalFile("x.zip"), "x.zip", (((0, 1), "one"),), ArchiveOptions(passwords=(PASSWORD,)))
    with pytest.raises(TypeError, match=r"ArchiveOptions\.passwords is a secret"):
        save_order(order, tmp_path / "order.json")
    assert revealing(lying(tmp_path)) == []


def test_another_process_than_that_of_the_run_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="in the process of its run"):
        passwords_of(tmp_path)


def test_an_order_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    order = UnpackOrder(LocalFile("x.zip"), "x.zip", (((0, 1), "one"), ((2,), "two")), ArchiveOptions(ratio=7))
    assert load_order(save_order(order, tmp_path / "deep" / "order.json"), UnpackOrder) == order


def test_tables_lie_beside_their_order(tmp_path: Path) -> None:
    tables = (pa.table({"a": [1, 2]}), pa.table({"b": ["x"]}))
    path = save_order(tables, tmp_path / "publish.json")
    assert load_order(path, tuple[pa.Table, pa.Table]) == tables
    path.write_text('["../publish-0.arrow", "publish-1.arrow"]')
    with pytest.raises(Unreadable):
        load_order(path, tuple[pa.Table, pa.Table])


def test_a_gate_that_rewrites_queries_travels_with_its_order(
    bench: Workbench, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.ingest()
    questions = bench.folder / "questions.csv"
    questions.write_text("question,uri,phrase\nwhich page is open,plain.md,open page\n")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    bench.settings |= {
        "gate": {"questions": str(questions)},
        "search": {"expand": "model"},
        "model": {"provider": "openai", "model": "any", "base_url": f"{server.url}/v1"},
    }
    bench.write({"plain.md": "# Plain\n\nAnother open page.\n"})
    report = bench.ingest()
    assert report.gate is not None
    assert report.gate.questions == 1
    assert server.requests, "the query was rewritten"
