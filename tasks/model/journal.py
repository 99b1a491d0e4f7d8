"""Journal: each answer is written to disk as soon as it is paid for; at the end of a run, it becomes a pack.

```
cache/replies/<run>.jsonl     the journal of a running ingest, locked by its process
cache/replies/<run>.parquet   a pack of answers, found by key
cache/costs/<run>.json        their cost, until a snapshot's table `costs` has it
```

These files are separate from those of snapshots: a run that fails or is killed keeps what it paid for.
"""

import fcntl
import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.files import TEMPORARY, write_whole
from docmill.storage.schema import CostRow

REPLIES = "cache/replies"
COSTS = "cache/costs"
SHARED = "replies"
"""Where an object store has the packs of all its machines; see `docmill.storage.remote.objects.shared_files`."""

_MONEY_DECIMALS = 9
"""Of a sum of prices of single tokens, each some millionths: fewer would lose them, more would show rounding errors."""
_COLUMNS = pa.schema([("key", pa.string()), ("text", pa.string()), ("basis", pa.string())])


@dataclass(frozen=True, slots=True)
class PaidCall:
    """One call: the key of its answer, the answer, and its cost. A failed call has no key and is not `answered`.

    An `answered` call without a key has an answer that is kept elsewhere, as vectors are. `reason` says why a call has
    no usable answer.
    """

    purpose: str
    key: str = ""
    text: str = ""
    basis: str = ""
    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    money: float = 0.0
    reason: str = ""
    answered: bool = False


class Journal:
    """The paid calls of one run, written by several threads; `of` distinguishes several journals of a run."""

    def __init__(self, root: Path, run: str, model: str, of: str = "") -> None:
        self._path = root / REPLIES / f"{run}{of}.jsonl"
        self._head = {"run": run, "model": model}
        self._lock = threading.Lock()
        self._file: IO[str] | None = None
        self._noted = False

    def add(self, entry: PaidCall) -> None:
        """Write one entry."""
        with self._lock:
            # A run that asks nothing leaves no journal behind.
            if self._file is None:
                self._file = self._open()
            self._write(self._file, asdict(entry))
            self._noted = False

    def note(self) -> None:
        """Write the note of the cost so far, from which a commit makes rows."""
        with self._lock:
            if self._file is not None:
                _note(self._path, list(_lines(self._path)))
                self._noted = True

    def close(self) -> None:
        """Turn the journal into a pack of answers and a note of their cost."""
        if self._file is not None:
            fold(self._path, noted=self._noted)
            self._file.close()
            self._file = None

    def _open(self) -> IO[str]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a", encoding="utf-8")
        # The kernel frees the lock with the process, so `recover` can distinguish killed runs from active ones.
        fcntl.flock(file, fcntl.LOCK_EX)
        self._write(file, self._head)
        return file

    def _write(self, file: IO[str], line: Any) -> None:
        file.write(json.dumps(line) + "\n")
        # Flush each line at once: a paid call must survive a kill of this process.
        file.flush()


def recover(root: Path) -> None:
    """Fold the journals of killed runs."""
    for path in sorted((root / REPLIES).glob("*.jsonl")):
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # its run is still active
                continue
            fold(path)


def fold(path: Path, noted: bool = False) -> None:
    """Write the pack and the costs of a journal, unless these are already `noted`, and remove it; idempotent."""
    lines = list(_lines(path))
    if lines:
        # Costs first and the journal last: whatever fails in between is redone from the journal.
        entries = [PaidCall(**line) for line in lines[1:]] if noted else _note(path, lines)
        _write_pack(path.with_suffix(".parquet"), [entry for entry in entries if entry.key])
    path.unlink()


def _note(path: Path, lines: Sequence[dict[str, Any]]) -> list[PaidCall]:
    """Write the costs of a journal's lines, and return its entries."""
    head, entries = lines[0], [PaidCall(**line) for line in lines[1:]]
    write_whole(path.parent.parent.parent / COSTS / f"{path.stem}.json", _costs(head, entries))
    return entries


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines that were written completely."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            # The process died while writing this line; that call is lost, and nothing follows it.
            return


def _costs(head: dict[str, str], entries: Sequence[PaidCall]) -> bytes:
    return json.dumps([asdict(row) for row in costs_of(head["run"], head["model"], entries)]).encode()


def costs_of(run: str, model: str, entries: Sequence[PaidCall]) -> list[CostRow]:
    """Return one row for each purpose of a run."""
    purposes = sorted({entry.purpose for entry in entries})
    return [_cost_of(run, model, [entry for entry in entries if entry.purpose == purpose]) for purpose in purposes]


def _cost_of(run: str, model: str, own: Sequence[PaidCall]) -> CostRow:
    """Return the row of the calls for one purpose."""
    sums = {name: sum(getattr(entry, name) for entry in own) for name in ("input", "cached", "written", "output")}
    return CostRow(
        run_id=run,
        snapshot=0,
        model=model,
        purpose=own[0].purpose,
        calls=len(own),
        failed=sum(not (entry.key or entry.answered) for entry in own),
        **sums,
        money=round(sum(entry.money for entry in own), _MONEY_DECIMALS),
        refused=sum(bool(entry.key and entry.reason) for entry in own),
        reason=_reasons(own),
    )


def _reasons(entries: Sequence[PaidCall]) -> str:
    """Return why calls have no usable answer, the most frequent reason first."""
    found = Counter(entry.reason for entry in entries if entry.reason)
    return "; ".join(f"{reason} ({count:,})" if len(found) > 1 else reason for reason, count in found.most_common())


def _write_pack(target: Path, entries: Sequence[PaidCall]) -> None:
    if entries:
        columns = [pa.array([getattr(entry, name) for entry in entries], pa.string()) for name in _COLUMNS.names]
        draft = target.with_name(TEMPORARY + target.name)
        pq.write_table(pa.table(columns, schema=_COLUMNS), draft, compression="zstd")
        draft.replace(target)
