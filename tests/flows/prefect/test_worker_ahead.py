"""A worker starts before the modules of a run are loaded, if a file is younger than the last run."""

import os
import shutil
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.prefect.worker_ahead import changed_files
from docmill.storage.search.encode.space import FOLDERS
from docmill.tasks.work.document.warm_up import warm_up
from docmill.tasks.work.pool.pool import Pool
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")


def changed(bench: Workbench, *sources: str) -> set[str]:
    return {Path(path).name for path in changed_files(bench.root, sources or [str(bench.docs)])}


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    """Return a bench whose last run is a moment ago, so that the clock of its file system has gone on."""
    bench = Workbench(tmp_path)
    bench.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes/snow.txt": "Notes about snow.\n"})
    assert changed(bench) == {"guide.md", "snow.txt"}, "before the first run, all files are new"
    bench.ingest()
    time.sleep(0.05)
    return bench


def test_no_file_is_younger_than_the_run_that_has_read_it(bench: Workbench) -> None:
    assert changed(bench) == set()
    assert changed(bench, f"named={bench.docs}", str(bench.docs / "guide.md"), "s3://bucket/docs", "none") == set()


def test_a_file_that_is_new_or_edited_is_found_also_with_an_old_time(bench: Workbench) -> None:
    bench.write({"notes/snow.txt": "Notes about rain.\n"})
    shutil.copy2(bench.docs / "guide.md", bench.docs / "copy.md")
    os.utime(bench.docs / "copy.md", (1, 1))
    assert changed(bench) == {"snow.txt", "copy.md"}
    assert changed(bench, f"named={bench.docs / 'notes'}") == {"snow.txt"}
    bench.ingest()
    assert changed(bench) == set()


def test_what_a_run_does_not_read_is_not_looked_at(bench: Workbench) -> None:
    bench.write({".hidden/index": "Changes with every look.\n"})
    bench.docs.rename(bench.folder / "store" / "docs")
    assert changed(bench, str(bench.folder)) == set()


def test_only_some_files_of_a_large_tree_are_looked_at(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.flows.prefect.worker_ahead._MOST_FILES", 1)
    bench.write({f"{number}.txt": "One of many.\n" for number in range(9)})
    assert len(changed(bench)) <= 1


def test_after_a_changed_file_only_some_more_are_looked_at(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.flows.prefect.worker_ahead._MORE_FILES", 2)
    bench.write({f"{number}.txt": "One of many.\n" for number in range(9)})
    assert 1 <= len(changed(bench)) <= 3


@pytest.mark.parametrize("names", ["a.md/b.txt/c.html/d.pdf/e", ""])
def test_a_warm_up_reads_its_own_documents(names: str) -> None:
    warm_up(names, "")
    warm_up(names, str(FOLDERS[NAME]()))


def test_a_command_starts_a_worker_ahead_only_if_there_seems_to_be_work(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(Pool, "start_ahead", lambda _, *warm_up: started.append(warm_up))

    def run(*words: str) -> None:
        flags = ["--store", str(bench.root), "--embedding-model", NAME, "--engine", "local"]
        done = CliRunner().invoke(app, [*words, str(bench.docs), *flags])
        assert done.exit_code == 0, done.output

    run("ingest")
    assert started == []
    bench.write({"new.txt": "This comes.\n"})
    run("plan")
    run("ingest")
    assert started == [("docmill.tasks.work.document.warm_up", "new.txt", str(FOLDERS[NAME]()))] * 2
    run("ingest")
    assert len(started) == 2
