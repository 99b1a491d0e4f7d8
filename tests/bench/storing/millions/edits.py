"""Measure runs over a tree of which some files have changed, or a folder has another name.

The tree is a folder of real files, or generated pages. Its vectors are those of the tests' model, which take no time.
"""

import json
import resource
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docmill.storage.keys import hash_bytes
from tests.bench.documents import write_tree
from tests.bench.storing.millions.noop import docmill, model_in
from tests.bench.table import Figure
from tests.kit.fake_encoder import NAME

_CHANGED, _MOVED = 62 / 9_738, 283 / 9_738
_WRITTEN = frozenset({".md", ".mdx", ".txt", ".rst", ".py"})  # a sentence may follow their last line
_SETTLED_S = 2.1
_REJECTS = 3  # the exit status of a run that rejected files


@dataclass(frozen=True, slots=True)
class Run:
    """One command: its wall clock and its CPU time in seconds, with all that it started, and its report."""

    wall: float
    cpu: float
    report: dict[str, Any]

    def figures(self, label: str, goal: float) -> list[Figure]:
        """Return what the command took and did."""
        phases = {name: round(seconds, 2) for name, seconds in self.report["seconds"].items() if seconds > 0.05}
        return [
            Figure(f"{label}: wall of the command", self.wall, "s", goal),
            Figure("its CPU", self.cpu, "s"),
            *(Figure(f"of it {name}", seconds, "s") for name, seconds in phases.items()),
            *(Figure(f"{name}", self.report[name], "") for name in ("parsed", "embedded")),
        ]


def measure(files: int, folder: Path, data: Path | None = None) -> list[Figure]:
    """Ingest the tree, if that is not done, and change a copy of it."""
    home, model = folder / _name(files, data), model_in(folder)
    if not (home / "done").exists():
        if data is None:
            write_tree(home / "docs", files)
        else:
            shutil.copytree(data, home / "docs", dirs_exist_ok=True)
        time.sleep(_SETTLED_S)
        _run(model, home / "docs", home / "store")
        (home / "done").touch()
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-al", str(home), str(copy)], check=True)
    try:
        return _edits(copy, model)
    finally:
        shutil.rmtree(copy)


def _name(files: int, data: Path | None) -> str:
    return f"edits-{files}" if data is None else f"edits-of-{hash_bytes(str(data.resolve()).encode())[:8]}"


def _edits(home: Path, model: Path) -> list[Figure]:
    docs, store = home / "docs", home / "store"
    _run(model, docs, store)  # the copy has another path: this run reads each file once
    files = sorted(path for path in docs.rglob("*") if path.is_file())
    changed = _change(files)
    time.sleep(_SETTLED_S)
    edited = _run(model, docs, store)
    moved = _rename_folder(docs, round(_MOVED * len(files)))
    renamed = _run(model, docs, store)
    assert (renamed.report["parsed"], renamed.report["embedded"]) == (0, 0), renamed.report
    chunks = renamed.report["chunks"]
    return [
        Figure("files", len(files), ""),
        Figure("chunks in the store", chunks["kept"] + chunks["added"], ""),
        *edited.figures(f"{changed} files changed", 1.5),
        *renamed.figures(f"a folder of {moved} files renamed", 2.0),
    ]


def _change(files: Sequence[Path]) -> int:
    """Add a sentence to some files, spread over the tree; return their number."""
    written = [path for path in files if path.suffix in _WRITTEN]
    wanted = round(_CHANGED * len(files))
    chosen = written[:: max(1, len(written) // wanted)][:wanted]
    for path in chosen:
        text = path.read_bytes()
        path.unlink()  # it is a name of the first copy's file, too
        path.write_bytes(text + b"\n\n# A sentence that was not there before.\n")
    return len(chosen)


def _rename_folder(docs: Path, wanted: int) -> int:
    """Rename the folder whose number of files is the nearest to `wanted`; return that number."""
    folders = [path for path in docs.rglob("*") if path.is_dir()]
    held = {path: sum(one.is_file() for one in path.rglob("*")) for path in sorted(folders)}
    found = min(held, key=lambda path: abs(held[path] - wanted))
    found.rename(found.with_name(f"renamed-{found.name}"))
    return held[found]


def _run(model: Path, docs: Path, store: Path) -> Run:
    """Ingest by the command line; a real tree may have files that are rejected."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [*docmill(model), "ingest", str(docs), "--store", str(store), "--engine", "local", "--json"]
    done = subprocess.run([*command, "--embedding-model", NAME], stdout=subprocess.PIPE, text=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, _REJECTS), done.returncode
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, cpu, json.loads(done.stdout))
