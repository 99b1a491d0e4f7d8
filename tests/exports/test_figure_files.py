"""The pictures of exported chunks: files beside those of the rows, which name them; keys alone in a database."""

import stat
from pathlib import Path

import pytest

from docmill.storage.errors import StoreError
from docmill.storage.exports import export
from docmill.storage.keys import hash_bytes
from docmill.storage.snapshots.read.store import Store
from tests.exports.conftest import page
from tests.exports.exported_rows import entries, read_jsonl, read_parquet
from tests.kit.workbench import Workbench
from tests.kit.writers.figures import drawn

FOLDERS = {
    "out.jsonl": "out.jsonl.figures",
    "out.parquet": "out.parquet.figures",
    "jsonl:lines": "lines.figures",
    "parquet:parts": "parts.figures",
    "hf:set": "set/figures",
}


def name(seed: int) -> str:
    return f"{hash_bytes(drawn(seed))}.png"


def names(*seeds: int) -> list[str]:
    return sorted(map(name, seeds))


@pytest.mark.parametrize("to", FOLDERS)
def test_pictures_are_files_that_follow_the_rows(store: Store, first: Store, here: Path, to: str) -> None:
    folder = here / FOLDERS[to]
    assert first.export(to).figures == 2
    assert [*entries(folder)] == names(1, 2)
    assert (folder / name(1)).read_bytes() == drawn(1)
    before = (folder / name(1)).stat().st_mtime_ns
    assert store.export(to).figures == 2
    assert [*entries(folder)] == names(1, 3)
    assert (folder / name(1)).stat().st_mtime_ns == before, "a picture that stays is not written again"
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE((folder / name(3)).stat().st_mode)) == (0o700, 0o600)


def test_a_row_names_the_pictures_in_its_text(store: Store, here: Path) -> None:
    store.export("out.jsonl")
    rows = [row for row in read_jsonl(here / "out.jsonl").values() if row["uri"] == "chart.html"]
    assert sorted(key for row in rows for key in row["figures"]) == sorted(hash_bytes(drawn(seed)) for seed in (1, 3))
    assert all(f"docmill:figure/{key}" in row["text"] for row in rows for key in row["figures"])
    store.export("parquet:parts")
    assert {tuple(row["figures"]) for row in read_parquet(here / "parts").values() if row["uri"] != "chart.html"} == {
        ()
    }


def test_an_export_without_figures_has_no_folder(store: Store, here: Path) -> None:
    assert store.export("out.jsonl", where="uri = 'notes.txt'").figures == 0
    assert not (here / "out.jsonl.figures").exists()
    store.export("out.jsonl", replace=True)
    (here / "out.jsonl.figures" / "mine.txt").write_text("Mine.")
    store.export("out.jsonl", where="uri = 'notes.txt'", replace=True)
    assert [*entries(here / "out.jsonl.figures")] == ["mine.txt"], "what no export wrote stays"


def test_changes_since_a_snapshot_have_the_pictures_of_their_rows(store: Store, here: Path) -> None:
    assert store.export("delta.jsonl", since="first", where="uri = 'notes.txt'").figures == 0
    store.export("delta.jsonl", since="first", replace=True)
    assert name(3) in entries(here / "delta.jsonl.figures")


def test_a_database_has_the_keys_alone(store: Store, here: Path) -> None:
    assert store.export("lancedb:base").figures == 0
    assert [*entries(here / "base")] == ["chunks.lance"]


def test_a_lost_picture_ends_the_export_before_a_row_names_it(tmp_path: Path, here: Path, fake_model: str) -> None:
    assert fake_model
    bench = Workbench(tmp_path / "lossy")
    bench.write({"p.html": page(*range(1, 2 * export._AT_ONCE))})
    bench.ingest()
    for pack in (bench.root / "artifacts").rglob("*.parquet"):
        if drawn(1) in pack.read_bytes():
            pack.unlink()
    with bench.store as store, pytest.raises((StoreError, FileNotFoundError)):
        store.export("out.jsonl")
    assert not (here / "out.jsonl").exists()
