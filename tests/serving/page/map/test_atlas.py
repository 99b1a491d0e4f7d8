"""The export for embedding-atlas: a row for each point of the map, with the columns that its command line names."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.measure.atlas_files import write_atlas
from docmill.flows.measure.chunk_map import chunk_map
from docmill.storage.errors import ConfigError, StoreError
from tests.kit.workbench import MakeBench, Workbench

SUBJECTS = ("mill", "river", "train", "wheel", "stone")


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    told = {one: f"# {one}\n\nThe {one} is told of here, the {one} at length.\n" for one in SUBJECTS}
    return make_bench({**{f"{one}.md": text for one, text in told.items()}, "copy.md": told["mill"]})


def test_the_rows_are_the_points_of_the_map_with_their_nearest_rows(bench: Workbench, tmp_path: Path) -> None:
    with bench.store as store:
        done = write_atlas(store, tmp_path / "atlas")
        made = chunk_map(store)
        nearest = store.similar(made.chunks.column("chunk_id")[0].as_py(), k=3)
    rows = pq.read_table(done.chunks).to_pylist()
    chunks = {chunk.chunk_id: chunk for chunk in bench.chunks()}
    assert [row["chunk_id"] for row in rows] == made.chunks.column("chunk_id").to_pylist()
    assert np.allclose([(row["x"], row["y"]) for row in rows], made.places)
    assert all(row["text"] == chunks[row["chunk_id"]].text and row["title"] for row in rows)
    found = rows[0]["neighbors"]
    assert len(found["ids"]) == len(rows) - 1
    assert 0 not in found["ids"]
    assert [1 - distance for distance in found["distances"][:3]] == pytest.approx(
        [hit.vector_score for hit in nearest], abs=1e-5
    )
    by_uri = {row["uri"]: row for row in rows}
    (twin, *_), (away, *_) = by_uri["copy.md"]["neighbors"].values()
    assert (rows[twin]["uri"], away) == ("mill.md", pytest.approx(0, abs=1e-6))
    assert done.labels
    labels = pq.read_table(done.labels)
    assert labels.column_names == ["x", "y", "text", "level", "priority"]
    assert labels.num_rows == 1
    assert done.command == (
        f"embedding-atlas {tmp_path}/atlas/chunks.parquet --text text --x x --y y --neighbors neighbors"
        f" --labels {tmp_path}/atlas/labels.parquet"
    )


def test_the_command_writes_one_file_or_says_what_it_takes(bench: Workbench, tmp_path: Path) -> None:
    file = tmp_path / "one.parquet"
    done = CliRunner().invoke(app, ["export", "--atlas", str(file), "--json", "--store", str(bench.root)])
    assert json.loads(done.stdout)["points"] == len(bench.chunks())
    assert [path.name for path in tmp_path.iterdir()] == ["one.parquet"]
    wrong = CliRunner().invoke(app, ["export", "--atlas", str(file), "--where", "true", "--store", str(bench.root)])
    assert wrong.exit_code != 0
    assert "--atlas writes the whole map" in wrong.stderr
    with bench.store as store:
        with pytest.raises(ConfigError, match=r"NAME\.parquet or a folder"):
            write_atlas(store, tmp_path / "one.csv")
        (tmp_path / "folder.parquet").mkdir()
        with pytest.raises(StoreError, match="name a file"):
            write_atlas(store, tmp_path / "folder.parquet")
