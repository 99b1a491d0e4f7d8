"""Files are whole or absent, and one name is taken once."""

import os
import threading
from pathlib import Path

import pytest

from docmill.storage.files import adopt, disk_use, hash_file, put_if_absent, write_immutable, write_whole
from docmill.storage.keys import hash_bytes


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_content(path: Path) -> None:
    path.write_bytes(b"content")


def test_put_if_absent_writes_once_and_never_overwrites(tmp_path: Path) -> None:
    assert put_if_absent(tmp_path / "a", b"first")
    assert not put_if_absent(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert names(tmp_path) == ["a"]


def test_an_immutable_file_is_named_by_its_content(tmp_path: Path) -> None:
    ref = write_immutable(tmp_path, "tables", ".bin", write_content)
    again = write_immutable(tmp_path, "tables", ".bin", write_content)
    assert ref == again
    assert ref.hash == hash_bytes(b"content") == hash_file(tmp_path / ref.path)
    assert (ref.path, ref.bytes) == (f"tables/{ref.hash}.bin", 7)
    assert names(tmp_path / "tables") == [f"{ref.hash}.bin"]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_immutable(tmp_path, "tables", ".bin", fail)
    assert names(tmp_path / "tables") == []


def test_write_whole_replaces_a_file_in_one_step(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"first")
    before = (tmp_path / "a").open("rb")
    write_whole(tmp_path / "a", b"second")
    with before:
        assert before.read() == b"first"
    assert (tmp_path / "a").read_bytes() == b"second"
    assert names(tmp_path) == ["a"]


def test_adopting_a_file_moves_it_under_its_content_name(tmp_path: Path) -> None:
    (tmp_path / "draft").write_bytes(b"pack")
    ref = adopt(tmp_path, "artifacts", ".bin", tmp_path / "draft")
    assert not (tmp_path / "draft").exists()
    assert (tmp_path / ref.path).read_bytes() == b"pack"
    assert os.access(tmp_path / ref.path, os.R_OK)


def test_the_use_of_the_disk_is_told_while_others_write(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"content")
    (tmp_path / "again").hardlink_to(tmp_path / "kept")
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            for number in range(50):
                (tmp_path / f"folder-{number}").mkdir()
                (tmp_path / f"folder-{number}" / "empty").touch()
            for number in range(50):
                (tmp_path / f"folder-{number}" / "empty").unlink()
                (tmp_path / f"folder-{number}").rmdir()

    writer = threading.Thread(target=come_and_go)
    writer.start()
    try:
        assert {disk_use(tmp_path) for _ in range(200)} == {7}
    finally:
        done.set()
        writer.join()
