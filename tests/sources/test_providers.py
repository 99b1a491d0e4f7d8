"""Buckets of other providers than S3: the same source, by their own protocols and credentials."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docmill.source_suite import check_bytes, check_checkpoint, check_links, check_listing, check_missing
from docmill.storage.errors import ConfigError
from docmill.storage.remote.objects.bucket import connect
from docmill.storage.remote.objects.providers import PROVIDERS, SCHEME_OF_STORES
from docmill.tasks.sources.discover import open_source
from tests.kit.remote_bench import make_bucket, object_store
from tests.kit.servers.azure_server import container_on_loopback
from tests.kit.workbench import Workbench, summary

FILES = {"docs/1.md": b"# One\n\nFirst.\n", "docs/deep/2.md": b"# Two\n\nSecond.\n", "other.md": b"# Other\n\nThird.\n"}


class Shelf:
    """A bucket `shelf` of one provider on loopback: what it sent, and how a test changes it."""

    def __init__(self, address: str, asked: list[str], put: Callable[[str, bytes], object]) -> None:
        self.address, self.asked, self.put = address, asked, put

    def sent(self) -> list[str]:
        """Return the objects that were sent since the last call."""
        found = [one.partition("shelf/")[2] for one in self.asked if one.startswith("GET ") and one.endswith(".md")]
        self.asked.clear()
        return sorted(found)


def _set(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=["r2", "gs", "az"])
def shelf(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    scheme, asked = request.param, list[str]()
    if scheme == "az":
        with container_on_loopback() as container:
            _set(monkeypatch, container.environment)
            container.blobs |= FILES
            yield Shelf("az://shelf", container.asked, container.blobs.__setitem__)
        return
    with object_store(asked) as environment:
        _set(monkeypatch, environment)
        make_bucket("shelf")
        put = connect("s3://shelf").put
        for key, data in FILES.items():
            put(key, data)
        url = environment["AWS_ENDPOINT_URL"]
        _set(monkeypatch, {
            "R2_ENDPOINT_URL": url, "R2_ACCESS_KEY_ID": "a key", "R2_SECRET_ACCESS_KEY": "a secret",
            "GOOGLE_BASE_URL": url, "GOOGLE_SKIP_SIGNATURE": "true",
        })  # fmt: skip
        # Google lists objects by S3's protocol, with path-style addresses.
        yield Shelf(f"{scheme}://shelf", asked, put)


def test_only_changed_objects_are_fetched(shelf: Shelf, tmp_path: Any, fake_model: str) -> None:  # noqa: ARG001
    work = Workbench(tmp_path / "bench")
    shelf.sent()
    source = f"{shelf.address}/docs"
    assert summary(work.ingest(source)) == {"added": 2, "parsed": 2, "embedded": 2}
    assert shelf.sent() == ["docs/1.md", "docs/deep/2.md"]
    with work.store as store:
        rows = store.sql("SELECT uri, source_url FROM documents ORDER BY uri").to_pylist()
    assert rows[0] == {"uri": "1.md", "source_url": f"{shelf.address}/docs/1.md"}
    assert work.ingest(source).snapshot is None
    assert shelf.sent() == []
    shelf.put("docs/1.md", b"# One\n\nChanged.\n")
    assert summary(work.ingest(source)) == {"changed": 1, "unchanged": 1, "parsed": 1, "embedded": 1}
    assert shelf.sent() == ["docs/1.md"]


@pytest.mark.parametrize("check", [check_listing, check_checkpoint, check_bytes, check_missing, check_links])
def test_a_bucket_of_another_provider_is_a_source_like_any_other(shelf: Shelf, check: Callable[[Any], None]) -> None:
    check(open_source(f"kept={shelf.address}"))


def test_globs_objects_and_placeholders_of_folders(shelf: Shelf) -> None:
    from docmill.tasks.sources.checkpoints import Checkpoints
    from docmill.tasks.sources.source import DiscoverOptions

    shelf.put("docs/deep", b"")  # as clients see what consoles write for a folder
    for where, found in (
        ("docs", ["1.md", "deep/2.md"]), ("docs/*.md", ["1.md"]), ("other.md", ["other.md"]),
    ):  # fmt: skip
        listing = open_source(f"{shelf.address}/{where}").list(DiscoverOptions(), Checkpoints())
        assert [file.uri for file in listing.found] == found


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("r2://shelf", "r2:// needs R2_ACCOUNT_ID, R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY"),
        ("az://shelf", "Account must be specified; set AZURE_STORAGE_ACCOUNT_NAME"),
    ],
)
def test_missing_credentials_are_told_in_one_line(address: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        connect(address)
    assert "\n" not in str(caught.value)


def test_a_token_of_another_provider_is_not_sent_to_cloudflare(monkeypatch: pytest.MonkeyPatch) -> None:
    _set(monkeypatch, {"R2_ACCOUNT_ID": "a", "R2_ACCESS_KEY_ID": "k", "R2_SECRET_ACCESS_KEY": "s"})
    assert connect("r2://shelf").url == "r2://shelf"
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t")
    with pytest.raises(ConfigError, match="AWS_SESSION_TOKEN is set"):
        PROVIDERS["r2"].opened("shelf", "", {})


def test_a_store_is_on_s3_alone() -> None:
    from docmill.storage.address import url_of

    assert url_of(f"{SCHEME_OF_STORES}://shelf") == "s3://shelf"
    for scheme in PROVIDERS.keys() - {SCHEME_OF_STORES}:
        with pytest.raises(ConfigError, match=f"{scheme}:// can be a source, and no store"):
            url_of(f"{scheme}://shelf")
