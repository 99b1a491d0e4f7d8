"""Source log: what the runs on this machine last saw of each source of a store, and when they last succeeded.

It is `cache/sources.json` and only informs people: no run depends on it, and losing it loses no document.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from docmill.storage.files import write_whole


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """How many items and bytes a run listed in a source and fetched from it.

    `listed_bytes` leaves out items whose size the source does not state. `far` says whether the items are fetched from
    elsewhere; the files of a folder are read in place.
    """

    source: str
    listed: int = 0
    listed_bytes: int = 0
    fetched: int = 0
    fetched_bytes: int = 0
    far: bool = False


@dataclass(frozen=True, slots=True)
class LoggedSource:
    """The log's entry for a source: where it is, what the last run that reached it saw, and when (ISO 8601, UTC).

    `succeeded` is the end of the last run that reached it, "" if none has. `failed` is when a run last failed to reach
    it, and `message` says why; both are "" again once a run reaches it.
    """

    source: str
    address: str = ""
    kind: str = ""
    listed: int = 0
    listed_bytes: int = 0
    fetched: int = 0
    fetched_bytes: int = 0
    succeeded: str = ""
    failed: str = ""
    message: str = ""


def logged_sources(store: Path) -> dict[str, LoggedSource]:
    """Return the log of a store, by name of source; empty if it is missing or damaged."""
    try:
        rows = json.loads(_path(store).read_bytes())
        return {row["source"]: LoggedSource(**row) for row in rows}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def log_sources(
    store: Path, reached: Iterable[SourceCounts], places: Mapping[str, tuple[str, str]], lacked: Mapping[str, str]
) -> None:
    """Log what a run saw: counts of the sources it reached, their (address, kind) by name, and why it lacked others."""
    now = datetime.now(UTC).isoformat("T", "seconds")
    known = logged_sources(store)
    for one in reached:
        counts = {name: value for name, value in asdict(one).items() if name != "far"}
        known[one.source] = LoggedSource(**counts, address=places[one.source][0], kind=places[one.source][1],
                                         succeeded=now)  # fmt: skip
    for name, message in lacked.items():
        known[name] = replace(known.get(name, LoggedSource(name)), failed=now, message=message)
    _write(store, known)


def forget_sources(store: Path, names: Collection[str]) -> None:
    """Drop sources from the log."""
    known = logged_sources(store)
    if known.keys() & {*names}:
        _write(store, {name: one for name, one in known.items() if name not in names})


def _write(store: Path, known: Mapping[str, LoggedSource]) -> None:
    rows = [asdict(known[name]) for name in sorted(known)]
    write_whole(_path(store), json.dumps(rows, ensure_ascii=False).encode())


def _path(store: Path) -> Path:
    return store / "cache" / "sources.json"
