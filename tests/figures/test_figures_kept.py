"""Figures in the store: each picture once, for as long as a snapshot names it."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import erase
from docmill.flows.runs import batches
from docmill.storage.errors import QueryError
from docmill.storage.keys import hash_bytes
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.retention import Retention
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench
from tests.kit.writers import figures as writers

pytestmark = pytest.mark.usefixtures("fake_model")


def page(number: int, *pictures: bytes) -> bytes:
    shown = "".join(
        f'<p><img src="{writers.data_uri(one)}" alt="Chart number {n}"></p>' for n, one in enumerate(pictures)
    )
    return f"<h1>Page {number}</h1><p>It is page {number}.</p>{shown}".encode()


def kept(bench: Workbench) -> list[str]:
    """Return the keys of the pictures that the packs of the newest snapshot hold."""
    packs = open_folder(bench.root).read().packs("figures")
    return sorted(key for pack in packs for key in pq.read_table(pack, partitioning=None).column("key").to_pylist())


def keys(*pictures: bytes) -> list[str]:
    return sorted(map(hash_bytes, pictures))


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    own = Workbench(tmp_path)
    own.write({"a.html": page(1, writers.drawn(1), writers.drawn(2)), "b.html": page(2, writers.drawn(2))})
    own.ingest()
    return own


def test_figures_are_rows_and_pictures_of_the_store(bench: Workbench) -> None:
    with bench.store as store:
        first, second = store.figures("a.html")
        assert store.document("a.html").text[first.start_char : first.end_char].startswith("![Chart number 0](")
        picture = store.figure(first.key)
        assert (picture.data, picture.media_type, picture.width) == (writers.drawn(1), "image/png", 160)
        rows = store.sql("SELECT uri, key, alt, page, places FROM figures ORDER BY uri, start_char").to_pylist()
        assert [row["key"] for row in rows] == [first.key, second.key, second.key]
        assert [row["places"] for row in rows] == [1, 2, 2]
        assert rows[0]["page"] is None
        for wrong in ("0" * 32, "../x"):
            with pytest.raises(QueryError, match="no figure"):
                store.figure(wrong)
    assert kept(bench) == keys(writers.drawn(1), writers.drawn(2))


def test_pictures_in_many_documents_and_runs_are_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_DOCUMENTS", 4)
    bench = Workbench(tmp_path)
    pictures = [writers.drawn(seed, 300, 200) for seed in range(1, 21)]
    for run in range(2):
        bench.write({f"{n}.html": page(n, *pictures) for n in range(10 * run, 10 * run + 10)})
        bench.ingest()
    assert kept(bench) == keys(*pictures)
    assert len(open_folder(bench.root).read().packs("figures")) == 1, "the second run found nothing new"
    assert bench.store.sql("SELECT count(*) AS n FROM figures").to_pylist() == [{"n": 400}]


def test_a_renamed_document_stores_and_embeds_nothing(bench: Workbench) -> None:
    before = size(bench.root / "artifacts")
    (bench.docs / "a.html").rename(bench.docs / "moved.html")
    report = bench.ingest()
    assert (report.parsed, report.embedded) == (0, 0)
    assert size(bench.root / "artifacts") == before
    with bench.store as store:
        assert len(store.figures("moved.html")) == 2


def test_an_image_file_without_words_is_a_figure_and_no_chunk(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, {"parse": {"ocr": False}})
    bench.write({"chart.png": writers.drawn(1), "a.html": page(1, writers.drawn(1))})
    assert bench.ingest().documents.rejected == 0
    with bench.store as store:
        (figure,) = store.figures("chart.png")
        assert figure.key == store.figures("a.html")[0].key
    assert {one.uri for one in bench.chunks()} == {"a.html"}
    assert kept(bench) == keys(writers.drawn(1))


def test_a_picture_leaves_with_the_last_snapshot_that_names_it(bench: Workbench) -> None:
    bench.write({"a.html": page(1, writers.drawn(3))})
    bench.ingest()
    with bench.store as store:
        assert store.figure(hash_bytes(writers.drawn(1))).data == writers.drawn(1), "an older snapshot names it"
    compact(bench.root, Retention(keep_snapshots=1, keep_days=0.0, undelete_days=0.0))
    assert kept(bench) == keys(writers.drawn(2), writers.drawn(3))
    assert verify(bench.root, deep=True) == []


def test_an_erased_document_takes_its_pictures_with_it(bench: Workbench) -> None:
    erase(Settings(store=bench.root), ["a.html"])
    assert kept(bench) == keys(writers.drawn(2))
    assert not [path for path in bench.root.rglob("*.parquet") if writers.drawn(1) in path.read_bytes()]


def test_a_lost_picture_is_found_and_its_documents_are_read_again(bench: Workbench) -> None:
    (pack,) = open_folder(bench.root).read().packs("figures")
    pack.unlink()
    assert "figures" in {finding.kind for finding in verify(bench.root)}
    repair(bench.root, load_encoder(NAME).encode, accept_loss=True)
    assert {finding.kind for finding in verify(bench.root, deep=True)} == {"past"}
    report = bench.ingest()
    assert (report.documents.added, report.embedded) == (2, 0)
    assert kept(bench) == keys(writers.drawn(1), writers.drawn(2))
    vacuum(bench.root, Retention(keep_snapshots=1))
    assert verify(bench.root, deep=True) == []


def test_a_figure_has_a_chunk_of_its_own_where_settings_ask_for_it(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, {"chunk": {"figures": True}})
    bench.write({"a.html": writers.html(writers.drawn(1), writers.drawn(2))})
    bench.ingest()
    first, second = (one for one in bench.chunks() if one.role == "figure")
    assert first.text.endswith(f"\n\n{writers.CAPTION}")
    assert first.text.startswith("![Bars by month](docmill:figure/")
    assert writers.PROSE in first.context
    assert writers.PROSE not in second.context
    assert second.text.endswith(writers.SECOND)
    with bench.store as store:
        (hit,) = store.search(writers.CAPTION, k=1, where="role = 'figure'")
        assert hit.text == first.text
        text = store.document("a.html").text
        assert text[hit.start_char : hit.end_char] == hit.text
    plain = Workbench(tmp_path / "plain")
    plain.write({"a.html": writers.html(writers.drawn(1), writers.drawn(2))})
    plain.ingest()
    assert [one.role for one in plain.chunks()] == [one.role for one in bench.chunks() if one.role != "figure"]
