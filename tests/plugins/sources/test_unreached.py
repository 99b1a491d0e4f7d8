"""A source that cannot be reached ends no run of several: the others are ingested, and it keeps its documents."""

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.runs import reach_sources
from docmill.storage.errors import SourceError, Transient
from docmill.storage.remote.objects.bucket import Objects, connect
from tests.flows.watching.watching import Watching
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench
from tests.kit.writers.archives import zipped
from tests.plugins.distributions import write_distribution

pytestmark = pytest.mark.usefixtures("fresh", "fake_model")

OWL, KITE, TIT = "# Owl\n\nThe owl hoots.\n", "# Kite\n\nThe kite whistles.\n", "# Tit\n\nThe tit chirps.\n"
HERE = ["auk.md", "emu.md", "owl.md", "tit.md"]
PLUGIN = """
from docmill.plugins import SourceItem, SourceListing, SourceSettings

before_list, before_fetch, texts = [], [], {"wren.md": b"# Wren\\n\\nThe wren sings.\\n"}

class Nest:
    def list(self, checkpoint):
        before_list and before_list.pop()()
        return SourceListing([SourceItem(name, str(hash(text))) for name, text in texts.items()])

    def fetch(self, item):
        before_fetch and before_fetch.pop()()
        return texts[item.name]

    def link(self, item):
        return ""

class Nests:
    version, settings = 1, SourceSettings

    def open(self, settings):
        return Nest()
"""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    monkeypatch.setattr(reach_sources, "FIRST_PAUSE_S", 0.0)
    made = Workbench(tmp_path / "bench")
    made.write({"owl.md": OWL, "tit.md": TIT, "emu.md": "# Emu\n\nThe emu booms.\n", "auk.md": "# Auk\n\nIt growls.\n"})
    return made


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """A folder of another source, with four documents."""
    folder = tmp_path / "mounted" / "away"
    folder.mkdir(parents=True)
    for bird in ("rook", "crow", "daw", "jay"):
        (folder / f"{bird}.md").write_text(f"# {bird}\n\nThe {bird} croaks.\n")
    return folder


