"""Pages of originals: drawn where the parser saw their text, and refused where the file is another one."""

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from docmill.flows.config.settings import Settings
from docmill.flows.serving.page.originals import Originals, places
from docmill.storage.errors import Rejected
from docmill.storage.snapshots.read.store import Store
from tests.kit.pdf_pages import page as pdf_page
from tests.kit.workbench import MakeBench, Workbench

ORIGINALS = Originals(Settings())
SENTENCE = "The mill stands at the river, and its wheel turns by day and by night."


def mill() -> bytes:
    """Return two pages of text, the second one turned by a quarter."""
    pdf = pdf_page()
    pdf.text(90, 120, SENTENCE)
    pdf.add_page(turn=90)
    pdf.text(90, 300, "A second page tells of bread.")
    return pdf.to_bytes()


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    own = make_bench()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inner/mill.pdf", mill())
    names = ("mill", "moved", "changed", "linked", "replaced")
    own.write({f"sub/{name}.pdf": mill() + f"\n% {name}\n".encode() for name in names})
    own.write({"read.md": "# Read\n\nNo pages.\n", "packed.zip": packed.getvalue()})
    for path in own.docs.rglob("*.*"):
        os.utime(path, (1, 1))  # what was written a moment ago may change unseen, so a run does not remember it
    own.ingest(f"team={own.docs}")
    return own


@pytest.fixture(scope="module")
def store(bench: Workbench) -> Iterator[Store]:
    with bench.store as own:
        yield own


def dark(store: Store, uri: str, number: int) -> tuple[int, int]:
    """Return how many dark pixels the picture of a page has within the boxes of its elements, and outside of them."""
    document = store.document(uri)
    drawn = ORIGINALS.page(store, document.row, number)
    picture = Image.open(io.BytesIO(drawn.png)).convert("L").point(lambda value: 255 * (value < 128))
    scale = picture.width / drawn.width
    assert picture.height == pytest.approx(drawn.height * scale, abs=2)
    whole = picture.histogram()[255]
    for _, _, page, left, top, right, bottom in places(document):
        if page == number:
            left, top, right, bottom = (round(side * scale) for side in (left - 1, top - 1, right + 1, bottom + 1))
            picture.paste(0, (left, top, right, bottom))
    outside = picture.histogram()[255]
    return whole - outside, outside


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("uri", ["team/sub/mill.pdf", "team/packed.zip/inner/mill.pdf"])
def test_the_ink_of_a_page_is_in_the_boxes_of_its_text(store: Store, uri: str, number: int) -> None:
    inside, outside = dark(store, uri, number)
    assert inside > 300
    assert outside == 0


def test_the_lines_of_a_page_are_told_with_their_boxes(store: Store) -> None:
    document = store.document("team/sub/mill.pdf")
    [line] = ORIGINALS.page(store, document.row, 1).lines
    [box] = [
        box for start, _, page, *box in places(document) if page == 1 and document.text.startswith(SENTENCE, int(start))
    ]
    assert line.text == SENTENCE
    assert line.box == pytest.approx(box, abs=0.5)


def refusal(store: Store, uri: str, number: int = 1) -> str:
    with pytest.raises(Rejected) as caught:
        ORIGINALS.page(store, store.document(uri).row, number)
    return str(caught.value)


def test_what_is_not_the_file_that_was_read_is_refused_with_the_reason(bench: Workbench, store: Store) -> None:
    folder = bench.docs / "sub"
    (folder / "moved.pdf").rename(folder / "elsewhere.pdf")
    (folder / "changed.pdf").write_bytes(mill() + b"% others\n")
    (folder / "linked.pdf").unlink()
    (folder / "linked.pdf").symlink_to("/etc/passwd")
    (folder / "replaced.pdf").unlink()
    (folder / "replaced.pdf").mkdir()
    told = {uri: refusal(store, f"team/sub/{uri}.pdf") for uri in ("moved", "changed", "linked", "replaced")}
    moved, changed = "its file was moved or deleted after it was read", "its file was changed after it was read"
    assert told == {
        "moved": f"unreadable: {moved}",
        "changed": f"unreadable: {changed}",
        "linked": f"unreadable: {changed}",
        "replaced": f"unreadable: {moved}",
    }
    assert "there is no page 3" in refusal(store, "team/sub/mill.pdf", 3)
    assert "markdown has no pages" in refusal(store, "team/read.md")


def test_a_file_that_no_run_has_read_here_is_refused(bench: Workbench, store: Store, tmp_path: Path) -> None:
    own = bench.copy(tmp_path / "copy")
    (own.root / "cache" / "files.parquet").unlink()
    row = store.document("team/sub/mill.pdf").row
    with own.store as elsewhere, pytest.raises(Rejected, match="no run of this store has read its file"):
        Originals(Settings()).page(elsewhere, row, 1)


def test_a_newer_file_of_the_same_name_is_not_shown_for_an_older_snapshot(bench: Workbench, store: Store) -> None:
    row = store.document("team/sub/mill.pdf").row
    bench.write({"sub/mill.pdf": mill() + b"% new\n"})
    os.utime(bench.docs / "sub" / "mill.pdf", (2, 2))
    bench.ingest(f"team={bench.docs}", allow_delete=True)
    with bench.store as newest:
        assert Originals(Settings()).page(newest, newest.document(row.uri).row, 1).pages == 2
        with pytest.raises(Rejected, match="its file was changed after it was read"):
            Originals(Settings()).page(newest, row, 1)
