"""An export follows the store: after each of 20 random commits it equals the snapshot, in every destination."""

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.store import open_store
from tests.exports.exported_rows import FILES, Rows, read_postgres, read_qdrant, same, wanted
from tests.exports.postgres_server import postgres_server
from tests.kit.workbench import Workbench

COMMITS = 20
WORDS = ("mill", "wheat", "stone", "water", "wheel", "rye", "sack", "miller", "flour", "wind")


def text(rng: random.Random) -> str:
    sections = [f"## Part {n}\n\n{' '.join(rng.choices(WORDS, k=12))}.\n" for n in range(rng.randint(1, 4))]
    return "\n".join([f"# {rng.choice(WORDS)}\n", *sections])


def edit(bench: Workbench, rng: random.Random) -> None:
    """Add, change, move or remove a document, or push the chunks of one down without a change of their texts."""
    there = sorted(bench.docs.glob("*.md"))
    one = rng.choice(there)
    other = bench.docs / f"new {rng.randrange(10**6)}.md"
    act = rng.choice(("add", "change", "move", "push", "remove" if len(there) > 3 else "add"))
    if act == "add":
        other.write_text(text(rng))
    elif act == "change":
        one.write_text(text(rng))
    elif act == "move":
        one.rename(other)
    elif act == "push":
        one.write_text(f"{'Before all.' * rng.randint(1, 9)}\n\n{one.read_text()}")
    else:
        one.unlink()


class History(NamedTuple):
    """A store, and what an export of each of its snapshots has, from the first on."""

    store: Path
    rows: list[Rows]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> History:
    """Return a store of 20 snapshots."""
    assert fake_model
    rng = random.Random(7)
    bench = Workbench(tmp_path_factory.mktemp("history"))
    bench.write({f"doc {n}.md": text(rng) for n in range(5)})
    bench.ingest()
    while snapshots.numbers(bench.root)[-1] < COMMITS:
        edit(bench, rng)
        bench.ingest(allow_delete=True)
    rows = []
    for number in range(1, COMMITS + 1):
        with open_store(bench.root, number) as store:
            rows.append(wanted(store))
    return History(bench.root, rows)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres_server() as address:
        yield address


def follow(history: History, to: str, read: Callable[[], Rows]) -> None:
    """Export each snapshot in turn, and hold what is there against it."""
    before: Rows = {}
    for number, expected in enumerate(history.rows, start=1):
        with open_store(history.store, number) as store:
            done = store.export(to)
        after = read()
        assert same(after, expected)
        assert done.chunks == len(expected)
        assert done.added == len(after.keys() - before.keys())
        assert done.removed == len(before.keys() - after.keys())
        changed = {key for key in after.keys() & before.keys() if after[key]["digest"] != before[key]["digest"]}
        assert done.changed == len(changed)
        kept = after.keys() & before.keys() - changed
        assert all(after[key]["snapshot"] == before[key]["snapshot"] for key in kept), "they were not written again"
        before = after
    with open_store(history.store) as store:
        again = store.export(to)
    assert (again.added, again.changed, again.removed) == (0, 0, 0)


def test_files_and_a_table_of_lancedb_equal_each_snapshot(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for to, read in FILES.values():
        follow(history, to, partial(read, tmp_path))


@pytest.mark.filterwarnings("ignore:.*unclosed database")  # the client's, of collections that it deletes in a folder
def test_a_collection_of_qdrant_equals_each_snapshot(history: History, tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client", reason="needs the extra `qdrant`")
    follow(history, f"qdrant:{tmp_path / 'points'}", lambda: read_qdrant(tmp_path / "points"))


def test_a_table_of_postgres_equals_each_snapshot(history: History, database: str) -> None:
    follow(history, database, lambda: read_postgres(database))
