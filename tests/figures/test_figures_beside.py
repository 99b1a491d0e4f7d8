"""Figures from files beside a page: found among the files of the source, and a part of the page's content."""

import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from docmill.storage.keys import hash_bytes
from docmill.storage.remote.objects.bucket import connect
from docmill.storage.snapshots.clean.verify import verify
from docmill.tasks.parse.pictures import picture_files as beside
from docmill.tasks.parse.pictures.album import MOST_PICTURES
from docmill.tasks.parse.pictures.picture_files import names_in, path_of
from docmill.tasks.paths.content import PictureBeside
from docmill.tasks.paths.local_file import Reach
from docmill.tasks.work.document import process
from docmill.tasks.work.document.process import read_pictures
from docmill.tasks.work.document.work_item import WorkItem
from tests.kit.remote_bench import make_bucket
from tests.kit.site import site_on_loopback
from tests.kit.workbench import Workbench
from tests.kit.writers.figures import data_uri, drawn

pytestmark = pytest.mark.usefixtures("fake_model")

ONE, TWO = drawn(1), drawn(2)


def page(*names: str, words: str = "The bloom of June.") -> str:
    shown = "".join(f'<p><img alt="Chart {n}" src="{name}"></p>' for n, name in enumerate(names))
    return f"<h1>Lagoon</h1><p>{words}</p>{shown}"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    """Return a bench with a page and its picture, ingested without OCR, which would read the picture itself."""
    own = Workbench(tmp_path / "bench", {"parse": {"ocr": False}})
    own.write({"lagoon.html": page("charts/one.png"), "charts/one.png": ONE})
    own.ingest()
    return own


def shown(bench: Workbench, uri: str = "lagoon.html") -> list[str]:
    with bench.store as store:
        return [figure.key for figure in store.figures(uri)]


def keys(*pictures: bytes) -> list[str]:
    return [*map(hash_bytes, pictures)]


def test_a_picture_beside_a_page_is_its_figure(bench: Workbench) -> None:
    with bench.store as store:
        (figure,) = store.figures("lagoon.html")
        assert (figure.alt, store.figure(figure.key).data) == ("Chart 0", ONE)
    assert bench.ingest().snapshot is None, "a second run finds nothing to do"
    assert verify(bench.root, deep=True) == []


def test_a_changed_picture_is_noticed_and_embeds_nothing(bench: Workbench) -> None:
    bench.write({"charts/one.png": TWO})
    report = bench.ingest()
    assert (report.documents.changed, report.parsed, report.embedded) == (2, 2, 0), "the page and the picture"
    assert shown(bench) == keys(TWO)
    assert bench.ingest().snapshot is None
    bench.write({"charts/one.png": None})
    bench.ingest(allow_delete=True)
    assert shown(bench) == []
    bench.write({"charts/one.png": ONE})
    bench.ingest()
    assert shown(bench) == keys(ONE)


def test_a_page_that_moves_with_its_pictures_is_not_parsed_again(bench: Workbench) -> None:
    (bench.docs / "sea").mkdir()
    for name in ("lagoon.html", "charts"):
        (bench.docs / name).rename(bench.docs / "sea" / name)
    report = bench.ingest()
    assert (report.documents.moved, report.parsed, report.embedded) == (2, 0, 0)
    assert shown(bench, "sea/lagoon.html") == keys(ONE)


def test_a_renamed_page_stores_and_embeds_nothing(bench: Workbench) -> None:
    (bench.docs / "lagoon.html").rename(bench.docs / "laguna.html")
    report = bench.ingest()
    assert (report.documents.moved, report.parsed, report.embedded) == (1, 0, 0)
    assert shown(bench, "laguna.html") == keys(ONE)


def test_equal_pages_with_other_pictures_are_other_documents(bench: Workbench) -> None:
    same = page("charts/one.png")
    bench.write({"b/lagoon.html": same, "b/charts/one.png": TWO, "c/lagoon.html": same})
    report = bench.ingest()
    assert (report.documents.added, report.parsed) == (3, 3)
    found = [shown(bench, uri) for uri in ("lagoon.html", "b/lagoon.html", "c/lagoon.html")]
    assert found == [keys(ONE), keys(TWO), []]
    assert bench.ingest().snapshot is None


def test_names_are_read_as_browsers_read_them(bench: Workbench) -> None:
    bench.write({
        "a/p.html": page("./x%20y.png?v=1#top", "../charts/one.png", "R&amp;D/z.png", "q/../é.png", data_uri(drawn(7))),
        "a/x y.png": drawn(3), "a/R&D/z.png": drawn(4), "a/é.png": drawn(5),
        "a/q.HTM": "<h1>Q</h1><IMG\nsrc = é.png >",
    })  # fmt: skip
    bench.ingest()
    assert shown(bench, "a/p.html") == keys(drawn(3), ONE, drawn(4), drawn(5), drawn(7))
    assert shown(bench, "a/q.HTM") == keys(drawn(5))


