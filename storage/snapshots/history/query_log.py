"""Query log: what people asked, stored next to the snapshots if the settings enable it, without text of documents.

Each machine writes its own files in `queries/`, a new one each day and after 2,000 queries, so several servers and
machines can log at the same time. The next writer removes files that are too old or too many. `clear` leaves a mark
with its time, so that older queries of other machines no longer count either.
"""

import fcntl
import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex

import pyarrow as pa

from docmill.storage.errors import QueryError, StoreError, Transient
from docmill.storage.files import explain_full_disk, flocked, put_if_absent, remove, write_whole
from docmill.storage.keys import key_of
from docmill.storage.snapshots.history import row_files
from docmill.storage.snapshots.history.folder import StoreFolder

FOLDER = "queries"
MOST_CHARACTERS = 500
"""Characters of a query that are kept: a question has a line or two, and anything longer was pasted."""
_OF_A_FILE = 2_000  # queries in a file, some 60 kB, because the file is rewritten each time that a few are added
_CLEARED = "cleared"
"""The mode in the only row of a mark, which says that earlier queries no longer count."""
_MACHINE = ".machine"
_NAME = re.compile(r"(?P<machine>[0-9a-f]{12})-(?P<day>\d{8})-(?P<number>\d{4})")


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """A query that was asked, and how well it was answered.

    Attributes:
        created: When it was asked, ISO 8601 in UTC.
        query: The query, its first 500 characters.
        mode: The mode of the search.
        snapshot: The number of the snapshot that answered.
        hits: How many hits it had.
        relevance: The relevance of the best hit, in [0, 1], or None without a hit.
        confidence: The confidence of the best hit, in [0, 1], or None without a hit.
        filtered: Whether a condition narrowed the search.
        restricted: Whether the asker may not see all documents.
        door: Where it was asked: `command`, `http`, `mcp` or `python`.
    """

    created: str
    query: str
    mode: str
    snapshot: int = 0
    hits: int = 0
    relevance: float | None = None
    confidence: float | None = None
    filtered: bool = False
    restricted: bool = False
    door: str = "python"


_KINDS: dict[str, pa.DataType] = {name: pa.int64() for name in ("snapshot", "hits")}
_KINDS |= {name: pa.float64() for name in ("relevance", "confidence")}
_KINDS |= {name: pa.bool_() for name in ("filtered", "restricted")}
FILES = row_files.RowFiles("queries", LoggedQuery, **_KINDS)


_MOST_DAYS = 36_500  # a century, as in the settings: a date that far back can still be computed


@dataclass(frozen=True, slots=True)
class LogBounds:
    """How long logged queries are kept, in days, and how many at most."""

    days: float = 90.0
    most: int = 100_000

    def __post_init__(self) -> None:
        if not 0 <= self.days <= _MOST_DAYS:
            raise QueryError(f"keep_days must be in [0, {_MOST_DAYS}], got {self.days}")


def now() -> str:
    """Return the time of a query."""
    return datetime.now(UTC).isoformat("T", "milliseconds")


def append(folder: StoreFolder, rows: Sequence[LoggedQuery], bounds: LogBounds) -> None:
    """Add queries to the log and share them with all machines; remove those beyond the bounds.

    Raises `StoreError` if the folder cannot be written.
    """
    root = folder.root / FOLDER
    try:
        with explain_full_disk(folder.root), _alone(root):
            left = list(rows)
            while left:
                path, before = _open_file(root)
                room = _OF_A_FILE - len(before)
                write_whole(path, _encode([*before, *left[:room]]))
                left = left[room:]
                _share(folder, path)
            prune(folder, bounds)
    except OSError as error:  # a served store may be read-only for the server
        raise StoreError(f"the query cannot be logged in {root}: {error.strerror}") from error


def clear(folder: StoreFolder) -> int:
    """Remove all logged queries, also on other machines; return how many there were."""
    root = folder.root / FOLDER
    gone, mark = len(read(folder.root)), LoggedQuery(now(), "", _CLEARED)
    with _alone(root):
        path = root / f"{_machine(root)}-{_day(mark.created)}-{_CLEARED}.parquet"
        write_whole(path, _encode([mark]))
        _share(folder, path)
        files = FILES.paths(folder.root)
        _remove(folder, [one for one in files if _newest(one) <= mark.created and one != path])
    return gone


