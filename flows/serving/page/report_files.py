"""Report files: the page as a folder that opens from disk, with what it shows of one snapshot.

A page from disk may load scripts and no data, so each file of data is a script that hands its JSON to the page. The
folder is made beside its place and takes it in one step: what opens is whole.
"""

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docmill.flows.serving.json_text import json_text
from docmill.flows.serving.open_stores import ServedStore
from docmill.flows.serving.page.page_bundle import FOLDER, bundle, index
from docmill.flows.serving.page.report_data import held_of, values_of
from docmill.storage.errors import ConfigError
from docmill.storage.exports.claim import claim
from docmill.storage.exports.folder_swap import draft_of, settle_swap, swap
from docmill.storage.failpoints import boundary
from docmill.storage.files import explain_full_disk

_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:;"
    " base-uri 'none'; form-action 'none'"
)  # browsers differ on whether 'self' is the folder of a page from disk, so the scheme stands beside it
_MARK = '<meta name="generator" content="docmill report" />'
_CHARSET = '<meta charset="utf-8" />'
_OWN = {"index.html", "page", "data"}


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A report that was written: its folder, the snapshot, and how many of its documents it holds whole.

    `pending` counts the chunks of the snapshot that have no vector yet, and so no point on the map.
    """

    folder: Path
    snapshot: int
    documents: int
    held: int
    pending: int


def write_report(served: ServedStore, folder: Path, most: int) -> WrittenReport:
    """Write the page and what it shows of a snapshot, with the texts of the `most` documents that changed last.

    Raises:
        docmill.errors.ConfigError: The folder holds something else than a report.
        docmill.errors.StoreError: A file of the snapshot is damaged.
        docmill.errors.Locked: Another report is being written there.
        docmill.errors.Transient: The disk is full.
    """
    held = held_of(served.store, most)
    write_folder(folder, values_of(served, held))
    snapshot = served.store.snapshot
    pending = snapshot.pending.chunks if snapshot.pending else 0
    return WrittenReport(folder, snapshot.number, held.total, held.documents, pending)


def write_folder(folder: Path, values: Iterable[tuple[str, Any]]) -> None:
    """Write the page with files of data, each a name and its value. Errors are those of `write_report`."""
    with explain_full_disk(folder), claim(folder):
        settle_swap(folder)
        _check(folder)
        draft = draft_of(folder)
        _fill(draft, values)
        swap(draft, folder)


def _check(folder: Path) -> None:
    """Raise `ConfigError` for a place that holds something else than a report: writing replaces all that is there."""
    if not folder.exists():
        return
    if not folder.is_dir() or folder.is_symlink():
        raise ConfigError(f"{folder} is no folder; name one for the report")
    names = {path.name for path in folder.iterdir()}
    index = folder / "index.html"
    ours = index.is_file() and _MARK in index.read_text("utf-8", "replace")
    if names and not ours:
        raise ConfigError(f"{folder} is not empty and holds no report; name another folder")
    if other := sorted(names - _OWN):
        raise ConfigError(f"{folder} holds files besides its report: {', '.join(other[:3])}; move these away")


def _fill(folder: Path, values: Iterable[tuple[str, Any]]) -> None:
    """Write the files of a report, the page that opens it last."""
    (folder / "data").mkdir()
    (folder / "page").mkdir()
    for name, value in values:
        with boundary(f"report {name}"):
            (folder / "data" / f"{name}.js").write_text(_script(name, value), "utf-8")
    for name in ("page.css", "favicon.svg", "vendor/LICENSES.txt"):
        shutil.copyfile(FOLDER / name, folder / "page" / Path(name).name)
    (folder / "page" / "page.js").write_text(bundle(), "utf-8")
    (folder / "index.html").write_text(_index(), "utf-8")


def _script(name: str, value: Any) -> str:
    """Return a script that gives a value to the page: as text, since `__proto__` in an object of a script is no key."""
    return f"docmill.take({json.dumps(name)}, {json.dumps(json_text(value), ensure_ascii=False)});\n"


def _index() -> str:
    """Return the HTML of a report, with the policy that a server would send."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}" />'
    page = index("page.js").replace(_CHARSET, f"{_CHARSET}\n    {policy}\n    {_MARK}")
    return page.replace("<body>", "<body data-report>")
