"""Measure runs over a tree of generated pages of which some have changed, or whose folder has another name."""

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.bench.documents import write_tree
from tests.bench.storing.millions.noop import docmill, model_in
from tests.bench.table import Figure
from tests.bench.tree import ingest
from tests.kit.fake_encoder import NAME

_CHANGED, _MOVED = 62 / 9_738, 283 / 9_738
_SETTLED_S = 2.1


def measure(files: int, folder: Path) -> list[Figure]:
    """Ingest the tree, if that is not done, and change a copy of it."""
    home, model = folder / f"edits-{files}", model_in(folder)
    if not (home / "done").exists():
        write_tree(home / "docs", files)
        time.sleep(_SETTLED_S)
        ingest(docmill(model), home / "docs", home / "store", "--embedding-model", NAME)
        (home / "done").touch()
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-al", str(home), str(copy)], check=True)
    try:
        return _edits(copy, model, files)
    finally:
        shutil.rmtree(copy)


def _edits(home: Path, model: Path, files: int) -> list[Figure]:
    docs, store = home / "docs", home / "store"
    _run(model, docs, store)  # the copy has another path: this run reads each file once
    pages = sorted(docs.rglob("*.md"))
    changed = pages[:: round(1 / _CHANGED)]
    for page in changed:
        text = page.read_text()
        page.unlink()  # it is a name of the first copy's file, too
        page.write_text(f"{text}\n\nA sentence that was not there before.\n")
    time.sleep(_SETTLED_S)
    edited, report = _run(model, docs, store)
    assert report["documents"]["changed"] == len(changed), report
    (docs / "section").mkdir()
    moved = round(_MOVED * files)
    for page in [page for page in pages if page not in changed][:moved]:
        page.rename(docs / "section" / page.name)
    renamed, report = _run(model, docs, store)
    assert (report["documents"]["moved"], report["parsed"], report["embedded"]) == (moved, 0, 0), report
    return [
        Figure("chunks in the store", report["chunks"]["kept"] + report["chunks"]["added"], ""),
        Figure(f"run after {len(changed)} of {files:,} files have changed", edited, "s", 1.5),
        Figure(f"run after a folder of {moved} files is renamed", renamed, "s", 2.0),
        Figure("of it the commit", report["seconds"]["commit"], "s"),
    ]


def _run(model: Path, docs: Path, store: Path) -> tuple[float, dict[str, Any]]:
    """Run once; return what the steps took together, in seconds, and the report."""
    _, report = ingest(docmill(model), docs, store, "--embedding-model", NAME)
    return sum(report["seconds"].values()), report
