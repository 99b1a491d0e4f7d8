"""Whatever happens to watched files, and however fast: in the end the store is that of a clean build."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.flows.runs.run_options import RunOptions
from docmill.flows.watching.watch_options import WatchOptions
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.tables.tables import read_table
from tests.flows.watching.watching import Watching
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")
_WORDS = (
    "owl",
    "sings",
    "wood",
    "old",
    "trees",
    "while",
    "rain",
    "falls",
    "on",
    "red",
    "roofs",
    "seven",
    "boats",
    "snow",
)
_NEVER_S = 3600.0  # so that events alone tell of changes
_AT_ONCE = 0.5  # of the changes follow the one before without a pause
_LONGEST_PAUSE_S = 0.4


class Vandal:
    """Changes a working copy of git at random, from a seed."""

    def __init__(self, docs: Path, seed: int) -> None:
        self.docs = docs
        self.rng = random.Random(seed)
        self.number = 0

    def lay(self) -> None:
        """Write the first files, and a second branch that differs in half of them."""
        for _ in range(24):
            self.write()
        self._git("init", "--quiet", "--initial-branch=one")
        self._commit("one")
        self._git("checkout", "--quiet", "-b", "two")
        for _ in range(12):
            self.rng.choice([self.write, self.edit, self.delete, self.rename])()
        self._commit("two")

    def change(self) -> None:
        """Do one thing."""
        chances = {
            self.write: 4, self.edit: 6, self.replace: 2, self.rename: 3, self.delete: 2, self.move_folder: 2,
            self.copy_folder: 1, self.delete_folder: 1, self.touch: 1, self.empty: 1, self.checkout: 2,
        }  # fmt: skip
        change: Callable[[], object] = self.rng.choices([*chances], [*chances.values()])[0]
        change()

    def write(self) -> None:
        path = self.docs / self._folder() / f"page-{self._next()}.{self.rng.choice(['md', 'txt'])}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._text())

    def edit(self) -> None:
        if path := self._file():
            path.write_text(path.read_text() + "\n\n" + self._text())

    def replace(self) -> None:
        """Save as editors do: another file takes the name."""
        if path := self._file():
            draft = path.with_name(f".{path.name}.swp")
            draft.write_text(self._text())
            draft.replace(path)

    def rename(self) -> None:
        if path := self._file():
            target = self.docs / self._folder() / f"renamed-{self._next()}{path.suffix}"
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)

    def delete(self) -> None:
        if path := self._file():
            path.unlink()

    def touch(self) -> None:
        if path := self._file():
            os.utime(path, (1_600_000_000, 1_600_000_000))

    def empty(self) -> None:
        if path := self._file():
            path.write_bytes(b"")

    def move_folder(self) -> None:
        if folder := self._some_folder():
            folder.rename(self.docs / f"moved-{self._next()}")

    def copy_folder(self) -> None:
        if folder := self._some_folder():
            shutil.copytree(folder, self.docs / f"copied-{self._next()}" / "below")

    def delete_folder(self) -> None:
        if folder := self._some_folder():
            shutil.rmtree(folder)

    def checkout(self) -> None:
        self._git("stash", "--quiet", "--include-untracked")
        self._git("checkout", "--quiet", self.rng.choice(["one", "two"]))

    def _commit(self, message: str) -> None:
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", message)

    def _git(self, *arguments: str) -> None:
        identity = {f"GIT_{who}_{what}": "me@here" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        subprocess.run(["git", *arguments], cwd=self.docs, env=environment, check=True, capture_output=True)

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _folder(self) -> str:
        return self.rng.choice(["", "a", "b", "b/c", "d/e/f"])

    def _text(self) -> str:
        lines = [" ".join(self.rng.choices(_WORDS, k=self.rng.randint(4, 30))) for _ in range(self.rng.randint(1, 5))]
        return f"# {lines[0][:30]} {self._next()}\n\n" + "\n\n".join(lines) + "\n"

    def _file(self) -> Path | None:
        files = [path for path in sorted(self.docs.rglob("*")) if path.is_file() and ".git" not in path.parts]
        return self.rng.choice(files) if files else None

    def _some_folder(self) -> Path | None:
        folders = [path for path in sorted(self.docs.iterdir()) if path.is_dir() and path.name != ".git"]
        return self.rng.choice(folders) if folders else None


def rows(bench: Workbench, table: str) -> list[dict[str, object]]:
    """Return the rows of good documents, without times: a file of equal content keeps the one that it came with."""
    documents = read_table(open_folder(bench.root).newest(), "documents").to_pylist()
    good = {row["uri"] for row in documents if row["status"] == "ok"}
    found = read_table(open_folder(bench.root).newest(), table).to_pylist()
    timeless = ({name: value for name, value in row.items() if name != "mtime_ns"} for row in found)
    return sorted((row for row in timeless if row["uri"] in good), key=repr)


@pytest.mark.skipif(shutil.which("git") is None, reason="changes branches with git")
@pytest.mark.parametrize("changes", [20, pytest.param(200, marks=pytest.mark.soak)])
def test_changes_end_in_the_content_of_a_clean_build(tmp_path: Path, changes: int) -> None:
    bench = Workbench(tmp_path / "bench")
    bench.docs.mkdir(parents=True)
    vandal = Vandal(bench.docs, seed=changes)
    vandal.lay()
    options = WatchOptions(debounce_s=0.05, poll_s=_NEVER_S, every_s=_NEVER_S)
    with Watching(bench, options=options, first=RunOptions(allow_delete=True)) as watch:
        for _ in range(changes):
            vandal.change()
            if vandal.rng.random() > _AT_ONCE:
                time.sleep(vandal.rng.uniform(0, _LONGEST_PAUSE_S))
        clean = Workbench(tmp_path / "clean")
        shutil.copytree(bench.docs, clean.docs)
        clean.ingest()
        watch.until(lambda: rows(bench, "documents") == rows(clean, "documents"))
    assert rows(bench, "chunks") == rows(clean, "chunks")
    assert watch.failures == []
    assert verify(bench.root, deep=True) == []
