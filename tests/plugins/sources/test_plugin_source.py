"""A source of a plugin: what it lists is guarded like any source, and its failures are named and harm nothing else."""

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.runs.report import Report
from docmill.flows.watching.watch import Observer
from docmill.flows.watching.watch_options import WatchOptions
from docmill.plugins import SourceListing
from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.storage.snapshots.clean.verify import verify
from docmill.tasks.sources.connectors.contract import SourceItem
from docmill.tasks.sources.discover import SOURCES
from tests.kit.workbench import Workbench, summary
from tests.kit.writers.archives import zipped
from tests.plugins.distributions import write_distribution

pytestmark = pytest.mark.usefixtures("fresh", "fake_model")

CODE = """
from docmill.plugins import Rejected, Secret, SourceItem, SourceListing, SourceSettings

class Settings(SourceSettings):
    shelf: str
    token: Secret | None = None

pages, asked, fetched = {}, [], []

def everything(checkpoint):
    return SourceListing([SourceItem(name, str(hash(text))) for name, text in pages.items()])

def bytes_of(item):
    if item.name not in pages:
        raise Rejected("unreadable", "it is gone")
    return pages[item.name]

def link_of(item):
    return f"https://example.org/{item.name}"

lists, fetches, links = [everything], [bytes_of], [link_of]

class Shelf:
    def __init__(self, settings):
        self.settings = settings

    def list(self, checkpoint):
        asked.append(checkpoint)
        return lists[-1](checkpoint)

    def fetch(self, item):
        fetched.append(item.name)
        return fetches[-1](item)

    def link(self, item):
        return links[-1](item)

class Shelves:
    version = 1
    settings = Settings

    def open(self, settings):
        return Shelf(settings)
"""
MILL, SNOW = b"# The mill\n\nIt grinds wheat.\n", b"# Snow\n\nIt snows in winter.\n"
GIVER = r"source 'shelves' of acme 1\.0"


@dataclass
class Library:
    """A bench whose source is a plugin, and the module of the plugin, which a test changes."""

    bench: Workbench
    module: Any

    def ingest(self, *more: str, **options: Any) -> Report:
        self.module.asked.clear()
        self.module.fetched.clear()
        return self.bench.ingest("shelves://books", *more, **options)

    def rows(self, statement: str) -> list[dict[str, Any]]:
        with self.bench.store as store:
            return list(store.sql(statement).to_pylist())

    def uris(self) -> list[str]:
        return [row["uri"] for row in self.rows("SELECT uri FROM documents ORDER BY uri")]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    name = f"acme_{tmp_path.name.replace('-', '_')}"
    write_distribution(tmp_path / "site", "acme", {"sources/shelves": f"{name}:Shelves"}, {name: CODE})
    monkeypatch.syspath_prepend(tmp_path / "site")
    module: Any = importlib.import_module(name)
    module.pages |= {"mill.md": MILL, "deep/snow.md": SNOW}
    yield Library(Workbench(tmp_path / "bench", {"source": {"books": {"shelf": "top"}}}), module)
    del sys.modules[name]


def test_items_become_documents_and_only_new_versions_are_fetched(library: Library) -> None:
    assert library.ingest().documents.added == 2
    assert library.rows("SELECT uri, source, size, source_url FROM documents ORDER BY uri") == [
        {"uri": "books/deep/snow.md", "source": "books", "size": 28, "source_url": "https://example.org/deep/snow.md"},
        {"uri": "books/mill.md", "source": "books", "size": 29, "source_url": "https://example.org/mill.md"},
    ]
    (hit,) = library.bench.store.search("wheat", k=1)
    assert (hit.uri, hit.source_url) == ("books/mill.md", "https://example.org/mill.md")
    assert (library.ingest().snapshot, library.module.fetched) == (None, [])
    library.module.pages["mill.md"] = b"# The mill\n\nIt grinds rye.\n"
    assert summary(library.ingest()) == {"changed": 1, "unchanged": 1, "parsed": 1, "embedded": 1}
    assert library.module.fetched == ["mill.md"]
    del library.module.pages["mill.md"]
    assert library.ingest(allow_delete=True).documents.deleted == 1
    assert not verify(library.bench.root, deep=True)


def test_a_link_that_has_moved_is_stored_anew_and_nothing_is_parsed(library: Library) -> None:
    library.ingest()
    library.module.links.append(lambda item: f"https://new.example/{item.name}")
    report = library.ingest()
    assert (report.documents.changed, report.parsed, report.embedded) == (2, 0, 0)
    assert {row["source_url"][:20] for row in library.rows("SELECT source_url FROM documents")} == {
        "https://new.example/"
    }
    assert library.ingest().snapshot is None


def test_members_of_an_archive_link_to_the_archive_and_patterns_hold(library: Library) -> None:
    library.module.pages |= {"box.zip": zipped({"in.md": "# In\n\nWords.\n"}), "draft.md": MILL}
    library.bench.settings["discover"] = {"exclude": ["draft.md", "deep/"]}
    library.ingest()
    assert library.rows("SELECT uri, source_url FROM documents ORDER BY uri") == [
        {"uri": "books/box.zip/in.md", "source_url": "https://example.org/box.zip"},
        {"uri": "books/mill.md", "source_url": "https://example.org/mill.md"},
    ]