def prune(folder: StoreFolder, bounds: LogBounds) -> None:
    """Remove the files whose queries are all too old or cleared, and the oldest files if there are too many queries."""
    oldest = (datetime.now(UTC) - timedelta(days=bounds.days)).isoformat("T", "milliseconds")
    kept, over = 0, []
    every = FILES.paths(folder.root)
    whole = [path for path in every if FILES.rows_in(path) is not None]  # a repair sets the others aside
    files = sorted(whole, key=_newest, reverse=True)
    cleared = _cleared(files)
    for path in files:
        kept += len(FILES.rows_in(path) or ())
        is_mark = path.stem.endswith(_CLEARED)
        limit = oldest if is_mark else max(oldest, cleared)
        # The newest file stays within any limit on the number, as it has at most 2,000 queries.
        if _newest(path) < limit or (kept > bounds.most and path != files[0]):
            over.append(path)
    _remove(folder, over)


def read(root: Path) -> list[LoggedQuery]:
    """Return the logged queries, oldest first, without cleared ones and those of damaged files."""
    files = FILES.paths(root)
    cleared = _cleared(files)
    rows = (one for path in files for one in FILES.rows_in(path) or ())
    return sorted((one for one in rows if one.mode != _CLEARED and one.created > cleared), key=lambda one: one.created)


def table(root: Path) -> pa.Table:
    """Return the logged queries as rows, without cleared ones."""
    return FILES.as_table(read(root))


def machine_of(root: Path) -> str:
    """Return the prefix of the names of this machine's files, or "" if it has none."""
    path = root / FOLDER / _MACHINE
    return _machine(root / FOLDER) if path.exists() else ""


def _machine(root: Path) -> str:
    """Return the id of this machine in a store; a copy of the folder on another machine gets a different id."""
    put_if_absent(root / _MACHINE, token_hex(16).encode())
    return key_of("machine", (root / _MACHINE).read_text(), socket.gethostname())[:12]


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    root.mkdir(parents=True, exist_ok=True)
    with flocked(root / ".lock", fcntl.LOCK_EX):
        yield


def _day(created: str) -> str:
    return created[:10].replace("-", "")


def _open_file(root: Path) -> tuple[Path, list[LoggedQuery]]:
    """Return this machine's file of today that has room, with its rows; a damaged file is left alone."""
    start = f"{_machine(root)}-{_day(now())}"
    numbers = [int(path.stem[-4:]) for path in root.glob(f"{start}-*.parquet") if _NAME.fullmatch(path.stem)]
    last = root / f"{start}-{max(numbers, default=0):04d}.parquet"
    rows = FILES.rows_in(last) if numbers else ()
    if rows is not None and len(rows) < _OF_A_FILE:
        return last, list(rows)
    return root / f"{start}-{max(numbers) + 1:04d}.parquet", []


def _share(folder: StoreFolder, path: Path) -> None:
    with row_files.kept_if_unshared(path):
        folder.share_own(FOLDER, path)


def _remove(folder: StoreFolder, paths: Iterable[Path]) -> None:
    gone = list(paths)
    try:
        folder.unshare_files(FOLDER, [path.stem for path in gone])
    except Transient as error:
        row_files.LOG.warning("%s: old queries are not removed yet: %s", folder.name, error)
        return
    for path in gone:
        remove(path)


def _cleared(files: Iterable[Path]) -> str:
    """Return when the log was last cleared, or ""."""
    marks = (one for path in files if path.stem.endswith(_CLEARED) for one in FILES.rows_in(path) or ())
    return max((one.created for one in marks), default="")


def _newest(path: Path) -> str:
    return max((one.created for one in FILES.rows_in(path) or ()), default="")


def _encode(rows: Sequence[LoggedQuery]) -> bytes:
    return row_files.encoded(FILES.as_table(rows))
