"""WebDAV: each folder is listed, and only files with another entity tag are fetched."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest

from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions
from docmill.testing import SourceSuite
from tests.kit.servers.dav_server import Share, share_on_loopback
from tests.kit.servers.faults import FAULTS, at_fault
from tests.kit.workbench import Workbench, summary

ALL = DiscoverOptions(may_be_empty=True)
QUICK = {"private": True, "timeout_s": 1}


@pytest.fixture
def share() -> Iterator[Share]:
    with share_on_loopback() as made:
        made.files |= {
            "mill.md": b"# Mill\n\nIt grinds.\n", "a b/pond & co.md": b"# Pond\n\nIt freezes.\n",
            "a b/deep/c.md": b"# C\n\nDeep.\n",
        }  # fmt: skip
        yield made


def listed(share: Share, **more: Any) -> list[str]:
    source = open_source(f"share={share.url}", {"share": {**QUICK, **more}})
    return [file.uri.partition("/")[2] for file in source.list(ALL, Checkpoints()).found]


def test_only_files_with_another_tag_are_fetched(share: Share, bench: Callable[..., Workbench]) -> None:
    work = bench(share=QUICK)
    source = f"share={share.url}"
    assert summary(work.ingest(source)) == {"added": 3, "parsed": 3, "embedded": 3}
    with work.store as store:
        rows = store.sql("SELECT uri, source_url FROM documents ORDER BY uri").to_pylist()
    base = share.url.removeprefix("dav+")
    assert rows[1] == {"uri": "share/a b/pond & co.md", "source_url": f"{base}/a%20b/pond%20%26%20co.md"}
    share.asked.clear()
    assert work.ingest(source).snapshot is None
    assert sorted(share.asked) == ["PROPFIND ", "PROPFIND a b/", "PROPFIND a b/deep/"]
    share.files["mill.md"] = b"# Mill\n\nIt stands.\n"
    del share.files["a b/deep/c.md"]
    share.asked.clear()
    report = work.ingest(source, allow_delete=True)
    assert summary(report) == {"changed": 1, "deleted": 1, "unchanged": 1, "parsed": 1, "embedded": 1}
    assert [one for one in share.asked if one.startswith("GET")] == ["GET mill.md"]


def test_a_password_and_a_token_sign_in(share: Share, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARE_SECRET", "sesame-sesame")
    listed(share, user="ada", password={"env": "SHARE_SECRET"})
    listed(share, token={"env": "SHARE_SECRET"})
    assert {*share.signed} == {"Basic YWRhOnNlc2FtZS1zZXNhbWU=", "Bearer sesame-sesame"}


def test_a_server_may_not_name_what_is_elsewhere(share: Share) -> None:
    rows = "".join(
        f"<response><href>{href}</href><propstat><prop><getetag>1</getetag></prop><status>HTTP/1.1 200 OK</status>"
        "</propstat></response>"
        for href in (
            "/dav/good.md",
            "/dav/../../etc/passwd",
            "/other/x.md",
            "http://169.254.169.254/y.md",
            "/dav/%2e%2e/z",
        )
    )
    share.fault = lambda request: (
        request.answer(207, f'<multistatus xmlns="DAV:">{rows}</multistatus>'.encode()) or True
    )
    assert listed(share) == ["good.md"]


def test_a_folder_is_known_in_each_spelling_of_its_address(share: Share) -> None:
    for path in ("a b", "a%20b", "%61%20b/"):
        source = open_source(f"share={share.url}/{path}", {"share": QUICK})
        assert [file.uri for file in source.list(ALL, Checkpoints()).found] == ["share/deep/c.md", "share/pond & co.md"]


def test_a_folder_that_has_moved_to_another_server_is_told(share: Share) -> None:
    with share_on_loopback() as other:
        share.fault = lambda request: request.answer(301, Location=f"{other.url}/".removeprefix("dav+")) or True
        with pytest.raises(SourceError, match="on another server: give that address"):
            listed(share)


def test_a_folder_that_goes_while_it_is_listed_is_gone_and_an_error_deletes_nothing(
    share: Share, bench: Callable[..., Workbench]
) -> None:
    work = bench(share=QUICK)
    source = f"share={share.url}"
    work.ingest(source)
    status = 500
    share.fault = lambda request: "deep" in request.path and (request.answer(status), True)[1]
    with pytest.raises(SourceError, match="answers 500"):
        work.ingest(source, allow_delete=True)
    status = 404
    assert summary(work.ingest(source, allow_delete=True)) == {"deleted": 1, "unchanged": 2}


def test_a_file_of_another_length_than_it_was_listed_with_is_asked_for_again(share: Share, tmp_path: Any) -> None:
    source = open_source(f"share={share.url}", {"share": QUICK})
    (file, *_) = source.list(ALL, Checkpoints()).found
    share.files["a b/deep/c.md"] += b"more"
    with pytest.raises(Transient, match="bytes and was listed with"):
        source.fetch(file, tmp_path / "x", 1_000_000)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("dav+https://me:secret@example.org/x", "write dav\\+https://HOST/PATH, without user and password"),
        ("dav+https:///x", "write dav\\+https://HOST/PATH"),
    ],
)
def test_a_wrong_address_is_told(url: str, message: str) -> None:
    with pytest.raises((ConfigError, SourceError), match=message) as caught:
        open_source(f"share={url}", {"share": {}})
    assert "secret" not in str(caught.value)


def test_what_is_no_webdav_is_told(share: Share) -> None:
    share.fault = lambda request: request.answer(200, b"<html>") or True
    with pytest.raises(SourceError, match="is no folder of WebDAV: it answers 200"):
        listed(share)
    share.fault = lambda request: request.answer(207, b"<multistatus") or True
    with pytest.raises(SourceError, match="is damaged or cut off"):
        listed(share)
    with pytest.raises(SourceError, match="an address of a private network"):
        listed(share, private=False)


class TestWebDav(SourceSuite):
    """The properties of all sources."""

    source = "dav+http://"

    @pytest.fixture(autouse=True)
    def _serve(self, share: Share) -> None:
        self._share = share

    def _open(self) -> Any:
        return open_source(f"share={self._share.url}", {"share": QUICK})

    def faults(self) -> Mapping[str, AbstractContextManager[None]]:
        return {name: at_fault(self._share, fault) for name, fault in FAULTS.items()}
