"""A run that is killed while it embeds repeats one portion of texts at most."""

import random
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.artifacts.packs import pack_embeddings
from docmill.storage.snapshots.artifacts.staging import embed_in_portions, settled_tokens
from docmill.storage.snapshots.clean.verify import verify
from tests.kit.counting_encoder import counted, ingest_counted
from tests.kit.victim import start
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")
TEXTS = 1500
SMALL = {"routes": [{"glob": "*", "strategy": "recursive", "options": {"size": 16}}]}


def lines(count: int) -> str:
    """Return a text of that many chunks, each of one line."""
    return "\n\n".join(f"Bird {i} sings {'and sings ' * (i % 3)}on a tree here." for i in range(count))


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, token_counts_folder: Path) -> Workbench:
    """Return a bench whose first ingest has ended before the first text was embedded."""
    made = Workbench(tmp_path_factory.mktemp("laid"), SMALL)
    made.write({"birds.txt": lines(TEXTS)})
    (made.folder / "last").write_text("1")
    end(made, token_counts_folder)
    (made.folder / "counted").unlink()
    assert staging.batches(made.root)
    assert not staging.embedding_packs(made.root)
    return made


def end(bench: Workbench, model: Path) -> None:
    process = start(ingest_counted, bench, model)
    process.join()
    process.close()


@pytest.mark.parametrize("left", [(), ("chunks", "texts", "figures"), ("documents",)], ids=lambda left: len(left))
def test_a_batch_that_a_killed_process_has_partly_removed_is_made_again(
    laid: Workbench, tmp_path: Path, left: tuple[str, ...]
) -> None:
    bench = laid.copy(tmp_path / "bench")
    for file in (path for batch in staging.batches(bench.root) for path in batch.folder.iterdir()):
        if file.stem not in left:
            file.unlink()
    assert bench.ingest().parsed == 1
    assert bench.store.snapshot.rows("chunks") == TEXTS
    assert staging.batches(bench.root) == []


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_a_kill_at_a_random_moment_costs_one_portion(
    laid: Workbench, tmp_path: Path, token_counts_folder: Path, kills: int
) -> None:
    rng = random.Random(13)
    for number in range(kills):
        bench = laid.copy(tmp_path / str(number))
        last = rng.randrange(1, TEXTS)
        (bench.folder / "last").write_text(str(last))
        end(bench, token_counts_folder)
        assert last <= counted(bench.folder / "counted") < TEXTS
        (bench.folder / "last").unlink()
        end(bench, token_counts_folder)
        assert bench.store.snapshot.rows("chunks") == TEXTS
        assert counted(bench.folder / "counted") - TEXTS <= staging.PORTION_TEXTS
        assert verify(bench.root) == []


def numbered(count: int) -> pa.Table:
    """Return rows to embed, each of 3 tokens."""
    return pa.table({"number": [*range(count)], "tokens": [3] * count})


def pack(rows: pa.Table) -> pa.Table:
    """Return the pack of rows whose vectors are their numbers."""
    numbers = rows.column("number").to_pylist()
    return pack_embeddings(list(map(str, numbers)), np.array([[number, 1] for number in numbers], np.float32))


def test_portions_end_as_one_pack_in_the_order_of_the_rows(tmp_path: Path) -> None:
    done = embed_in_portions(numbered(1000), pack, tmp_path / "embeddings-7.parquet")
    assert done.rows == 1000
    assert [path.name for path in tmp_path.iterdir()] == ["embeddings-7.parquet"]
    assert pq.read_table(tmp_path / "embeddings-7.parquet").column("key").to_pylist() == [*map(str, range(1000))]


def test_the_tokens_of_finished_portions_are_known_while_others_are_embedded(tmp_path: Path) -> None:
    target, seen = tmp_path / "embeddings-7.parquet", []

    def watched(rows: pa.Table) -> pa.Table:
        seen.append((rows["number"][0].as_py(), settled_tokens(target)))
        return pack(rows)

    embed_in_portions(numbered(1000), watched, target)
    assert len(seen) > 3
    assert all(tokens == 3 * before for before, tokens in seen)


def test_a_slow_model_gets_portions_of_fewer_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PORTION_S", 0.02)
    sizes = []

    def slow(rows: pa.Table) -> pa.Table:
        sizes.append(rows.num_rows)
        time.sleep(0.004 * rows.num_rows)
        return pack(rows)

    embed_in_portions(numbered(60), slow, tmp_path / "embeddings-7.parquet")
    assert max(sizes[1:]) <= 5


def test_what_is_left_when_the_time_is_over_is_embedded_later(tmp_path: Path) -> None:
    rows = numbered(1000)
    done = embed_in_portions(rows, pack, tmp_path / "embeddings-7.parquet", seconds=0.0)
    assert 0 < done.rows <= staging.PORTION_TEXTS, "a run that never has time gets on nevertheless"
    assert pq.read_metadata(tmp_path / "embeddings-7.parquet").num_rows == done.rows


def test_a_second_try_keeps_the_portions_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "embeddings-7-00004.parquet").write_bytes(b"of the first try")
    embed_in_portions(numbered(1000), pack, tmp_path / "embeddings-7.parquet")
    assert (tmp_path / "embeddings-7-00004.parquet").read_bytes() == b"of the first try"


def test_a_failure_leaves_the_finished_portions(tmp_path: Path) -> None:
    def fail_late(rows: pa.Table) -> pa.Table:
        if rows.column("number")[0].as_py() > 400:
            raise OSError("the model is gone")
        return pack(rows)

    with pytest.raises(OSError, match="gone"):
        embed_in_portions(numbered(1000), fail_late, tmp_path / "embeddings-7.parquet")
    kept = sum(pq.read_metadata(path).num_rows for path in tmp_path.glob("embeddings-*.parquet"))
    assert 400 < kept <= 400 + staging.PORTION_TEXTS
