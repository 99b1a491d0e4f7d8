"""A source offers what it should, and says what it passes over and why."""

import os
from pathlib import Path

import pytest

from docmill.storage.errors import SourceError
from docmill.tasks.sources.discover import discover, open_source
from docmill.tasks.sources.source import DiscoverOptions, Listing, Skipped


def write(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def listing(source: Path | str, **options: object) -> Listing:
    return discover(open_source(str(source)), DiscoverOptions(**options))  # type: ignore[arg-type]


def uris(source: Path | str, **options: object) -> list[str]:
    return [file.uri for file in listing(source, **options).found]


def test_a_folder_offers_its_files_recursively_in_order(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/c.md", "a/b/d.txt", ".hidden", ".git/config", "~$report.docx")
    assert uris(tmp_path) == ["a/b/d.txt", "a/c.md", "b.md"]
    assert ".hidden" in uris(tmp_path, hidden=True)


def test_a_glob_offers_what_matches_with_uris_from_its_root(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/c.md", "a/b/d.txt", "a/b/e.md")
    assert uris(f"{tmp_path}/a/**/*.md") == ["b/e.md", "c.md"]
    assert uris(f"{tmp_path}/*.md") == ["b.md"]


def test_a_file_is_a_source_of_one_document(tmp_path: Path) -> None:
    write(tmp_path, "a[1].md", "b.md")
    source = open_source(str(tmp_path / "a[1].md"))
    assert [f.uri for f in discover(source, DiscoverOptions()).found] == ["a[1].md"]
    assert source.covers("a[1].md")
    assert not source.covers("b.md")


def test_a_named_source_begins_its_uris_with_the_name(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    assert uris(f"docs={tmp_path}") == ["docs/a.md"]
    for name in (".", ".."):
        with pytest.raises(SourceError, match="does not exist"):
            uris(f"{name}={tmp_path}")


def test_patterns_and_ignore_files_leave_files_out(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "a.txt", "drafts/b.md", "deep/keep.md", "deep/drop.md", "deep/er/drop.md")
    (tmp_path / ".docmillignore").write_text("drafts/\n")
    (tmp_path / "deep" / ".docmillignore").write_text("/drop.md\n")
    assert uris(tmp_path) == ["a.md", "a.txt", "deep/er/drop.md", "deep/keep.md"]
    assert uris(tmp_path, include=("*.txt",)) == ["a.txt"]
    assert uris(tmp_path, exclude=("deep/", "*.txt")) == ["a.md"]


def test_the_settings_are_no_document_as_passwords_may_stand_in_them(tmp_path: Path) -> None:
    write(tmp_path, "docmill.toml", "a/docmill.toml", "pyproject.toml")
    assert uris(tmp_path, hidden=True) == ["pyproject.toml"]


def test_loops_special_files_and_broken_links_are_skipped_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "a/b.md")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    os.mkfifo(tmp_path / "pipe")
    seen = listing(tmp_path)
    assert [file.uri for file in seen.found] == ["a/b.md"]
    assert {s.uri: s.reason for s in seen.skipped} == {
        "a/loop": "loop",
        "nowhere": "broken_link",
        "self": "loop",
        "pipe": "special",
    }


def test_a_link_to_a_file_or_folder_elsewhere_is_followed_if_all_are(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", "x.md")
    write(tmp_path / "source", "a.md")
    (tmp_path / "source" / "linked").symlink_to(tmp_path / "elsewhere")
    assert uris(tmp_path / "source", follow_links="all") == ["a.md", "linked/x.md"]


def test_the_store_is_no_source_whatever_leads_to_it(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "deep/store/lock", "deep/store/snapshots/000001.json")
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "store")
    seen = listing(tmp_path, store=tmp_path / "deep" / "store")
    assert [file.uri for file in seen.found] == ["a.md"]
    assert {s.uri: s.reason for s in seen.skipped} == {"deep/store": "store", "link": "store"}
    assert uris(tmp_path, store=tmp_path / "not yet there") == ["a.md", "deep/store/lock", *uris(tmp_path)[2:]]


def test_another_store_is_no_source_either(tmp_path: Path) -> None:
    parts = ("lock", "snapshots/1.json", "tables/a/b", "artifacts/a/b", "vectors/a", "keywords/a")
    write(tmp_path, "a.md", "tables/b.md", *(f"other/{part}" for part in parts))
    seen = listing(tmp_path)
    assert [file.uri for file in seen.found] == ["a.md", "tables/b.md"]
    assert {s.uri: s.reason for s in seen.skipped} == {"other": "store"}


def test_what_is_named_and_offers_nothing_is_an_error_unless_that_is_accepted(tmp_path: Path) -> None:
    write(tmp_path, "a.md", ".hidden")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match=r"\*\.txt has no files; .*--allow-delete"):
        listing(f"{tmp_path}/*.txt")
    with pytest.raises(SourceError, match="hidden has no files"):
        listing(tmp_path / ".hidden")
    with pytest.raises(SourceError, match="pipe has no files; pipe: not a regular file"):
        listing(tmp_path / "pipe")
    assert uris(f"{tmp_path}/*.txt", may_be_empty=True) == []


def test_a_missing_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="empty string"):
        open_source("")
    with pytest.raises(SourceError, match="does not exist"):
        open_source(str(tmp_path / "nothing"))
    with pytest.raises(SourceError, match="is not a folder"):
        open_source(str(tmp_path / "nothing" / "*.md"))


def test_a_name_that_is_no_utf8_gets_an_escaped_uri(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert uris(tmp_path) == ["caf\\xe9.txt"]


def test_what_lies_in_an_unreadable_folder_is_hidden_and_not_gone() -> None:
    seen = Listing([], [Skipped("deep", "unreadable", "Permission denied"), Skipped("pipe", "special", "")])
    assert seen.hides("deep/notes.txt")
    assert seen.hides("deep")
    assert not seen.hides("deeper/notes.txt")
    assert not seen.hides("pipe")