@pytest.fixture
def nest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of a plugin; a test says what it raises before it lists or fetches."""
    name = f"nest_{tmp_path.name.replace('-', '_')}"
    write_distribution(tmp_path / "site", "acme", {"sources/nest": f"{name}:Nests"}, {name: PLUGIN})
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield importlib.import_module(name)
    del sys.modules[name]


def raising(error: Exception) -> Any:
    def raise_it() -> None:
        raise error

    return raise_it


def uris(bench: Workbench) -> list[str]:
    with bench.store as store:
        return [row["uri"] for row in store.sql("SELECT uri FROM documents ORDER BY uri").to_pylist()]


def check_without(bench: Workbench, name: str, why: str, *sources: str) -> None:
    """Check that a run ingests what is new in the bench, and says which source it lacked and why."""
    before = uris(bench)
    bench.write({"kite.md": KITE, "tit.md": None})
    report = bench.ingest(*sources)
    assert ([one.source for one in report.unreached], report.exit_status) == ([name], 5)
    assert why in report.unreached[0].message
    assert report.as_json()["unreached"] == [{"source": name, "message": report.unreached[0].message}]
    assert sum(f"{name}: not ingested, its documents are kept" in problem for problem in report.problems) == 1
    assert uris(bench) == sorted({*before, "kite.md"} - {"tit.md"})
    bench.write({"tit.md": TIT, "kite.md": None})


def check_whole(bench: Workbench, *sources: str) -> None:
    """Check that a later run, in which all sources are there, has nothing to say."""
    before = uris(bench)
    report = bench.ingest(*sources)
    assert (report.exit_status, report.unreached, uris(bench)) == (0, [], sorted({*before, "tit.md"} - {"kite.md"}))


def test_a_folder_that_is_gone_or_empty_keeps_its_documents(bench: Workbench, away: Path, tmp_path: Path) -> None:
    sources = (str(bench.docs), str(away))
    bench.ingest(*sources)
    away.rename(tmp_path / "aside")
    check_without(bench, "away", "does not exist", *sources)
    away.mkdir()  # as a mount point without its disk
    check_without(bench, "away", "would lose 4 of 4 documents", *sources)
    check_without(bench, "away", "would lose 4 of 4 documents", *reversed(sources))
    away.rmdir()
    (tmp_path / "aside").rename(away)
    check_whole(bench, *sources)


def test_a_folder_that_loses_its_place_for_a_while_keeps_its_name(bench: Workbench, away: Path, tmp_path: Path) -> None:
    bench.ingest(str(bench.docs), str(away))
    shutil.rmtree(away)
    away.mkdir()
    bench.ingest(str(bench.docs), str(away))
    other = tmp_path / "other" / "away"
    other.mkdir(parents=True)
    (other / "gull.md").write_text("# Gull\n")
    with pytest.raises(SourceError, match="are both source 'away'"):
        bench.ingest(str(bench.docs), str(other))


def test_a_glob_a_file_and_an_archive_that_are_gone_keep_their_documents(
    bench: Workbench, away: Path, tmp_path: Path
) -> None:
    (away / "box.zip").write_bytes(zipped({"in.md": OWL}))
    sources = (str(bench.docs), f"globbed={away}/j*.md", f"single={away}/daw.md", f"box={away}/box.zip")
    bench.ingest(*sources)
    assert uris(bench) == sorted([*HERE, "box/box.zip/in.md", "globbed/jay.md", "single/daw.md"])
    for name, file in (("globbed", "jay.md"), ("single", "daw.md"), ("box", "box.zip")):
        (away / file).rename(tmp_path / file)
        check_without(bench, name, "", *sources)
        (tmp_path / file).rename(away / file)
    check_whole(bench, *sources)


def test_a_bucket_that_is_gone_refuses_or_is_empty_keeps_its_documents(
    bench: Workbench, far: RemoteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = far.address.replace("team/store", "team/birds")
    sources = (str(bench.docs), address)
    connect(address).put("wren.md", KITE.encode())
    bench.settings = {"run": {"retries": 1}}
    bench.ingest(*sources, "s3://no-such-bucket-here/wrens")
    assert uris(bench) == [*HERE, "wren.md"]
    with monkeypatch.context() as patch:
        patch.setattr(Objects, "exact_listing", lambda _: raising(Transient("the bucket sleeps"))())
        check_without(bench, "birds", "the bucket sleeps", *sources)
    connect(address).delete(["wren.md"])
    check_without(bench, "birds", "has no objects", *sources)


def test_a_bucket_that_stops_answering_between_listing_and_reading_keeps_its_documents(
    bench: Workbench, far: RemoteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = far.address.replace("team/store", "team/birds")
    sources = (str(bench.docs), address)
    connect(address).put("wren.md", OWL.encode())
    bench.ingest(*sources)
    connect(address).put("wren.md", KITE.encode())
    with monkeypatch.context() as patch:
        patch.setattr(Objects, "download", lambda *_: raising(Transient("the bucket sleeps"))())
        check_without(bench, "birds", "the bucket sleeps", *sources)
    check_whole(bench, *sources)


@pytest.mark.parametrize("stage", ["before_list", "before_fetch"])
def test_a_plugin_that_does_not_answer_is_asked_again_and_then_left_out(
    bench: Workbench, nest: Any, stage: str
) -> None:
    sources = (str(bench.docs), "nest://birds")
    bench.settings = {"source": {"birds": {}}, "run": {"retries": 2}}
    faults: list[Any] = getattr(nest, stage)
    faults += [raising(Transient("the nest sleeps"))] * 2
    assert (bench.ingest(*sources).exit_status, faults) == (0, [])
    assert uris(bench) == sorted([*HERE, "birds/wren.md"])
    nest.texts["wren.md"] += b"And sings.\n"
    faults += [raising(Transient("the nest sleeps"))] * 3
    check_without(bench, "birds", "the nest sleeps", *sources)
    assert faults == []
    check_whole(bench, *sources)


def test_a_plugin_that_fails_at_listing_is_left_out_at_once(bench: Workbench, nest: Any) -> None:
    bench.settings = {"source": {"birds": {}}}
    nest.before_list += [raising(ValueError("half a page"))]
    assert [one.source for one in bench.ingest(str(bench.docs), "nest://birds").unreached] == ["birds"]


def test_a_run_of_which_no_source_is_reached_fails_with_all_reasons(bench: Workbench, nest: Any) -> None:
    bench.settings = {"source": {"birds": {}}, "run": {"retries": 0}}
    with pytest.raises(SourceError, match=r"nowhere.*does not exist.*; .*nirgends.*does not exist"):
        bench.ingest("nowhere", "nirgends")
    nest.before_list += [raising(Transient("the nest sleeps"))]
    with pytest.raises(Transient, match=r"nowhere.*does not exist.*; .*the nest sleeps"):
        bench.ingest("nowhere", "nest://birds")
    nest.before_list += [raising(Transient("the nest sleeps"))]
    with pytest.raises(Transient, match=r"the nest sleeps$"):
        bench.ingest("nest://birds")


def test_a_wrong_argument_is_no_source_that_is_away(bench: Workbench) -> None:
    for wrong, error in (("", SourceError), ("hdfs://birds/docs", SourceError)):
        with pytest.raises(error):
            bench.ingest(str(bench.docs), wrong)
    assert not bench.root.exists()


def test_a_plan_says_which_source_it_lacks_and_changes_nothing(bench: Workbench, away: Path) -> None:
    bench.ingest(str(bench.docs), str(away))
    shutil.rmtree(away)
    report = bench.ingest(str(bench.docs), str(away), dry_run=True)
    assert ([one.source for one in report.unreached], report.exit_status) == (["away"], 5)
    assert len(uris(bench)) == 8


def test_a_watch_goes_on_without_a_source_and_takes_it_in_when_it_is_there(bench: Workbench, away: Path) -> None:
    aside = away.parent / "aside"
    away.rename(aside)
    with Watching(bench, (str(bench.docs), str(away))) as watch:
        assert uris(bench) == HERE
        bench.write({"kite.md": KITE})
        watch.until(lambda: "kite.md" in uris(bench))
        aside.rename(away)
        watch.until(lambda: "rook.md" in uris(bench))
        away.rename(aside)
        watch.until(lambda: watch.reports[-1].unreached)
        assert "rook.md" in uris(bench)
        bench.write({"kite.md": None})
        watch.until(lambda: "kite.md" not in uris(bench))
        aside.rename(away)
        (away / "gull.md").write_text("# Gull\n\nThe gull laughs.\n")
        watch.until(lambda: "gull.md" in uris(bench))
    assert watch.failures == []
