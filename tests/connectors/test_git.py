"""Git repositories: files at a branch, tag or commit, and after a change only what differs."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.connectors import git
from docmill.tasks.sources.connectors.git import GitSettings
from docmill.tasks.sources.discover import likely_name, open_source
from docmill.tasks.sources.source import DiscoverOptions
from docmill.testing import SourceSuite
from tests.kit.servers.faults import FAULTS, at_fault
from tests.kit.servers.git_server import git_on_loopback
from tests.kit.workbench import Workbench, summary

ALL = DiscoverOptions(may_be_empty=True, hidden=True)
START = {"docs/mill.md": "# Mill\n\nIt grinds.\n", "docs/deep/pond.md": "# Pond\n\nIt freezes.\n", "run.py": "x = 1\n"}


@dataclass
class Repository:
    """A repository that a test changes."""

    folder: Path

    @property
    def address(self) -> str:
        return f"git+file://{self.folder}"

    def git(self, *arguments: str, at: str = "2026-01-01T00:00:00Z") -> str:
        who = {f"GIT_{one}_{key}": "ada@example.org" for one in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
        when = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at, "GIT_CONFIG_GLOBAL": os.devnull}
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, env=os.environ | who | when
        ).stdout.strip()

    def commit(self, files: dict[str, str | None], at: str = "2026-01-01T00:00:00Z") -> str:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True) if text is None else path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "change", at=at)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Repository(tmp_path / "farm.git")
    made.folder.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    made.git("config", "uploadpack.allowFilter", "true")
    made.commit(dict(START))
    return made


def listed(address: str, **table: Any) -> list[str]:
    source = open_source(f"farm={address}", {"farm": table})
    return [file.uri for file in source.list(ALL, Checkpoints()).found]


def test_files_become_documents_with_the_time_of_their_last_commit(
    repository: Repository, bench: Callable[..., Workbench]
) -> None:
    repository.commit({"docs/deep/pond.md": "# Pond\n\nIt thaws.\n"}, at="2026-03-01T00:00:00Z")
    work = bench()
    assert work.ingest(repository.address).documents.added == 3
    with work.store as store:
        rows = store.sql("SELECT uri, source, source_url, described FROM documents ORDER BY uri").to_pylist()
    assert [row["uri"] for row in rows] == ["farm/docs/deep/pond.md", "farm/docs/mill.md", "farm/run.py"]
    assert {(row["source"], row["source_url"]) for row in rows} == {("farm", "")}
    told = [json.loads(row["described"]) for row in rows]
    assert [(one["author"], one["committed"][:10]) for one in told] == [
        ("ada@example.org", "2026-03-01"), ("ada@example.org", "2026-01-01"), ("ada@example.org", "2026-01-01"),
    ]  # fmt: skip
    assert told[0]["commit"] == repository.git("rev-parse", "HEAD")
    found = open_source(repository.address).list(ALL, Checkpoints()).found
    assert [file.mtime_ns // 10**9 for file in found] == [1772323200, 1767225600, 1767225600]


def test_only_changed_files_are_read_and_nothing_is_asked_of_the_same_commit(
    repository: Repository, bench: Callable[..., Workbench], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, ...]] = []
    call = git.Git._call

    def counted(self: Any, arguments: Any, given: bytes) -> Any:
        calls.append((arguments[0], given.decode()) if given else tuple(arguments[:1]))
        return call(self, arguments, given)

    monkeypatch.setattr("docmill.tasks.sources.connectors.git.Git._call", counted)
    work = bench()
    work.ingest(repository.address)
    calls.clear()
    assert work.ingest(repository.address).snapshot is None
    assert calls == [("ls-remote",)]
    repository.commit({"docs/mill.md": "# Mill\n\nIt stands still.\n", "run.py": None})
    calls.clear()
    report = work.ingest(repository.address, allow_delete=True)
    assert summary(report) == {"changed": 1, "unchanged": 1, "deleted": 1, "parsed": 1, "embedded": 1}
    blob = repository.git("rev-parse", "HEAD:docs/mill.md")
    assert [one for one in calls if len(one) == 2] == [("-c", f"{blob}\n")]
    assert [one for one in calls if one == ("cat-file",)] == [("cat-file",)]


def test_a_file_of_any_name_is_read_and_has_its_commit(repository: Repository, bench: Callable[..., Workbench]) -> None:
    odd = [b"gr\xfcn.md", b"two\nlines.md", b"\x01start.md", b"back\\slash.md", b"caf\xc3\xa9.md"]
    for number, name in enumerate(odd):
        (repository.folder / os.fsdecode(name)).write_text(f"# Odd {number}\n\nA name.\n")
    commit = repository.commit({}, at="2026-02-01T00:00:00Z")
    work = bench()
    report = work.ingest(repository.address)
    assert (report.documents.added, report.rejects) == (8, [])
    with work.store as store:
        rows = store.sql("SELECT title, described FROM documents WHERE title LIKE 'Odd%' ORDER BY 1").to_pylist()
    assert [row["title"] for row in rows] == [f"Odd {number}" for number in range(len(odd))]
    assert {json.loads(row["described"])["commit"] for row in rows} == {commit}


def test_a_run_that_was_killed_leaves_no_half_of_a_copy(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = git.Git.run

    def killed(self: Any, *arguments: str, given: bytes = b"") -> bytes:
        if arguments[0] == "config":
            raise SystemExit
        return bytes(run(self, *arguments, given=given))

    with monkeypatch.context() as patched:
        patched.setattr("docmill.tasks.sources.connectors.git.Git.run", killed)
        with pytest.raises(SystemExit):
            listed(repository.address)
    assert len(listed(repository.address)) == 3
    (copy,) = (tmp_path / "cache" / "docmill" / "git").iterdir()
    (copy / "refs" / "docmill").mkdir(parents=True, exist_ok=True)
    for name in (copy / "refs" / "docmill").iterdir():
        name.with_name(f"{name.name}.lock").touch()
    repository.commit({"new.md": "# New\n"})
    with pytest.raises(Transient, match="if none is, delete that folder"):
        listed(repository.address)


def test_a_file_that_was_not_asked_for_is_not_in_the_copy(repository: Repository, tmp_path: Path) -> None:
    source = open_source(repository.address)
    source.list(ALL, Checkpoints())
    (copy,) = (tmp_path / "cache" / "docmill" / "git").iterdir()
    blobs = [repository.git("rev-parse", f"HEAD:{name}") for name in START]
    said = subprocess.run(
        ["git", f"--git-dir={copy}", "cat-file", "--batch-all-objects", "--batch-check"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert not [blob for blob in blobs if blob in said]


def test_a_branch_a_tag_a_commit_and_a_folder(repository: Repository) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.git("tag", "-a", "v1", "-m", "first")
    repository.git("branch", "feature/x")
    repository.commit({"new.md": "# New\n"})
    for ref in ("v1", first, "feature/x"):
        assert len(listed(f"{repository.address}@{ref}")) == 3
        assert len(listed(repository.address, ref=ref)) == 3
    assert len(listed(repository.address)) == 4
    assert listed(repository.address, folder="docs/") == ["farm/deep/pond.md", "farm/mill.md"]


def test_a_rewritten_history_is_listed_anew(repository: Repository, bench: Callable[..., Workbench]) -> None:
    work = bench()
    work.ingest(repository.address)
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit({"docs/mill.md": "# Mill\n\nNo history.\n"})
    repository.git("branch", "-M", "main")
    repository.git("gc", "--prune=now", "--quiet")
    assert work.ingest(repository.address).documents.changed == 1


def test_links_and_submodules_are_no_files_and_nothing_of_the_repository_runs(
    repository: Repository, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    (repository.folder / "out.md").symlink_to("/etc/passwd")
    attacks = {
        ".gitattributes": "*.md filter=evil diff=evil\n",
        ".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {ran}"\n',
        ".gitconfig": f"[core]\n\tfsmonitor = touch {ran}\n",
    }
    repository.commit(dict(attacks))
    for name in ("post-checkout", "post-merge", "reference-transaction", "update", "pre-auto-gc"):
        hook = repository.folder / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(0o755)
    repository.git("config", "filter.evil.smudge", f"touch {ran}")
    ran.unlink(missing_ok=True)
    assert "farm/out.md" not in listed(repository.address)
    source = open_source(repository.address)
    for file in source.list(ALL, Checkpoints()).found:
        source.fetch(file, tmp_path / "fetched", 1_000_000)
    assert not ran.exists()


def test_a_repository_that_is_gone_deletes_nothing(repository: Repository, bench: Callable[..., Workbench]) -> None:
    work = bench()
    work.ingest(repository.address)
    repository.folder.rename(repository.folder.with_name("away"))
    with pytest.raises(SourceError, match=r"source 'git\+file://\S+': there is no such repository"):
        work.ingest(repository.address, allow_delete=True)
    with work.store as store:
        assert store.sql("SELECT count(*) AS n FROM documents").to_pylist() == [{"n": 3}]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("@no-such-branch", "there is no branch or tag 'no-such-branch'; set `ref`"),
        ("@--upload-pack=x", "'--upload-pack=x' is no branch, tag or commit"),
    ],
)
def test_a_wrong_branch_is_told_in_one_line(repository: Repository, more: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        listed(f"{repository.address}{more}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("git+https://me:secret@example.org/x.git", "leave user and password out of the address, and set `token`"),
        ("git+https://example.org", "write git\\+https://HOST/PATH"),
    ],
)
def test_a_wrong_address_is_told_in_one_line(url: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        open_source(f"x={url}")
    assert "secret" not in str(caught.value)


def test_a_server_that_does_not_answer_is_asked_again(repository: Repository) -> None:  # noqa: ARG001  its cache
    with pytest.raises(Transient, match="it does not answer"):
        listed("git+http://127.0.0.1:1/x.git")


def test_links_lead_to_the_page_of_the_file_and_stay(repository: Repository) -> None:  # noqa: ARG001  its cache
    def link(url: str, **more: Any) -> str:
        reader = git.CONNECTOR.open(GitSettings(url=url, **more))
        from docmill.tasks.sources.connectors.contract import SourceItem

        return reader.link(SourceItem("a b.md", "1"))

    assert link("git+https://github.com/o/r.git@main") == "https://github.com/o/r/blob/main/a%20b.md"
    assert link("git+ssh://git@gitlab.com/o/g/r", folder="docs") == "https://gitlab.com/o/g/r/-/blob/HEAD/docs/a%20b.md"
    assert link("git+https://git.example.org/r.git") == ""
    assert likely_name("git+https://github.com/o/r.git@feature/x") == "r"


class TestGit(SourceSuite):
    """The properties of all sources."""

    @pytest.fixture(autouse=True)
    def _commit(self, repository: Repository) -> None:
        type(self).source = repository.address


class TestGitOverHttp(SourceSuite):
    """The properties of all sources, of a server that may fail."""

    source = "git+http://"

    @pytest.fixture(autouse=True)
    def _serve(self, repository: Repository) -> Iterator[None]:
        with git_on_loopback(repository.folder.parent) as self._server:
            yield

    def _open(self) -> Any:
        return open_source(f"farm={self._server.url}/farm.git", {"farm": {"timeout_s": 2}})

    def faults(self) -> Mapping[str, AbstractContextManager[None]]:
        return {name: at_fault(self._server, fault) for name, fault in FAULTS.items()}
