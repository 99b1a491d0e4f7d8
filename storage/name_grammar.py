"""Name grammar: the grammar for names from outside, checked before a name becomes a path on disk.

Anybody with write access to a bucket can choose the names in its listings, snapshots and inventories, and the author of
an archive those of its members. The names in a store are given by docmill, so their grammar is narrow. Names given by
people may have almost any character, but must not point elsewhere.
"""

import re
from collections.abc import Callable
from pathlib import Path

from docmill.storage.errors import StoreError

NOTHING = "none"
"""The name of an empty file, which is not shared."""
MOST_CHARACTERS = 1_024
"""Maximum characters of a name: the limit for keys of an object store in bytes; Linux allows four times as many."""
FILES = ("tables", "artifacts", "keywords", "inventories", "vectors")
"""The folders of a store whose files a snapshot or its inventory may name."""
PARQUET = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,160}-[0-9a-f]{32}\.parquet"
_STEP = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,139}"  # not hidden, and seven of them fit into a name
_PLAIN = re.compile(rf"{_STEP}(?:/{_STEP}){{1,6}}")  # below a table of vectors, an index has folders
_FILE = re.compile(rf"(?:{'|'.join(FILES)})(?:/{_STEP}){{1,6}}")
_STEM = re.compile(_STEP)
_HASH = re.compile(r"[0-9a-f]{32}")
_SNAPSHOT = r"[0-9]{6,18}\.json"
_LISTED = {
    "snapshots": _SNAPSHOT,
    "dropped": _SNAPSHOT,
    "candidates": r"candidate-[0-9]{1,18}(?:-[0-9]{1,9})?\.json",
    "tags": r"[^\W\d_][\w.-]{0,99}\.json",
}
_SHOWN = 200  # characters of a refused name in a message, enough to find it

_FAULTS: dict[str, Callable[[str], bool]] = {
    "an absolute path": lambda name: name.startswith("/"),
    "which leads out of its folder": lambda name: ".." in name.split("/"),
    "which is no path of a file": lambda name: "\0" in name or len(name) > MOST_CHARACTERS or not steps(name),
}


def steps(name: str) -> list[str]:
    """Return the steps of a path without empty ones and "."."""
    return [step for step in name.split("/") if step not in ("", ".")]


class UnsafeName(StoreError):
    """A file of a store names a file that cannot belong to the store."""


def fault(name: str, *folders: str) -> str:
    """Return why a name from outside is refused, or "" for a good one.

    With `folders`, it must be a name that docmill gives to a file below one of them; otherwise people may give it.
    """
    found = next((why for why, has_fault in _FAULTS.items() if has_fault(name)), "")
    if found or not folders:
        return found
    if name.split("/")[0] not in folders:
        return f"which is not below {', '.join(folders)}"
    return "" if _PLAIN.fullmatch(name) else "which no file of a store has"


def check_file(path: str, digest: str) -> None:
    """Raise `UnsafeName` if a reference to a file of a store has a path or hash that docmill does not give."""
    if _FILE.fullmatch(path) and _HASH.fullmatch(digest):
        return  # fast path: a snapshot may have thousands of files, and the reason is needed only for a wrong one
    if found := fault(path, *FILES):
        raise UnsafeName(f"it names the file {shown(path)}, {found}")
    if not _HASH.fullmatch(digest):
        raise UnsafeName(f"it names {shown(path)} with the hash {shown(digest)}, which is none")


def check_table(name: str) -> None:
    """Raise `UnsafeName` if a snapshot's table of vectors has a name that docmill does not give."""
    if not _STEM.fullmatch(name):
        raise UnsafeName(f"it names the table of vectors {shown(name)}, which no table of a store has")


def is_listed(key: str, folder: str) -> bool:
    """Return whether the key of a listing is one that docmill gives to an object in `folder`."""
    above, _, name = key.rpartition("/")
    return above == folder and re.fullmatch(_LISTED.get(folder, PARQUET), name) is not None


def placed(root: Path, name: str) -> Path:
    """Return the path of a file of a store; raise `UnsafeName` if a link among its folders leads out of `root`."""
    path = root / name
    # The folder and not the file, because a file that is a link is replaced and not followed.
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise UnsafeName(f"{path.parent} leads out of {root} by a link; remove the link and run again")
    return path


def shown(name: str) -> str:
    """Return a refused name, quoted and cut, without characters that control a terminal."""
    return repr(name[:_SHOWN])
