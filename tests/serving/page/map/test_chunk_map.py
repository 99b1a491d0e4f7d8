"""The map of chunks: near ones stand near each other, and what stays is not moved."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from docmill.flows.measure.chunk_map import Named, chunk_map, clusters_of, labels_of
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


def named(texts: list[str], uris: list[str] | None = None, titles: dict[str, str] | None = None) -> Named:
    """Return what points are named by; without `uris`, each is a document."""
    own = uris or [f"{number}.md" for number in range(len(texts))]
    return Named(pa.chunked_array([texts]), pa.chunked_array([own]), titles or {})


def around(*middles: tuple[float, float], points: int = 40, wide: float = 0.03) -> np.ndarray:
    """Return so many points around each middle."""
    rng = np.random.default_rng(3)
    clouds = [np.array(one) + wide * rng.standard_normal((points, 2)) for one in middles]
    return np.clip(np.concatenate(clouds), 0, 1).astype(np.float32)


def test_labels_are_words_of_their_own_cluster() -> None:
    subjects = ["wheat flour", "rivers flow", "train rails", "stars shine", "birds sing"]
    texts = [f"the {subject} and the {subject} of it" for subject in subjects for _ in range(40)]
    places = around((0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9), (0.5, 0.5))
    labels = labels_of(places, named(texts))
    assert Counter(label.chunks for label in labels) == {40: 5}
    assert {frozenset(label.words[:2]) for label in labels} == {frozenset(subject.split()) for subject in subjects}


def test_labels_leave_out_ignored_words() -> None:
    told = named(["she said she had wheat"] * 40 + ["a river"] * 40 + ["a train"] * 40)
    places = around((0.1, 0.1), (0.9, 0.1), (0.1, 0.9))
    words = {word for label in labels_of(places, told, {"she", "had"}) for word in label.words}
    assert words == {"said", "wheat", "river", "train"}


@pytest.mark.parametrize("points", [30, 100, 3000])
def test_as_many_groups_as_a_person_sees_are_clusters(points: int) -> None:
    groups = ((0.2, 0.2), (0.8, 0.25), (0.2, 0.8), (0.8, 0.75))
    for seen in range(1, 5):
        found = clusters_of(around(*groups[:seen], points=points, wide=0.06))
        assert len(found) == seen
        assert all(len({*(own // points).tolist()}) == 1 for own in found), "no cluster has points of two groups"
        assert sum(map(len, found)) > 0.9 * seen * points


def test_a_cluster_of_one_document_has_its_title_and_others_their_words_as_they_are_written() -> None:
    texts = ["Log of the gateway"] * 30 + ["The GPS says where. Stations", "GPS of a station", "GPS stations"] * 10
    uris = ["logs/g3.log"] * 30 + [f"{number}.md" for number in range(30)]
    places = around((0.2, 0.2), (0.8, 0.8), points=30)
    words = {label.words for label in labels_of(places, named(texts, uris), {"the", "of", "says"})}
    assert words == {("g3.log",), ("GPS", "Stations", "where")}
    (titled, _) = labels_of(places, named(texts, uris, {"logs/g3.log": "Gateway 3"}))
    assert titled.words == ("Gateway 3",)
