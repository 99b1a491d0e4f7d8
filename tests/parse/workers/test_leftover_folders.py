"""The folder of a worker that was killed together with its parent and its guard is swept by the next run."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from docmill.tasks.work.pool.temporary_folder import PREFIX, make_folder, sweep_folders

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


@pytest.fixture
def other(temporary: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Run another process that has a folder, and return both."""
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_a_folder_whose_owner_was_killed_is_swept(other: tuple["subprocess.Popen[str]", Path]) -> None:
    process, folder = other
    sweep_folders()
    assert (folder / "left").exists()
    process.kill()
    process.wait()
    sweep_folders()
    assert not folder.exists()


def test_a_new_pool_sweeps(temporary: Path) -> None:
    (temporary / f"{PREFIX}left").mkdir()
    (temporary / f"{PREFIX}left" / "file").write_bytes(b"x")
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
