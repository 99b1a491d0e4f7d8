"""A prefix of an object store as a source: listed at once, read only where something changed, documents as of files."""

import os
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.runs.report import Report
from docmill.storage.errors import SourceError, StoreError
from docmill.storage.remote.objects.bucket import Objects, connect
from docmill.tasks.sources.discover import open_source
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench, summary
from tests.kit.writers.archives import zipped

GUIDE = "# Guide\n\nTurn the red knob.\n"


@dataclass
class Prefix:
    """Objects below a prefix of a bucket, and a bench with a store on this machine."""

    address: str
    bench: Workbench
    fetched: list[str]

    @property
    def objects(self) -> Objects:
        return connect(self.address)

    def put(self, files: Mapping[str, str | bytes]) -> None:
        for key, content in files.items():
            self.objects.put(key, content.encode() if isinstance(content, str) else content)

    def put_exactly(self, key: str, content: str = "") -> None:
        """Put an object under a key that need not be a path; an empty one that ends in a slash stands for a folder."""
        url = f"{os.environ['AWS_ENDPOINT_URL']}/{self.address.removeprefix('s3://')}/{key}"
        head = {"Content-Type": "text/markdown"}
        urllib.request.urlopen(urllib.request.Request(url, content.encode(), head, method="PUT")).close()

    def ingest(self, tail: str = "", **options: Any) -> Report:
        self.fetched.clear()
        return self.bench.ingest(self.address + tail, **options)

    def uris(self) -> list[str]:
        found: list[str] = self.bench.store.sql("SELECT uri FROM documents ORDER BY uri").column(0).to_pylist()
        return found


@pytest.fixture
def prefix(far: RemoteBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Prefix]:
    made = Prefix(far.address.replace("team/store", "team/docs"), Workbench(tmp_path / "bench"), [])
    download = Objects.download

    def noting(self: Objects, key: str, path: Path) -> None:
        made.fetched.append(key)
        download(self, key, path)

    monkeypatch.setattr(Objects, "download", noting)
    yield made
    left = [path for path in made.bench.root.rglob("*") if "incoming" in path.name]
    assert left == []


def test_objects_become_the_documents_that_files_would(prefix: Prefix, tmp_path: Path) -> None:
    names: dict[str, str | bytes] = {
        "guide.md": GUIDE,
        "a b/müller #1.txt": "Notes about snow.\n",
        "data/prices.csv": "name,price\nknob,3\n",
    }
    prefix.put(names)
    prefix.put_exactly("data/")
    prefix.put_exactly("folder/")
    report = prefix.ingest()
    assert summary(report) == {"added": 3, "parsed": 3, "embedded": report.embedded}
    files = Workbench(tmp_path / "files")
    files.write(names)
    files.ingest()
    assert prefix.bench.chunks() == files.chunks()
    store = prefix.bench.store
    (hit,) = store.search("red knob", k=1)
    assert (hit.uri, store.document(hit.uri).text[hit.start_char : hit.end_char]) == ("guide.md", hit.text)


def test_keys_that_are_no_paths_are_rejected_and_keep_nothing_else_out(prefix: Prefix) -> None:
    prefix.put({"guide.md": GUIDE, "deep/b c+d.md": GUIDE, "x": GUIDE})
    for key in ("deep//c.md", "x/", "/d.md", "//", "bell%07.md"):
        prefix.put_exactly(key, GUIDE)
    prefix.put_exactly("deep//")
    for _ in range(2):
        report = prefix.ingest()
        assert prefix.uris() == ["deep/b c+d.md", "guide.md", "x"]
        rejects = {row.uri: row.reason for row in (*report.rejects, *report.rejected_before)}
        assert rejects == dict.fromkeys(("deep//c.md", "x/", "/d.md", "//", "bell\x07.md"), "unsafe_path")
    assert (report.snapshot, prefix.fetched) == (None, [])


def test_an_object_whose_key_ends_in_a_slash_is_not_said_to_be_removed(prefix: Prefix) -> None:
    prefix.put({"guide.md": GUIDE})
    prefix.put_exactly("report/", GUIDE)
    (reject,) = prefix.ingest().rejects
    assert (reject.uri, reject.reason) == ("report", "unsafe_path")
    assert "ends in a slash" in reject.message
    assert prefix.uris() == ["guide.md"]


