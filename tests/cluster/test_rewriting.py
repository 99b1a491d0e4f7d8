"""Buckets that workers rewrite are those that the driver would write, and it writes them itself where no worker can."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock

import pyarrow as pa
import pytest

from docmill.flows.cluster import remote_rewriting
from docmill.flows.cluster.cluster import NEEDS_NOTHING, Needs, WorkerLost
from docmill.flows.cluster.cluster_engine import take_over
from docmill.flows.cluster.sender import Sender
from docmill.storage import files
from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.errors import StoreError, Transient
from docmill.storage.files import settle
from docmill.storage.keys import bucket_of, document_key
from docmill.storage.remote.objects.freight import Freight
from docmill.storage.schema_evolution import conform
from docmill.storage.search.encode.model_spaces import describe_model
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables import rewrite_buckets
from docmill.storage.snapshots.tables.rewrite_buckets import (
    BucketTable,
    Exchanged,
    Leaving,
    exchange_documents,
    replace_documents,
)
from docmill.tasks.work.pool.plain_json import Readers, decode, encode
from docmill.tasks.work.remote import rewriting
from docmill.tasks.work.remote.carry import carry
from docmill.tasks.work.remote.parcels import Parcel, Receipt
from docmill.tasks.work.remote.worker_steps import REWRITE

BUCKETS = 16
URIS = [f"{number}.md" for number in range(60)]
DELETED, CHANGED, ADDED = URIS[3:7], URIS[20:50:2], ["new.md", "newer.md"]
Answer = Callable[[str, bytes], bytes]


class Answering:
    """A cluster of one worker in this process; `answer` is what it does with a parcel, one after the other."""

    slots = 2

    def __init__(self, answer: Answer = carry) -> None:
        self.answer = answer
        self.parcels: list[bytes] = []
        self._lock = Lock()

    def call(self, step: str, parcel: bytes, needs: Needs = NEEDS_NOTHING) -> bytes:
        """Answer a parcel; a rewrite waits for no worker to come."""
        assert needs.waits == (step != REWRITE)
        with self._lock:
            self.parcels.append(parcel)
            return self.answer(step, parcel)

    def call_each(self, step: str, parcel: bytes) -> dict[str, bytes]:
        """Ask the one worker."""
        return {"lone": carry(step, parcel)}

    def places(self) -> dict[str, dict[str, float]]:
        """Return the one worker."""
        return {"lone": {}}

    def close(self) -> None:
        """Leave it."""


def rows(uris: list[str], text: str = "") -> pa.Table:
    named = [
        {"document_id": document_key(uri), "uri": uri, "ordinal": ordinal, "text": f"{text}{uri} {ordinal}\ud7ff"}
        | {"headings": ["One", uri] if ordinal else [], "metadata": None if ordinal == 1 else "{}"}
        for uri in uris
        for ordinal in range(3)
    ]
    return conform(pa.Table.from_pylist(named, CHUNKS), CHUNKS)


@pytest.fixture
def base(tmp_path: Path) -> tuple[StoredFile, ...]:
    """Return the files of a table in a store."""
    return replace_documents(tmp_path / "store", (), "chunks", BUCKETS, [], rows(URIS))


@pytest.fixture
def sender(tmp_path: Path, fake_model: str, monkeypatch: pytest.MonkeyPatch) -> Sender:
    """Return who sends rewrites of 3 buckets to a worker that shares a folder for the freight."""
    monkeypatch.setattr(remote_rewriting, "LEAST_BUCKETS", 2)
    monkeypatch.setattr(remote_rewriting, "BUCKETS_EACH", 3)
    freight, run = Freight(str(tmp_path / "freight"), "own"), tmp_path / "store" / "staging" / "run"
    run.mkdir(parents=True)
    return Sender(Answering(), freight, "run", run, describe_model(fake_model, ""), "", (), str)


def exchanged(root: Path, base: tuple[StoredFile, ...], way: rewrite_buckets.Rewriting) -> Exchanged:
    """Return the table after documents are deleted, changed and added."""
    gone = [*map(document_key, [*DELETED, *CHANGED])]
    leaving = Leaving(gone, ["document_id", "headings", "text"], [*map(document_key, DELETED)])
    return exchange_documents(root, BucketTable("chunks", base, BUCKETS), leaving, rows([*CHANGED, *ADDED], "n "), way)


def compare(tmp_path: Path, base: tuple[StoredFile, ...], sender: Sender, lanes: int = 2) -> None:
    """Check that what workers have a part in is what one process makes, byte for byte."""
    root, here = tmp_path / "store", tmp_path / "here"
    assert replace_documents(here, (), "chunks", BUCKETS, [], rows(URIS)) == base
    alone = exchanged(here, base, rewrite_buckets.rewrite_here)
    assert exchanged(root, base, remote_rewriting.remote_rewriting(sender, lanes)) == alone
    assert alone.left.num_rows == 3 * len([*DELETED, *CHANGED])
    assert alone.whole.num_rows == 3 * len(DELETED)
    for piece in alone.pieces:
        assert (root / piece.file.path).read_bytes() == (here / piece.file.path).read_bytes()
    assert list(sender.folder.iterdir()) == []


def rewritten(sender: Sender) -> int:
    """Return how many buckets workers have rewritten."""
    return sum(one.counts.buckets for one in sender.receipts)


def touched() -> int:
    return len({bucket_of(document_key(uri), BUCKETS) for uri in [*DELETED, *CHANGED, *ADDED]})


@pytest.mark.parametrize("at_once", [1, 1000])
def test_workers_make_the_files_that_the_driver_would_make(
    tmp_path: Path, base: tuple[StoredFile, ...], sender: Sender, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    if at_once == 1:  # each pass over the new rows has one bucket, which is for the driver
        monkeypatch.setattr(rewrite_buckets, "_ROWS_AT_ONCE", at_once)
    compare(tmp_path, base, sender)
    assert rewritten(sender) == (0 if at_once == 1 else touched())
    assert [line for line in sender.news if ": failed: " in line] == []
    assert all(size < 10_000 for size in sender.parcels)
    freight = sender.freight
    assert {entry.key.split("/")[2] for entry in freight._objects.listing()} <= {"done"}
    assert take_over(freight, tmp_path / "store") == 0
    assert freight._objects.listing() == []
    settle()


def test_a_worker_reads_the_old_files_from_the_store_or_is_sent_them(
    tmp_path: Path, base: tuple[StoredFile, ...], sender: Sender
) -> None:
    near = replace(sender, store=str(tmp_path / "store"))
    compare(tmp_path, base, near)
    assert rewritten(near) == touched()
    parcels = -(-touched() // remote_rewriting.BUCKETS_EACH)
    assert [one.outcome for one in near.receipts] == ["done"] * parcels
    far = replace(near, store=str(tmp_path / "nowhere"), receipts=[], sent=[])
    compare(tmp_path, base, far)
    assert sorted(one.outcome for one in far.receipts) == ["asks"] * parcels + ["done"] * parcels
    assert rewritten(far) == touched()
    assert sum(near.sent) < sum(far.sent) - sum(near.sent), "old files are sent only where they are asked for"


def test_what_a_dead_driver_has_left_of_rewrites_is_swept(
    tmp_path: Path, base: tuple[StoredFile, ...], sender: Sender
) -> None:
    def unheard(step: str, parcel: bytes) -> bytes:
        carry(step, parcel)
        raise WorkerLost("lone")

    sender.cluster = Answering(unheard)
    compare(tmp_path, base, sender)
    assert {entry.key.split("/")[2] for entry in sender.freight._objects.listing()} == {"sent", "made", "done"}
    assert take_over(sender.freight, tmp_path / "store") == 0
    assert sender.freight._objects.listing() == []


def receipt(outcome: str) -> Answer:
    return lambda _step, _parcel: encode(Receipt(outcome, "lone", "as said"))


def lost(step: str, parcel: bytes) -> bytes:
    del step, parcel
    raise WorkerLost("lone", "there")


def nobody(step: str, parcel: bytes) -> bytes:
    del step, parcel
    raise Transient("no worker came")


def silence(step: str, parcel: bytes) -> bytes:
    del step, parcel
    return b"nothing that can be read"


def spoiled(spoil: Callable[[bytes], bytes]) -> Answer:
    """Return what changes a result after its receipt is written, as a bad disk does."""

    def answer(step: str, parcel: bytes) -> bytes:
        data = carry(step, parcel)
        done: Receipt = decode(data, Readers().of(Receipt))
        task: Parcel = decode(parcel, Readers().of(tuple[str, Parcel]))[1]
        path = Path(task.freight) / done.key
        path.write_bytes(spoil(path.read_bytes()))
        return data

    return answer


def lying(lie: Callable[[Exchanged], Exchanged]) -> Answer:
    """Return a worker that makes something else, and vouches for it."""

    def answer(step: str, parcel: bytes) -> bytes:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                rewriting, "rewrite_here", lambda root, change: lie(rewrite_buckets.rewrite_here(root, change))
            )
            return carry(step, parcel)

    return answer


def without_a_file(done: Exchanged) -> Exchanged:
    return replace(done, pieces=done.pieces[1:])


def of_another_bucket(done: Exchanged) -> Exchanged:
    return replace(done, pieces=tuple(replace(piece, bucket=piece.bucket + 100) for piece in done.pieces))


def with_a_wrong_count(done: Exchanged) -> Exchanged:
    first, second, *rest = done.pieces
    counts = (replace(first, rows=first.rows - 1), replace(second, rows=second.rows + 1))
    return replace(done, pieces=(*counts, *rest)) if rest else done


def without_what_was_deleted(done: Exchanged) -> Exchanged:
    return replace(done, whole=done.whole.slice(0, 0))


def with_other_columns(done: Exchanged) -> Exchanged:
    return replace(done, left=done.left.select(["document_id"]))


@pytest.mark.parametrize(
    "answer",
    [
        receipt("transient"),
        receipt("failed"),
        lost,
        nobody,
        silence,
        spoiled(lambda data: data[: len(data) // 2]),
        spoiled(lambda data: data.replace(b"PAR1", b"PAR2")),
        lying(without_a_file),
        lying(of_another_bucket),
        lying(with_other_columns),
    ],
)
def test_the_driver_rewrites_what_a_worker_does_not_or_does_wrong(
    tmp_path: Path, base: tuple[StoredFile, ...], sender: Sender, answer: Answer
) -> None:
    sender.cluster = Answering(answer)
    compare(tmp_path, base, sender, lanes=1)
    said = [line for line in sender.news if ": failed: " in line]
    # Several parcels of one death are one failure.
    most = -(-touched() // remote_rewriting.BUCKETS_EACH) if answer is lost else remote_rewriting.MOST_FAILURES
    assert len(said) == len(sender.cluster.parcels) == most
    assert sender.news[-1] == f"the driver rewrites {touched()} buckets of chunks itself"


@pytest.mark.parametrize("lie", [with_a_wrong_count, without_what_was_deleted])
def test_a_result_that_contradicts_itself_is_thrown_away(
    tmp_path: Path, base: tuple[StoredFile, ...], sender: Sender, lie: Callable[[Exchanged], Exchanged]
) -> None:
    sender.cluster = Answering(lying(lie))
    compare(tmp_path, base, sender)
    assert [line for line in sender.news if ": failed: " in line]


def test_a_worker_with_another_pyarrow_rewrites_nothing(
    tmp_path: Path, base: tuple[StoredFile, ...], sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(step: str, parcel: bytes) -> bytes:
        with monkeypatch.context() as patch:
            patch.setattr(pa, "__version__", "0.1")
            return carry(step, parcel)

    sender.cluster = Answering(answer)
    compare(tmp_path, base, sender, lanes=1)  # with more, the driver would have that version, too
    assert rewritten(sender) == 0
    assert any("pyarrow: 0.1 there" in line for line in sender.news)


def test_a_file_of_the_store_that_is_damaged_goes_into_no_new_one(
    tmp_path: Path, base: tuple[StoredFile, ...], sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(root: Path, change: rewrite_buckets.TableChange) -> Exchanged:
        raise StoreError(f"{len(change.buckets)} buckets of {root} are left to the driver")

    for piece in base:
        path = tmp_path / "store" / piece.file.path
        data = bytearray(path.read_bytes())
        data[8] ^= 1
        path.write_bytes(data)
    monkeypatch.setattr(remote_rewriting, "rewrite_here", here)
    with pytest.raises(StoreError, match=r"3 buckets of .* are left to the driver"):
        exchanged(tmp_path / "store", base, remote_rewriting.remote_rewriting(sender, 2))
    assert rewritten(sender) == 0
    assert any("does not have the content that was written" in line for line in sender.news)


def test_a_run_that_was_stopped_rewrites_nothing_more(
    tmp_path: Path, base: tuple[StoredFile, ...], sender: Sender
) -> None:
    before = sorted((tmp_path / "store" / "tables").rglob("*"))

    def interrupted(step: str, parcel: bytes) -> bytes:
        del step, parcel
        with pytest.raises(KeyboardInterrupt), sender.going():
            raise KeyboardInterrupt
        raise Transient("the scheduler lost a step; run again")

    sender.cluster = Answering(interrupted)
    with pytest.raises(Transient, match="stopped before its commit"):
        exchanged(tmp_path / "store", base, remote_rewriting.remote_rewriting(sender, 1))
    assert len(sender.cluster.parcels) == 1
    assert sorted((tmp_path / "store" / "tables").rglob("*")) == before


def test_the_files_of_a_worker_are_forgotten_with_its_folder(
    base: tuple[StoredFile, ...], sender: Sender, tmp_path: Path
) -> None:
    settle()
    exchanged(tmp_path / "store", base, remote_rewriting.remote_rewriting(sender, 2))
    assert files._unsettled
    assert all(path.is_relative_to(tmp_path / "store") for path in files._unsettled)