def test_a_checkpoint_lists_changes_alone_and_a_lost_one_lists_all(library: Library) -> None:
    shelf = library.module
    log = [("mill.md", "1"), ("deep/snow.md", "2")]

    def since(checkpoint: str) -> SourceListing:
        new = log[int(checkpoint or 0) :]
        items = [SourceItem(name, version) for name, version in new if version]
        return SourceListing(items, str(len(log)), [name for name, v in new if not v] if checkpoint else None)

    shelf.lists.append(since)
    assert library.ingest(dry_run=True).documents.added == 2
    assert library.ingest().documents.added == 2
    assert shelf.asked == [""]  # a plan keeps no checkpoint
    assert (library.ingest().documents.unchanged, shelf.asked, shelf.fetched) == (2, ["2"], [])
    shelf.pages["new.md"] = b"# New\n\nWords.\n"
    log.append(("new.md", "3"))
    assert summary(library.ingest()) == {"added": 1, "unchanged": 2, "parsed": 1, "embedded": 1}
    log.append(("new.md", ""))
    with pytest.raises(SourceError, match="would lose 1 of 3 documents"):
        library.ingest()
    assert library.ingest(allow_delete=True).documents.deleted == 1
    assert shelf.asked == ["3"]  # the refused run kept none
    (file,) = (library.bench.root / "cache" / "sources").iterdir()
    file.unlink()
    log.pop()
    log.append(("mill.md", "4"))
    log[2] = ("deep/snow.md", "2")
    shelf.lists.append(lambda _: SourceListing([SourceItem("mill.md", "4"), SourceItem("deep/snow.md", "2")]))
    assert (library.ingest().documents.unchanged, shelf.asked) == (2, [""])
    assert not verify(library.bench.root, deep=True)


def test_other_settings_or_another_version_list_everything_again(library: Library) -> None:
    items = [SourceItem("mill.md", "1")]
    library.module.lists.append(
        lambda checkpoint: SourceListing([] if checkpoint else items, "x", () if checkpoint else None)
    )
    library.ingest()
    library.ingest()
    assert library.module.asked == ["x"]
    library.bench.settings["source"]["books"]["shelf"] = "low"
    library.ingest()
    assert (library.module.asked, library.module.fetched) == ([""], [])


def listing(*items: Any, **more: Any) -> Callable[[str], object]:
    return lambda _: SourceListing(items, **more)


def raising(error: BaseException) -> Callable[[object], object]:
    def fails(_: object) -> object:
        raise error

    return fails


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (listing(), r"source shelves://books has no items; .* --allow-delete"),
        (listing(SourceItem("mill.md", "1")), "would lose 1 of 2 documents"),
        (
            listing(SourceItem("a.md", "1"), SourceItem("a.md", "2")),
            f"{GIVER} failed: ValueError: it lists 'a.md' twice",
        ),
        (listing(SourceItem("a.md", "")), f"{GIVER} failed: ValueError: an item needs a name and a version"),
        (listing(SourceItem("a.md", "1", -1)), f"{GIVER} failed: ValueError: the size and the time of an item"),
        (listing(SourceItem("\udc80.md", "1")), f"{GIVER} failed: UnicodeEncodeError"),
        (listing(gone=["mill.md"]), f"{GIVER} failed: ValueError: it was asked for all items and gave only changes"),
        (
            lambda _: ["mill.md"],
            f"{GIVER} failed: TypeError: list must return a docmill.plugins.SourceListing",
        ),
        (raising(OSError("no route")), rf"{GIVER} failed: OSError: no route \(acme_\w+\.py, line \d+\)"),
    ],
)
def test_a_listing_that_cannot_be_right_is_refused_and_everything_stays(
    library: Library, wrong: Callable[[str], object], message: str
) -> None:
    library.ingest()
    library.module.lists.append(wrong)
    with pytest.raises(SourceError, match=message):
        library.ingest()
    assert library.uris() == ["books/deep/snow.md", "books/mill.md"]
    library.module.lists.pop()
    assert library.ingest().snapshot is None


def test_an_unreachable_source_is_refused_as_transient(library: Library) -> None:
    library.module.lists.append(raising(Transient("the wiki sleeps")))
    with pytest.raises(Transient, match=f"^{GIVER}: the wiki sleeps$"):
        library.ingest()


