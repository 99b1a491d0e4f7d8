"""A part of a source that cannot be looked at is named, and its documents stay; the rest of the source goes on."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from docmill.flows.runs.report import EXIT_DONE, EXIT_PARTLY
from docmill.storage.errors import SourceError
from tests.kit.workbench import Workbench, all_is_past, summary
from tests.sources.test_discover import listing, uris, write

pytestmark = pytest.mark.usefixtures("fake_model")

NOBODY = 65534
"""The user whom permissions bind, unlike root."""


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


@contextmanager
def bound_by_permissions() -> Iterator[Path]:
    """Yield a folder, as a user whom permissions bind."""
    with TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        before = os.geteuid()
        if before == 0:
            os.chown(folder, NOBODY, -1)
            os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            os.seteuid(before)


def bar(folder: Path) -> Path:
    """Make a folder unreadable, even for root: an ignore file that cannot be read might exclude anything in it."""
    barrier = folder / ".docmillignore"
    barrier.mkdir(parents=True)
    return barrier


def dig(folder: Path, depth: int) -> None:
    """Make folders below a folder until the path is too long for the system, and a file in the last one."""
    name = "d" * 100
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        here, above = os.open(name, os.O_RDONLY, dir_fd=here), here
        os.close(above)
    with os.fdopen(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:
        file.write("Deep below.")
    os.close(here)


def test_folders_without_permission_are_named_and_the_rest_is_listed() -> None:
    with bound_by_permissions() as folder:
        write(folder, "a.md", "unreadable/b.md", "unsearchable/c.md", "unsearchable/d/e.md")
        (folder / "unreadable").chmod(0)
        (folder / "unsearchable").chmod(0o600)
        seen = listing(folder)
        for name in ("unreadable", "unsearchable"):
            (folder / name).chmod(0o700)
        assert [file.uri for file in seen.found] == ["a.md"]
        assert {uri: one.message for uri, one in seen.unseen.items()} == {
            "unreadable": "Permission denied",
            "unsearchable/c.md": "Permission denied",
            "unsearchable/d": "Permission denied",
        }
        assert uris(folder, exclude=("un*/",)) == ["a.md"]


def test_a_source_whose_own_folder_cannot_be_listed_is_an_error_that_names_it() -> None:
    with bound_by_permissions() as folder:
        write(folder, "docs/a.md")
        (folder / "docs").chmod(0)
        with pytest.raises(SourceError, match=r"docs cannot be listed: Permission denied"):
            listing(folder / "docs")
        with pytest.raises(SourceError, match=r"a.md' cannot be accessed: Permission denied"):
            listing(folder / "docs" / "a.md")
        (folder / "docs").chmod(0o700)


def test_a_path_too_long_for_the_system_is_named_and_the_rest_commits(bench: Workbench) -> None:
    bench.write({"a.md": "A text.", "deep/b.md": "Another text."})
    dig(bench.docs / "deep", depth=50)
    report = bench.ingest()
    assert summary(report) == {"added": 2, "rejected": 1, "parsed": 2, "embedded": 2}
    assert report.exit_status == EXIT_PARTLY
    (problem,) = report.problems
    assert problem.startswith("deep/" + "d" * 100)
    assert problem.endswith(": unreadable: File name too long")
    assert bench.ingest().snapshot is None


def test_a_thousand_folders_within_each_other_are_walked(tmp_path: Path) -> None:
    deepest = tmp_path.joinpath(*["d"] * 1050)
    for above in (*reversed(deepest.parents), deepest):
        above.mkdir(exist_ok=True)
    (deepest / "a.md").write_text("x")
    found = uris(tmp_path)
    (deepest / "a.md").unlink()
    os.removedirs(deepest)  # pytest could not
    assert len(found) == 1


def test_what_a_glob_cannot_lead_to_is_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "v1/api/b.md", "v2/api/c.md", "v2/x/y/z.md", "w/w.md")
    for name in ("barred", "v1/barred", "v2/x/barred"):
        bar(tmp_path / name)
    assert listing(f"{tmp_path}/*.md").unseen == {}
    assert listing(tmp_path / "a.md").unseen == {}
    seen = listing(f"{tmp_path}/v*/api")
    assert ([file.uri for file in seen.found], list(seen.unseen)) == (["v1/api/b.md", "v2/api/c.md"], [])
    seen = listing(f"{tmp_path}/v2/**/*.md")
    assert ([file.uri for file in seen.found], list(seen.unseen)) == (["api/c.md", "x/y/z.md"], ["x/barred"])


def test_documents_of_a_folder_that_became_unreadable_stay_as_stale(bench: Workbench) -> None:
    bench.write({"a.md": "A text.", "deep/b.md": "Known words.", "deep/er/c.md": "More words.", "deep.md": "Beside."})
    bench.ingest()
    barrier = bar(bench.docs / "deep")
    bench.write({"a.md": "A changed text.", "deep/d.md": "Not to be seen."})
    report = bench.ingest(allow_delete=True)
    assert summary(report) == {"changed": 1, "stale": 2, "rejected": 1, "unchanged": 1, "parsed": 1, "embedded": 1}
    assert report.exit_status == EXIT_PARTLY
    assert report.problems == ["deep: unreadable: its .docmillignore cannot be read: not a regular file"]
    with bench.store as store:
        assert store.status()["stale"] == 2
        assert store.status()["unreadable"] == {"deep": "its .docmillignore cannot be read: not a regular file"}
        assert store.search("known words", mode="keyword")[0].uri == "deep/b.md"
        rows = store.sql("SELECT uri, status FROM documents ORDER BY uri").to_pylist()
        assert [(row["uri"], row["status"]) for row in rows] == [
            ("a.md", "ok"), ("deep.md", "ok"), ("deep/b.md", "stale"), ("deep/er/c.md", "stale"),
        ]  # fmt: skip
    again = bench.ingest()
    assert (again.snapshot, again.exit_status, again.documents.stale) == (None, EXIT_PARTLY, 2)
    assert again.problems[0].startswith("deep: unreadable: its .docmillignore")
    barrier.rmdir()
    healed = bench.ingest()
    assert summary(healed) == {"added": 1, "changed": 2, "unchanged": 2, "parsed": 1, "embedded": 1}
    assert healed.exit_status == EXIT_DONE
    with bench.store as store:
        assert (store.status()["stale"], store.status()["rejects"]) == (0, 0)
    assert all_is_past(bench)


def test_rejects_and_archives_of_an_unreadable_folder_stay_too(bench: Workbench) -> None:
    shutil.make_archive(str(bench.folder / "box"), "zip", write(bench.folder / "box", "in.md"))
    boxed = (bench.folder / "box.zip").read_bytes()
    bench.write({"a.md": "A text.", "deep/empty.md": "", "deep/box.zip": boxed})
    bench.ingest()
    barrier = bar(bench.docs / "deep")
    assert summary(bench.ingest()) == {"stale": 1, "rejected": 1, "unchanged": 1}
    with bench.store as store:
        rows = store.sql("SELECT uri FROM rejects ORDER BY uri").to_pylist()
    assert [row["uri"] for row in rows] == ["deep", "deep/empty.md"]
    barrier.rmdir()
    assert summary(bench.ingest()) == {"changed": 1, "rejected": 1, "unchanged": 1}


def test_two_sources_may_have_unreadable_folders_of_one_name(bench: Workbench) -> None:
    bench.write({"a.md": "A text.", "../more/b.md": "Another."})
    bar(bench.docs / "lost+found")
    bar(bench.folder / "more" / "lost+found")
    report = bench.ingest(str(bench.docs), str(bench.folder / "more"))
    assert summary(report) == {"added": 2, "rejected": 1, "parsed": 2, "embedded": 2}


def test_a_file_moved_over_one_of_the_same_size_and_time_is_read(bench: Workbench) -> None:
    """Files that are written together, by a checkout of git for one, may have the same time."""
    bench.write({"a/page.md": "# One\n\nThe former page.\n", "b/page.md": "# Two\n\nThe second page.\n"})
    for name in ("a", "b"):
        os.utime(bench.docs / name / "page.md", ns=(0, 1_700_000_000_000_000_000))
    sizes = {(bench.docs / name / "page.md").stat().st_size for name in ("a", "b")}
    assert len(sizes) == 1
    bench.ingest()
    shutil.rmtree(bench.docs / "a")
    (bench.docs / "b").rename(bench.docs / "a")
    bench.ingest(allow_delete=True)
    assert "The second page." in bench.store.document("a/page.md").text


def test_folders_that_come_and_go_refuse_nothing_and_lose_nothing(tmp_path: Path) -> None:
    kept = [f"kept{number}/{letter}.md" for number in range(10, 30) for letter in "ab"]
    write(tmp_path, *kept)
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            for number in range(10, 30):
                write(tmp_path, f"kept{number}.new/deep/x.md")
            for number in range(10, 30):
                shutil.rmtree(tmp_path / f"kept{number}.new")

    churner = threading.Thread(target=churn)
    churner.start()
    try:
        for _ in range(100):
            seen = listing(tmp_path)
            assert [file.uri for file in seen.found if ".new/" not in file.uri] == kept
            assert all(".new" in one.uri and one.reason == "unreadable" for one in seen.skipped)
    finally:
        done.set()
        churner.join()
