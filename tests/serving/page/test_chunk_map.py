"""The map of chunks: near ones stand near each other, and what stays is not moved."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from docmill.flows.measure.chunk_map import chunk_map
from docmill.flows.measure.map_labels import labels_of
from tests.kit.workbench import Workbench

TEXTS = {
    f"{subject}-{number}.md": f"# {subject} {number}\n\nThe {subject} number {number} is told of here, at length.\n"
    for subject in ("mill", "river", "train")
    for number in range(4)
}


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    assert fake_model
    own = Workbench(tmp_path)
    own.write({**TEXTS, "copy.md": TEXTS["mill-1.md"]})
    own.ingest()
    return own


def places_of(bench: Workbench) -> dict[str, tuple[float, float]]:
    with bench.store as store:
        made = chunk_map(store)
    assert made.places.shape == (len(made.chunks), 2)
    assert ((made.places >= 0) & (made.places <= 1)).all()
    uris = made.chunks.column("uri").to_pylist()
    return {uri: (float(x), float(y)) for uri, (x, y) in zip(uris, made.places, strict=True)}


def test_a_change_moves_no_point_that_stays(bench: Workbench) -> None:
    before = places_of(bench)
    assert set(before) == {*TEXTS, "copy.md"}
    assert np.hypot(*np.subtract(before["copy.md"], before["mill-1.md"])) < 0.02  # one vector, two chunks
    bench.write({"mill-2.md": "# Bread\n\nBread is baked of flour.\n"})
    bench.ingest()
    after = places_of(bench)
    same = set(TEXTS) - {"mill-2.md"}
    assert {uri: after[uri] for uri in same} == {uri: before[uri] for uri in same}
    assert after["mill-2.md"] != before["mill-2.md"]


def test_damaged_places_are_made_anew(bench: Workbench) -> None:
    before = places_of(bench)
    [kept] = (bench.root / "cache" / "map").iterdir()
    kept.write_bytes(b"no parquet")
    assert places_of(bench) == before


def test_an_empty_store_has_an_empty_map(tmp_path: Path, fake_model: str) -> None:
    assert fake_model
    own = Workbench(tmp_path)
    own.write({"empty.txt": ""})
    own.ingest()
    assert places_of(own) == {}


def test_labels_are_words_of_their_own_cluster() -> None:
    subjects = ["wheat flour", "rivers flow", "train rails", "stars shine", "birds sing"]
    texts = [f"the {subject} and the {subject} of it" for subject in subjects for _ in range(40)]
    corners = np.repeat(np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.5]], np.float32), 40, axis=0)
    labels = labels_of(corners, pa.chunked_array([texts]))
    assert Counter(label.chunks for label in labels) == {40: 5}
    assert {frozenset(label.words[:2]) for label in labels} == {frozenset(subject.split()) for subject in subjects}


def test_labels_leave_out_ignored_words() -> None:
    told = pa.chunked_array([["she said she had wheat"] * 40 + ["a river"] * 40 + ["a train"] * 40])
    corners = np.repeat(np.array([[0, 0], [1, 0], [0, 1]], np.float32), 40, axis=0)
    words = {word for label in labels_of(corners, told, {"she", "had"}) for word in label.words}
    assert words == {"said", "wheat", "river", "train"}
