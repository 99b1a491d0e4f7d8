"""The suite of sources finds what is wrong with one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.source_suite import check_bytes, check_checkpoint, check_links, check_listing, check_missing
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import Source
from tests.plugins.distributions import write_distribution

CODE = """
from itertools import count
from docmill.plugins import Rejected, SourceItem, SourceListing, SourceSettings

calls = count(1)

class Settings(SourceSettings):
    wrong: str = ""

class Shelf:
    def __init__(self, settings):
        self.wrong = settings.wrong

    def list(self, checkpoint):
        name = f"{next(calls)}.md" if self.wrong == "names" else "a.md"
        items = [SourceItem(name, "1", 99 if self.wrong == "size" else 0)]
        if checkpoint:
            return SourceListing([], checkpoint, [name] if self.wrong == "checkpoint" else [])
        return SourceListing(items, "here")

    def fetch(self, item):
        if item.name != "a.md" and self.wrong != "missing":
            raise Rejected("unreadable", "it is gone")
        return str(next(calls)).encode() if self.wrong == "bytes" else b"words"

    def link(self, item):
        return f"https://example.org/{next(calls)}" if self.wrong == "links" else ""

class Shelves:
    version = 1
    settings = Settings

    def open(self, settings):
        return Shelf(settings)
"""
CHECKS = {
    "names": check_listing,
    "checkpoint": check_checkpoint,
    "bytes": check_bytes,
    "size": check_bytes,
    "missing": check_missing,
    "links": check_links,
}


@pytest.fixture
def opened(tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Source]:
    """Return what opens a source with one mistake, or with none."""
    assert fresh is None
    name = f"shelf_{tmp_path.name.replace('-', '_')}"
    write_distribution(tmp_path, "shelf", {"sources/shelves": f"{name}:Shelves"}, {name: CODE})
    monkeypatch.syspath_prepend(tmp_path)
    return lambda wrong: open_source("shelves://one", {"one": {"wrong": wrong}})


@pytest.mark.parametrize("wrong", CHECKS)
def test_each_check_finds_its_mistake_and_passes_without_it(opened: Callable[[str], Source], wrong: str) -> None:
    CHECKS[wrong](opened(""))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        CHECKS[wrong](opened(wrong))
