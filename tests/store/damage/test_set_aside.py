"""A repair of a folder gives nothing up unasked: what it cannot rebuild it names, and sets aside only on request."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from docmill.flows.cli.app import app
from docmill.storage.snapshots.clean.compact import vacuum
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import quarantine
from docmill.storage.snapshots.history.retention import Retention
from tests.kit.workbench import Workbench
from tests.store.damage.test_repair import flip, newest

pytestmark = pytest.mark.usefixtures("fake_model", "no_writer")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path)
    made.write({f"page-{number:02}.md": f"# Page {number}\n\nThe knob is number{number}.\n" for number in range(12)})
    made.ingest()
    return made


def call(bench: Workbench, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--store", str(bench.root)])


def contents(bench: Workbench) -> dict[str, bytes]:
    folders = ("snapshots", "tables", "artifacts", "aside")
    files = [path for folder in folders for path in (bench.root / folder).rglob("*") if path.is_file()]
    return {path.relative_to(bench.root).as_posix(): path.read_bytes() for path in files}


def test_a_loss_is_named_and_nothing_changes_until_it_is_accepted(bench: Workbench) -> None:
    (pack,) = newest(bench).artifacts["texts"]
    flip(bench.root / pack.file.path)
    before = contents(bench)
    asked = call(bench, "repair")
    assert asked.exit_code == 1
    assert contents(bench).items() >= before.items()
    assert not quarantine.listing(bench.root)
    assert "this would be lost: page-00.md, page-01.md" in asked.stderr
    assert "page-09.md and 2 more\n" in asked.stderr
    assert f"docmill repair --accept-loss --store {bench.root}" in asked.stderr
    assert "another" not in asked.stderr, "a folder has no mirrors to ask"
    assert len(json.loads(call(bench, "repair", "--json").stdout)["at_stake"]) == 12
    done = call(bench, "repair", "--accept-loss")
    assert (done.exit_code, done.stderr.count("lost: ")) == (3, 12)
    assert contents(bench)[f"aside/{pack.file.path}"] == before[pack.file.path]
    assert f"set aside by a repair: {pack.file.path} ({pack.file.bytes:,} bytes" in call(bench, "verify").stderr


def test_what_is_set_aside_outlasts_its_snapshot_and_not_its_time(bench: Workbench) -> None:
    (pack,) = newest(bench).artifacts["texts"]
    flip(bench.root / pack.file.path)
    call(bench, "repair", "--accept-loss")
    assert bench.ingest().documents.added == 12
    vacuum(bench.root, Retention(keep_snapshots=1))
    assert verify(bench.root, deep=True) == []
    assert [one.path for one in quarantine.listing(bench.root)] == [pack.file.path]
    vacuum(bench.root, Retention(keep_snapshots=1, undelete_days=0.0))
    assert quarantine.listing(bench.root) == []


def test_an_index_is_rebuilt_even_if_a_loss_is_not_accepted(bench: Workbench) -> None:
    flip(bench.root / newest(bench).artifacts["texts"][0].file.path)
    for path in (bench.root / "keywords").iterdir():
        path.unlink()
    done = json.loads(call(bench, "repair", "--json").stdout)
    assert "rebuilt the postings of 12 chunks" in done["done"]
    assert len(done["at_stake"]) == 12
    assert bench.store.search("number3", k=1, mode="keyword")[0].uri == "page-03.md"
