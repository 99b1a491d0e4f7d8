"""The folder of a worker that was killed together with its parent and its guard is swept by the next run."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.storage.process import shutdown
from docmill.tasks.sources.connectors.spool import Spool
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from docmill.tasks.work.pool.temporary_folder import PLANNED, PREFIX, SPOOLED, make_folder, sweep_folders

SPOOL = """
import os
from docmill.tasks.sources.connectors.spool import Spool
spool = Spool()
spool.put("letter.eml", b"private")
print(os.path.dirname(spool._file.name), flush=True)
input()
"""
HOLD = """
from docmill.tasks.work.pool.temporary_folder import make_folder
folder = make_folder()
(folder.path / "left").write_bytes(b"x")
print(folder.path, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which this test's temporary folders are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(params=[HOLD, SPOOL], ids=["of a worker", "of a source"])
def other(temporary: Path, request: pytest.FixtureRequest) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Run another process that has a folder, and return both."""
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", request.param]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_a_folder_whose_owner_was_killed_is_swept(other: tuple["subprocess.Popen[str]", Path]) -> None:
    process, folder = other
    sweep_folders()
    assert [*folder.iterdir()]
    process.kill()
    process.wait()
    sweep_folders()
    assert not folder.exists()


def test_what_a_source_gave_goes_with_its_reader_and_with_a_stopped_process(temporary: Path) -> None:
    spool = Spool()
    spool.put("letter.eml", b"private")
    assert [path.stat().st_mode & 0o777 for path in temporary.iterdir()] == [0o700]
    del spool
    assert [*temporary.iterdir()] == []
    stopped = Spool()
    stopped.put("letter.eml", b"private")
    shutdown.tidy(9.0)
    assert [*temporary.iterdir()] == []
    del stopped


def test_a_new_pool_sweeps(temporary: Path) -> None:
    for prefix in (PREFIX, SPOOLED, PLANNED):
        (temporary / f"{prefix}left").mkdir()
        (temporary / f"{prefix}left" / "file").write_bytes(b"x")
    (temporary / "docmill-else").mkdir()
    with Pool(Limits(workers=1)):
        assert [path.name for path in temporary.iterdir()] == ["docmill-else"]


def test_a_folder_in_use_stays_until_it_is_removed(temporary: Path) -> None:
    folder = make_folder()
    sweep_folders()
    assert [*temporary.iterdir()] == [folder.path]
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.remove()
    assert [*temporary.iterdir()] == []


def test_a_link_of_such_a_name_is_not_followed(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "kept").write_bytes(b"x")
    (temporary / f"{PREFIX}link").symlink_to(elsewhere)
    (temporary / f"{PREFIX}file").write_bytes(b"x")
    sweep_folders()
    assert (elsewhere / "kept").exists()