def test_a_public_bucket_is_listed_by_its_exact_keys_without_a_signature(
    prefix: Prefix, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix.put({"guide.md": GUIDE})
    prefix.put_exactly("deep//c.md", GUIDE)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert [entry.key for entry in prefix.objects.exact_listing()] == ["deep//c.md", "guide.md"]


def test_a_bucket_with_more_keys_than_one_answer_has_is_listed_whole(prefix: Prefix) -> None:
    prefix.put({f"{i:04}.md": "" for i in range(1003)} | {"last.md": GUIDE})
    prefix.put_exactly("//")
    assert len(prefix.objects.exact_listing()) == 1005


def test_what_has_not_changed_is_not_read_again(prefix: Prefix) -> None:
    prefix.put(
        {"guide.md": GUIDE, "notes.txt": "Notes about snow.\n", "box.zip": zipped({"in.md": "# In\n\nWords.\n"})}
    )
    prefix.ingest()
    assert sorted(prefix.fetched) == ["box.zip", "guide.md", "notes.txt"]
    assert (prefix.ingest().snapshot, prefix.fetched) == (None, [])
    prefix.put({"guide.md": GUIDE, "notes.txt": "Notes about rain.\n", "new.md": GUIDE})
    report = prefix.ingest()
    assert sorted(prefix.fetched) == ["new.md", "notes.txt"]  # the guide has the tag that it had
    assert summary(report) == {"added": 1, "changed": 1, "unchanged": 2, "parsed": 1, "embedded": 1}
    prefix.objects.delete(["notes.txt"])
    assert summary(prefix.ingest()) == {"deleted": 1, "unchanged": 3}
    assert prefix.fetched == []
    assert prefix.uris() == ["box.zip/in.md", "guide.md", "new.md"]


def test_another_source_in_between_does_not_make_it_read_again(prefix: Prefix) -> None:
    prefix.put({"guide.md": GUIDE})
    prefix.ingest()
    prefix.bench.write({"other.md": "# Other\n\nWords.\n"})
    prefix.bench.ingest(f"files={prefix.bench.docs}")
    prefix.ingest()
    assert prefix.fetched == []


def test_what_has_to_be_read_after_all_is_fetched(prefix: Prefix) -> None:
    prefix.put({"broken.pdf": b"%PDF-1.4 cut", "box.zip": b"PK\x03\x04 cut", "guide.md": GUIDE})
    report = prefix.ingest()
    assert (report.exit_status, report.documents.rejected) == (3, 2)
    assert prefix.ingest(retry=True).documents.rejected == 2
    assert sorted(prefix.fetched) == ["box.zip", "broken.pdf"]


def test_a_plan_reads_objects_and_writes_nothing(prefix: Prefix) -> None:
    prefix.put({"guide.md": GUIDE})
    assert prefix.ingest(dry_run=True).documents.added == 1
    assert not (prefix.bench.root / "snapshots").exists()


def test_an_object_that_vanishes_after_the_listing_is_rejected(prefix: Prefix, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix.put({"guide.md": GUIDE, "gone.md": GUIDE})
    noting = Objects.download

    def late(self: Objects, key: str, path: Path) -> None:
        self.delete(["gone.md"])
        noting(self, key, path)

    monkeypatch.setattr(Objects, "download", late)
    report = prefix.ingest()
    assert prefix.uris() == ["guide.md"]
    assert any(problem.startswith("gone.md: unreadable") for problem in report.problems)


def test_patterns_globs_and_ignore_files_choose_objects(prefix: Prefix) -> None:
    names = ("a.md", "a.txt", "deep/b.md", "drafts/c.md", ".hidden/d.md", "deep/er/e.md")
    prefix.put(dict.fromkeys(names, GUIDE) | {".docmillignore": "drafts/\n", "deep/.docmillignore": "/b.md\n"})
    prefix.ingest()
    assert prefix.uris() == ["a.md", "a.txt", "deep/er/e.md"]
    assert sorted(prefix.fetched) == prefix.uris()
    globbed = Prefix(prefix.address, Workbench(prefix.bench.folder / "glob"), prefix.fetched)
    globbed.ingest("/**/*.md")
    assert globbed.uris() == ["a.md", "deep/er/e.md"]
    single = Prefix(prefix.address, Workbench(prefix.bench.folder / "single"), prefix.fetched)
    single.ingest("/deep/er/e.md")
    assert single.uris() == ["e.md"]
    named = Prefix(f"x={prefix.address}", Workbench(prefix.bench.folder / "named"), prefix.fetched)
    named.ingest("/deep")
    assert named.uris() == ["x/er/e.md"]


def test_a_prefix_without_objects_is_refused_unless_its_documents_may_go(prefix: Prefix) -> None:
    with pytest.raises(SourceError, match="docs has no objects"):
        prefix.ingest()
    prefix.put({"guide.md": GUIDE})
    prefix.ingest()
    prefix.objects.delete(["guide.md"])
    with pytest.raises(SourceError, match="--allow-delete"):
        prefix.ingest()
    assert summary(prefix.ingest(allow_delete=True)) == {"deleted": 1}


def test_what_stands_in_the_way_is_said(prefix: Prefix, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="must not contain wildcards"):
        open_source("s3://buck*/docs")
    with pytest.raises(StoreError, match="no such bucket"):
        prefix.bench.ingest("s3://no-such-bucket-here/docs")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("docmill.storage.remote.objects.bucket.REQUEST_S", 1)
    with pytest.raises(StoreError, match="no credentials: set AWS_ACCESS_KEY_ID"):
        prefix.ingest()


def test_a_store_and_its_source_may_both_be_far(prefix: Prefix, far: RemoteBench) -> None:
    prefix.put({"guide.md": GUIDE})
    assert far.ingest(prefix.address).documents.added == 1
    assert far.on("two").store.search("red knob", k=1)[0].uri == "guide.md"
