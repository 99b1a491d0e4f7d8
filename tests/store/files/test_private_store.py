"""A store that docmill creates is for its user only; the mode of a folder that was there before is not changed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.storage.address import at_hand
from docmill.storage.remote.mirror.open_folder import open_folder
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """Let everybody read and write what is created without a mode of its own."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path / "bench")
    made.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    return made


def test_a_new_store_is_closed_to_other_users(bench: Workbench) -> None:
    bench.ingest()
    assert mode(bench.root) == 0o700


@pytest.mark.parametrize("given", [0o755, 0o770, 0o750])
def test_the_mode_of_a_folder_that_is_there_stays(bench: Workbench, given: int) -> None:
    bench.root.mkdir(parents=True)
    bench.root.chmod(given)
    bench.ingest()
    assert mode(bench.root) == given


def test_a_store_that_was_opened_to_others_stays_open(bench: Workbench) -> None:
    bench.ingest()
    bench.root.chmod(0o755)
    bench.write({"more.md": "# More\n\nTurn the blue knob.\n"})
    bench.ingest()
    assert mode(bench.root) == 0o755


def test_the_folders_above_a_new_store_are_as_usual(tmp_path: Path) -> None:
    with open_folder(tmp_path / "above" / "store").lock():
        assert (mode(tmp_path / "above"), mode(tmp_path / "above" / "store")) == (0o777, 0o700)


def test_a_new_mirror_is_closed_to_other_users(tmp_path: Path) -> None:
    root = at_hand("s3://bucket/store", tmp_path / "mirrors")
    assert mode(root) == 0o700
    root.chmod(0o750)
    assert mode(at_hand("s3://bucket/store", tmp_path / "mirrors")) == 0o750
