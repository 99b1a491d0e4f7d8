"""Source suite: properties that every source keeps, for `docmill.testing`."""

import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest

from docmill.storage.errors import DocmillError, Rejected
from docmill.storage.name_grammar import fault
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions, Source, SourceFile

_EVERYTHING = DiscoverOptions(hidden=True, may_be_empty=True)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_LONGEST = 600
"""Characters of a message: three lines of a terminal."""
_MOST_FETCHED = 5
"""Items whose bytes a suite reads: enough to meet a mistake, and little for a source of millions."""


class SourceSuite:
    """Tests of a source: set `source` to its address and `settings` to its table, or override `table`.

    The source must have at least one item, and stay as it is during the tests. At most five of its items are fetched.
    `faults` may name ways in which it fails, such as a server that is slow, refuses, or cuts an answer off.
    """

    source: ClassVar[str]
    settings: ClassVar[Mapping[str, Any]] = {}

    def table(self) -> Mapping[str, Any]:
        """Return the settings of the source, for a test that has to make it first."""
        return self.settings

    def faults(self) -> Mapping[str, AbstractContextManager[object]]:
        """Return by name contexts during which the source fails."""
        return {}

    def test_a_failure_is_one_line_and_passes(self) -> None:
        for name, failing in self.faults().items():
            check_fault(self._open(), name, failing)

    def test_a_listing_has_items_of_safe_names_and_comes_again(self) -> None:
        check_listing(self._open())

    def test_a_checkpoint_lists_the_same_as_everything_does(self) -> None:
        check_checkpoint(self._open())

    def test_the_same_version_is_the_same_bytes(self) -> None:
        check_bytes(self._open())

    def test_an_item_that_is_not_there_is_rejected(self) -> None:
        check_missing(self._open())

    def test_a_link_is_a_url_and_stays(self) -> None:
        check_links(self._open())

    def _open(self) -> Source:
        return open_source(self.source, {self.source.partition("://")[2]: self.table()})


def check_listing(source: Source) -> None:
    """Assert that a source lists at least one item, each under a safe name, and the same at the next call."""
    found = _found(source)
    assert found
    assert not [
        file.uri for file in found if fault(file.uri.removeprefix(source.prefix)) or not source.covers(file.uri)
    ]
    assert len({file.uri for file in found}) == len(found)
    assert found == _found(source)


def check_checkpoint(source: Source) -> None:
    """Assert that a listing since a checkpoint, merged with the one before, is a listing of everything."""
    checkpoints = Checkpoints()
    first = [*source.list(_EVERYTHING, checkpoints).found]
    assert [*source.list(_EVERYTHING, checkpoints).found] == first == [*_found(source)]


def check_bytes(source: Source) -> None:
    """Assert that an item has the same bytes at each fetch, and as many as its size says if it says any."""
    for file in _found(source)[:_MOST_FETCHED]:
        data = _fetched(source, file)
        assert file.size in (0, len(data)), f"{file.uri} has {len(data)} bytes and says {file.size}"
        assert data == _fetched(source, file), f"{file.uri} changes under one version"


def check_missing(source: Source) -> None:
    """Assert that an item that is not there is refused as one document, and not as a failure of the source."""
    file = _found(source)[0]
    name = "not-there-9f2c/" + file.uri.removeprefix(source.prefix)
    gone = replace(file, uri=source.prefix + name, path=name, item=file.item and replace(file.item, name=name))
    with pytest.raises(Rejected) as caught:
        _fetched(source, gone)
    assert caught.value.reason == "unreadable"


def check_links(source: Source) -> None:
    """Assert that each link is a URL or empty, and the same at the next call."""
    for file in _found(source):
        assert not file.link or _URL.fullmatch(file.link), f"{file.uri} links to {file.link!r}"
        assert source.link(file) == file.link


def check_fault(source: Source, name: str, failing: AbstractContextManager[object]) -> None:
    """Assert that a failure ends in one line that says what is wrong, and that the source is as before afterwards."""
    before = _found(source)
    with failing, pytest.raises((DocmillError, Rejected)) as caught:
        _read_some(source)
    said = str(caught.value)
    assert 0 < len(said) <= _LONGEST, f"{name}: {said!r}"
    assert "\n" not in said, f"{name}: {said!r}"
    assert _found(source) == before, f"{name}: the source is not as it was"


def _read_some(source: Source) -> None:
    for file in _found(source)[:_MOST_FETCHED]:
        _fetched(source, file)


def _found(source: Source) -> list[SourceFile]:
    return list(source.list(_EVERYTHING, Checkpoints()).found)


def _fetched(source: Source, file: SourceFile) -> bytes:
    with TemporaryDirectory(prefix="docmill-suite-") as folder:
        path = Path(folder) / "fetched"
        source.fetch(file, path, sys.maxsize)
        return path.read_bytes()
