"""Links are followed to each file and folder inside a source once, or not at all, or all of them; never in a loop."""

import itertools
from pathlib import Path

import pytest

from docmill.storage.errors import SourceError
from tests.kit.workbench import Workbench, summary
from tests.sources.test_discover import listing, uris, write

pytestmark = pytest.mark.usefixtures("fake_model")


def link(path: Path, target: str | Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Return a source with links to what it holds, to what it hides, and to what lies outside."""
    write(tmp_path / "elsewhere", "x.md", "deep/y.md")
    docs = write(tmp_path / "docs", "m.md", "real/r.md", ".versions/3/v.md", ".versions/3/deep/w.md")
    link(docs / "a", "real")
    link(docs / "b.md", "real/r.md")
    link(docs / "now", ".versions/3")
    link(docs / "now2", ".versions/3")
    link(docs / "out", tmp_path / "elsewhere")
    link(docs / "out.md", tmp_path / "elsewhere" / "x.md")
    return docs


INSIDE = ["m.md", "now/deep/w.md", "now/v.md", "real/r.md"]


def test_inside_lists_each_file_once_by_its_own_name_or_else_by_the_first_link(docs: Path) -> None:
    assert uris(docs) == INSIDE
    assert {one.uri: one.reason for one in listing(docs).skipped} == {"out": "outside", "out.md": "outside"}


def test_none_lists_no_link(docs: Path) -> None:
    seen = listing(docs, follow_links="none")
    assert [file.uri for file in seen.found] == ["m.md", "real/r.md"]
    assert not seen.skipped


def test_all_lists_whatever_a_link_leads_to(docs: Path) -> None:
    assert uris(docs, follow_links="all") == [
        "a/r.md", "b.md", "m.md", "now/deep/w.md", "now/v.md", "now2/deep/w.md", "now2/v.md",
        "out.md", "out/deep/y.md", "out/x.md", "real/r.md",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["inside", "all"])
def test_a_loop_of_links_ends(tmp_path: Path, mode: str) -> None:
    write(tmp_path, "a/a.md", "b/b.md")
    link(tmp_path / "a" / "to_b", "../b")
    link(tmp_path / "b" / "to_a", "../a")
    found = {"inside": ["a/a.md", "b/b.md"], "all": ["a/a.md", "a/to_b/b.md", "b/b.md", "b/to_a/a.md"]}
    assert uris(tmp_path, follow_links=mode) == found[mode]


def test_folders_that_link_each_other_multiply_nothing(tmp_path: Path) -> None:
    folders = [f"f{number}" for number in range(7)]
    write(tmp_path, *(f"{folder}/doc.md" for folder in folders))
    for one, other in itertools.permutations(folders, 2):
        link(tmp_path / one / f"to_{other}", f"../{other}")
    assert uris(tmp_path) == [f"{folder}/doc.md" for folder in folders]


def test_hidden_folders_that_link_each_other_are_listed_once_too(tmp_path: Path) -> None:
    write(tmp_path, ".h/a/a.md", ".h/b/b.md")
    link(tmp_path / ".h" / "a" / "to_b", "../b")
    link(tmp_path / ".h" / "b" / "to_a", "../a")
    link(tmp_path / "z", ".h/a")
    assert uris(tmp_path) == ["z/a.md", "z/to_b/b.md"]


def test_hard_links_are_names_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    (tmp_path / "b.md").hardlink_to(tmp_path / "a.md")
    assert uris(tmp_path) == ["a.md", "b.md"]


@pytest.mark.parametrize("mode", ["inside", "none", "all"])
def test_a_source_that_is_a_link_is_followed(tmp_path: Path, mode: str) -> None:
    write(tmp_path / "elsewhere", "x.md")
    link(tmp_path / "docs", tmp_path / "elsewhere")
    link(tmp_path / "other" / "one.md", tmp_path / "elsewhere" / "x.md")
    assert uris(tmp_path / "docs", follow_links=mode) == ["x.md"]
    assert uris(tmp_path / "other" / "one.md", follow_links=mode) == ["one.md"]


def test_the_report_counts_links_that_lead_out_in_one_line(bench: Workbench) -> None:
    bench.write({"a.md": "A text.", "../elsewhere/x.md": "Elsewhere."})
    for number in range(5):
        link(bench.docs / f"out{number}", bench.folder / "elsewhere")
    report = bench.ingest()
    assert report.exit_status == 0
    assert report.problems == [
        "docs: 5 link(s) out of the source not followed: out0, out1, out2, ... (discover.follow_links)"
    ]


def test_documents_behind_links_leave_when_links_are_followed_no_more(bench: Workbench) -> None:
    bench.write({"a.md": "A text.", "b.md": "Another.", "c.md": "A third.", "../elsewhere/x.md": "Elsewhere."})
    link(bench.docs / "out", bench.folder / "elsewhere")
    bench.settings["discover"] = {"follow_links": "all"}
    assert summary(bench.ingest())["added"] == 4
    bench.settings["discover"] = {"follow_links": "inside"}
    assert summary(bench.ingest()) == {"deleted": 1, "unchanged": 3}


def test_a_refusal_names_the_links_that_are_followed_no_more(bench: Workbench) -> None:
    bench.write({"a.md": "A text.", "../elsewhere/x.md": "Elsewhere."})
    link(bench.docs / "out", bench.folder / "elsewhere")
    bench.settings["discover"] = {"follow_links": "all"}
    bench.ingest()
    bench.settings["discover"] = {"follow_links": "inside"}
    with pytest.raises(SourceError, match=r"would lose 1 of 2 .*; docs: 1 link\(s\) out of the source .*: out \("):
        bench.ingest()
    assert bench.store.status()["documents"] == 2