def test_nothing_outside_of_the_source_is_read(bench: Workbench, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(TWO)
    (bench.docs / "link.png").symlink_to(secret)
    (bench.docs / "folder").symlink_to(tmp_path, target_is_directory=True)
    (bench.docs / ".docmillignore").write_text("private/\n")
    with site_on_loopback() as site:
        site.pages["/x.png"] = TWO
        host = site.url.removeprefix("http://")
        names = [
            "link.png", "folder/secret.png", "private/x.png", ".hidden.png", str(secret), f"file://{secret}",
            "../../secret.png", "%2e%2e/%2e%2e/secret.png", f"{site.url}/x.png", f"//{host}/x.png", "c:/x.png",
            "charts/one.png%00.html", "charts\\one.png", "/charts/one.png", "", "#", "javascript:x", "charts",
        ]  # fmt: skip
        bench.write({"p.html": page(*names), "private/x.png": TWO, ".hidden.png": TWO})
        bench.ingest()
        assert site.asked == []
    assert shown(bench, "p.html") == []
    assert bench.store.sql("SELECT * FROM warnings WHERE uri = 'p.html'").to_pylist() == []


def test_a_page_shows_no_picture_that_its_readers_may_not_see(bench: Workbench) -> None:
    def grant(folder: str, who: str) -> None:
        bench.write({f"{folder}_metadata.toml": f"access = [{who}]\n"})

    grant("charts/", '"board"')
    bench.ingest()
    assert shown(bench) == [], "everyone may see the page"
    grant("", '"board"')
    bench.ingest()
    assert shown(bench) == keys(ONE)
    grant("charts/", '"all"')
    bench.ingest()
    assert shown(bench) == keys(ONE)


def test_pictures_of_objects_are_fetched_when_the_page_is_read(
    tmp_path: Path, object_store_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in object_store_environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{secrets.token_hex(4)}"
    make_bucket(bucket)
    far, bench = connect(f"s3://{bucket}/docs"), Workbench(tmp_path, {"parse": {"ocr": False}})
    far.put("lagoon.html", page("one.png").encode())
    far.put("one.png", ONE)
    bench.ingest(f"s3://{bucket}/docs")
    assert shown(bench) == keys(ONE)
    assert bench.ingest(f"s3://{bucket}/docs").snapshot is None
    far.put("lagoon.html", page("one.png", words="The bloom of July.").encode())
    bench.ingest(f"s3://{bucket}/docs")
    assert shown(bench) == keys(ONE), "the picture has not changed, and is fetched for the page"
    far.put("one.png", TWO)
    assert bench.ingest(f"s3://{bucket}/docs").embedded == 0
    assert shown(bench) == keys(TWO)


@pytest.fixture
def work(tmp_path: Path) -> Callable[..., WorkItem]:
    def make(*pictures: bytes) -> WorkItem:
        for number, data in enumerate(pictures):
            (tmp_path / f"{number}.png").write_bytes(data)
        names = [f"{number}.png" for number in range(len(pictures))]
        beside = (PictureBeside(name, "listed", str(tmp_path / name), Reach(str(tmp_path), False)) for name in names)
        return WorkItem("key", "p.html", "", 0, "hash", pictures=tuple(beside))

    return make


def test_what_took_the_place_of_a_picture_is_not_read(work: Callable[..., WorkItem], tmp_path: Path) -> None:
    page = work(ONE, TWO)
    (tmp_path / "0.png").unlink()
    (tmp_path / "0.png").symlink_to("/etc/passwd")
    read, found = read_pictures(page)
    assert [one.content_hash for one in read.pictures] == ["", hash_bytes(TWO)]
    assert found == {"1.png": TWO}


def test_pictures_are_read_within_bounds(work: Callable[..., WorkItem], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_BYTES", 10)
    monkeypatch.setattr(process, "MOST_BYTES", 15)
    page = work(b"x" * 100, b"y" * 10, b"z" * 10)
    read, found = read_pictures(page)
    assert {name: len(data) for name, data in found.items()} == {"0.png": 11, "1.png": 10}
    assert read == replace(page, pictures=read.pictures)
    assert [one.content_hash for one in read.pictures] == ["listed", hash_bytes(b"y" * 10), "listed"]


def test_few_names_of_a_page_count() -> None:
    many = page(*(f"{n}.png" for n in range(2 * MOST_PICTURES))).encode()
    assert len(names_in("p.html", many)) == MOST_PICTURES
    assert names_in("p.txt", many) == ()
    assert names_in("p.html", b'<base href="http://x/"><img src=a.png>') == ()
    assert (path_of("x" * 1000), path_of("x" * 1001)) == ("x" * 1000, "")
    assert beside.PAGE_BYTES == 16 << 20


@pytest.mark.parametrize("piece", [b"<img ", b"<img src=", b"<img src='x", b' src="', b"<base ", b"<img alt=x src ="])
def test_a_hostile_page_is_searched_in_a_time_that_grows_with_its_length_alone(piece: bytes) -> None:
    began = time.process_time()
    names_in("p.html", piece * (beside.PAGE_BYTES // len(piece) // 4))
    assert time.process_time() - began < 5