def test_an_item_that_cannot_be_fetched_is_rejected_and_tried_again_and_the_others_go_on(library: Library) -> None:
    library.bench.write({"local.md": "# Local\n\nWords.\n"})
    local = f"files={library.bench.docs}"
    assert library.ingest(local).documents.added == 3
    library.module.pages |= {"mill.md": b"# Mill\n\nRye.\n", "new.md": MILL, "deep/snow.md": SNOW + b"More.\n"}

    def some(item: SourceItem) -> bytes:
        if item.name == "mill.md":
            raise RuntimeError("boom")
        if item.name == "new.md":
            return "text"  # type: ignore[return-value]
        return library.module.bytes_of(item)  # type: ignore[no-any-return]

    library.module.fetches.append(some)
    report = library.ingest(local)
    assert (report.exit_status, report.documents.changed, report.documents.stale) == (3, 1, 1)
    told = {row["uri"]: (row["reason"], row["message"]) for row in library.rows("SELECT * FROM rejects")}
    assert told["books/mill.md"][0] == "plugin_failed"
    assert "source 'shelves' of acme 1.0 failed: RuntimeError: boom (acme_" in told["books/mill.md"][1]
    assert "TypeError: fetch must give bytes, got str" in told["books/new.md"][1]
    assert len(library.uris()) == 3
    library.module.fetches.pop()
    assert summary(library.ingest(local)) == {"added": 1, "changed": 1, "unchanged": 2, "parsed": 1, "embedded": 1}
    assert library.rows("SELECT * FROM rejects") == []


def test_what_streams_beyond_the_limit_is_stopped_and_an_archive_is_not(library: Library) -> None:
    library.bench.settings["discover"] = {"max_file_bytes": 1000}
    sent: list[int] = []

    def endless(_: SourceItem) -> Iterator[bytes]:
        while True:
            sent.append(600)
            yield b"word " * 120

    library.module.fetches.append(
        lambda item: endless(item) if item.name == "mill.md" else library.module.bytes_of(item)
    )
    library.module.pages["box.zip"] = zipped({f"{i}.md": f"# Number {i}\n\nWords.\n" for i in range(20)})
    assert len(library.module.pages["box.zip"]) > 1000
    report = library.ingest()
    assert (len(sent), report.documents.added) == (2, 21)
    assert [(row["reason"], row["message"]) for row in library.rows("SELECT * FROM rejects")] == [
        ("too_large", "more than 1000 bytes, the limit (discover.max_file_bytes)")
    ]


def test_a_name_that_leads_elsewhere_is_rejected(library: Library) -> None:
    library.module.pages |= {"../up.md": MILL, "/etc/cron.md": MILL, "a/../../b.md": MILL}
    library.bench.settings["discover"] = {"hidden": True}
    report = library.ingest()
    assert library.uris() == ["books/deep/snow.md", "books/mill.md"]
    assert ([row.reason for row in report.rejects], report.exit_status) == (["unsafe_path"] * 3, 3)
    assert (library.ingest().snapshot, library.ingest().documents.rejected) == (None, 3)
    assert not [path for path in library.bench.folder.rglob("*.md") if "up" in path.name or "cron" in path.name]


@pytest.mark.parametrize("link", ["javascript:alert(1)", "no url", "https://a b", 3])
def test_a_link_must_be_a_url(library: Library, link: Any) -> None:
    library.module.links.append(lambda _: link)
    with pytest.raises(SourceError, match=f"{GIVER} failed: "):
        library.ingest()


def test_a_watch_polls_it_for_changes(library: Library) -> None:
    settings = Settings(store=library.bench.root, **library.bench.settings)
    observer = Observer(settings, ["shelves://books"], WatchOptions(0.1, 0.1, 1))
    observer.arm()
    (watched,) = observer.watched
    assert watched.spelled(5) == "polling shelves://books every 5 s: source 'shelves' of acme 1.0"
    assert not observer.wait(0.3)
    library.module.pages["mill.md"] = SNOW
    assert observer.wait(5)
    observer.close()


@pytest.mark.parametrize(
    ("argument", "tables", "error", "message"),
    [
        ("shelves://", {}, SourceError, r"source 'shelves://': write shelves://NAME, with a name of letters"),
        ("shelves://../x", {}, SourceError, "write shelves://NAME"),
        ("shelves://books", {}, ConfigError, r"^source\.books\.shelf: field required$"),
        (
            "shelves://books",
            {"books": {"shelf": 3}},
            ConfigError,
            r"^source\.books\.shelf: input should be a valid string$",
        ),
        (
            "shelves://books",
            {"books": {"shelf": "a", "tokn": "x"}},
            ConfigError,
            r"tokn: no such key; the nearest is 'token'",
        ),
        ("other://books", {}, SourceError, "nothing reads other:// yet; .* install a plugin"),
    ],
)
def test_wrong_addresses_and_settings_are_told_before_anything_runs(
    library: Library, argument: str, tables: dict[str, Any], error: type[Exception], message: str
) -> None:
    library.bench.settings["source"] = tables
    with pytest.raises(error, match=message):
        library.bench.ingest(argument)
    assert library.module.asked == []


def test_a_plugin_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = write_distribution(tmp_path, "bolt", {"sources/bolts": "no_module_here:Bolts"}, {})
    monkeypatch.syspath_prepend(site)
    with pytest.raises(ConfigError, match=r"source 'bolts' of bolt 1\.0 cannot be used: ModuleNotFoundError"):
        SOURCES["bolts"]
    assert list(SOURCES) == [*SOURCES.own, "bolts"]
