"""What an export creates is for its user only; the mode of a file or folder that it replaces stays."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.storage.files import write_whole
from docmill.storage.snapshots.read.store import Store

pytestmark = pytest.mark.usefixtures("fake_model")


@pytest.fixture(autouse=True, params=[0, 0o022], ids=["no umask", "the usual umask"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_new_file_is_closed_and_an_opened_one_stays_open(name: str, store: Store, first: Store, here: Path) -> None:
    first.export(name)
    files = [here / name, here / f"{name}.export.json"]
    assert [mode(path) for path in files] == [0o600, 0o600]
    files[0].chmod(0o640)
    store.export(name)
    assert [mode(path) for path in files] == [0o640, 0o600]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "hf", "lancedb", "qdrant"])
def test_a_new_folder_is_closed_and_an_opened_one_stays_open(kind: str, store: Store, first: Store, here: Path) -> None:
    if kind == "qdrant":
        pytest.importorskip("qdrant_client", reason="the extra qdrant is not installed")
    first.export(f"{kind}:out")
    assert mode(here / "out") == 0o700
    (here / "out").chmod(0o755)
    store.export(f"{kind}:out")
    assert mode(here / "out") == 0o755


def test_settings_with_passwords_stay_closed(here: Path) -> None:
    path = here / "docmill.toml"
    path.touch(0o600)
    write_whole(path, b"[parse]\n", closed=True)
    assert mode(path) == 0o600
