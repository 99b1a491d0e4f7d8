"""Reembed changes the vectors of a store: readers keep the old ones until one snapshot has all of the new."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.cli.terminal import progress
from docmill.flows.runs.phases import Phase
from docmill.storage import failpoints
from docmill.storage.errors import StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.encode import encoder, space
from docmill.storage.search.encode.space import EmbeddingSpace, describe_model
from docmill.storage.snapshots.change.restoring import undelete
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.tasks.publishing import reembed as module
from docmill.tasks.publishing.reembed import CommitTerms, Reembedded, reembed
from tests.kit.fake_encoder import NAME, TokenCounts, write_model
from tests.kit.remote_bench import RemoteBench
from tests.kit.victim import Countdown, Places, at_boundaries
from tests.kit.workbench import Workbench, summary

WIDE = "wide-token-counts"
TERMS = CommitTerms(Retention())
PAGES: dict[str, str | bytes] = {
    f"{name}.md": f"# {name}\n\nThe {name} bird has {count} eggs.\n" for count, name in enumerate(("owl", "tit"))
}


class Wide(TokenCounts):
    """Counts the texts that it embeds, and fails once it has embedded enough."""

    embedded = 0
    most = 1_000_000

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        if Wide.embedded + len(rows) > Wide.most:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        Wide.embedded += len(rows)
        return super().embed(rows)


@pytest.fixture
def wide(fake_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddingSpace:
    """Return the space of another model, of 24 dimensions."""
    del fake_model
    folder = write_model(tmp_path / WIDE, dimension=24)
    monkeypatch.setitem(space.FOLDERS, WIDE, lambda: folder)
    monkeypatch.setitem(encoder.LOADERS, WIDE, Wide)
    monkeypatch.setattr(encoder, "_LOADED", {})
    monkeypatch.setattr(Wide, "embedded", 0)
    return describe_model(WIDE)


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("laid"), {"embedding": {"model": fake_model}})
    made.write(PAGES | {"gone.md": "# Gone\n\nThis page goes.\n"})
    made.ingest()
    (made.docs / "gone.md").unlink()
    made.ingest(allow_delete=True)
    return made


@pytest.fixture
def bench(laid: Workbench, wide: EmbeddingSpace, tmp_path: Path) -> Workbench:
    assert wide.dimension == 24
    return laid.copy(tmp_path / "bench")


def found(store: Store, text: str) -> set[str]:
    """Return the documents of the chunks nearest to a text."""
    return {hit.uri for hit in store.search(text, k=9, mode="vector")}


def test_reembedding_changes_the_vectors_and_nothing_else(bench: Workbench, wide: EmbeddingSpace) -> None:
    before, reader = bench.chunks(), open_store(bench.root)
    done = reembed(bench.root, wide, TERMS)
    assert done.published is not None
    assert (done.embedded, done.published.snapshot) == (3, 3)
    assert verify(bench.root, deep=True) == []
    assert snapshots.read(bench.root).space == wide
    assert [(row.chunk_id, row.text) for row in bench.chunks()] == [(row.chunk_id, row.text) for row in before]
    assert found(open_store(bench.root), "owl") == set(PAGES)
    assert found(reader, "owl") == set(PAGES), "a reader keeps its snapshot"
    assert "gone.md" in found(open_store(bench.root, 1), "page goes")
    assert reembed(bench.root, wide, TERMS) == Reembedded(0, None)
    assert open_store(bench.root).history()[-1]["run_id"].endswith("-reembed")


def test_what_was_deleted_before_comes_back_with_a_new_vector(bench: Workbench, wide: EmbeddingSpace) -> None:
    reembed(bench.root, wide, TERMS)
    undelete(bench.root, ["gone.md"], Retention())
    assert verify(bench.root, deep=True) == []
    assert "gone.md" in found(open_store(bench.root), "page goes")
    assert Wide.embedded == 3 + 1, "two pages, the deleted one, and a query"


def test_the_next_ingest_with_the_new_model_has_nothing_to_do(bench: Workbench, wide: EmbeddingSpace) -> None:
    reembed(bench.root, wide, TERMS)
    with pytest.raises(StoreError, match="docmill reembed"):
        bench.ingest()
    bench.settings["embedding"] = {"model": WIDE}
    assert summary(bench.ingest()) == {"unchanged": 2}
    bench.write({"new.md": "# New\n\nA page more.\n"})
    assert summary(bench.ingest()) == {"added": 1, "unchanged": 2, "parsed": 1, "embedded": 1}
    assert verify(bench.root, deep=True) == []


def test_a_run_that_fails_halfway_goes_on_where_it_was(
    bench: Workbench, wide: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TEXTS_AT_ONCE", 1)
    with monkeypatch.context() as limited:
        limited.setattr(Wide, "most", 2)
        with pytest.raises(OSError, match="error"):
            reembed(bench.root, wide, TERMS)
    assert snapshots.read(bench.root).space != wide
    assert found(bench.store, "owl") == set(PAGES)
    assert verify(bench.root, deep=True) == []
    assert reembed(bench.root, wide, TERMS).embedded == 1
    assert Wide.embedded == 3
    assert verify(bench.root, deep=True) == []


def test_an_ingest_between_two_attempts_takes_no_vector_away(
    bench: Workbench, wide: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TEXTS_AT_ONCE", 1)
    monkeypatch.setattr(Wide, "most", 2)
    with pytest.raises(OSError, match="error"):
        reembed(bench.root, wide, TERMS)
    bench.write({"new.md": "# New\n\nA page more.\n"})
    bench.ingest()
    monkeypatch.setattr(Wide, "most", 9)
    assert reembed(bench.root, wide, TERMS).embedded == 2
    assert verify(bench.root, deep=True) == []


def test_compaction_keeps_vectors_of_two_dimensions_apart(bench: Workbench, wide: EmbeddingSpace) -> None:
    reembed(bench.root, wide, TERMS)
    compact(bench.root, Retention())
    assert verify(bench.root, deep=True) == []
    assert "gone.md" in found(open_store(bench.root, 1), "page goes")
    compact(bench.root, Retention(keep_snapshots=1, undelete_days=0))
    assert verify(bench.root, deep=True) == []
    assert len(list((bench.root / "vectors").glob("*.lance"))) == 1, "the old space is gone with its snapshots"


def test_a_model_that_takes_fewer_tokens_than_a_chunk_has_is_refused_at_once(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_model(tmp_path / "short", dimension=24, tokens=8)
    monkeypatch.setitem(space.FOLDERS, WIDE, lambda: folder)
    with pytest.raises(StoreError, match="wide-token-counts takes 8"):
        reembed(bench.root, describe_model(WIDE), TERMS)
    assert Wide.embedded == 0
    assert snapshots.read(bench.root).number == 2


def test_late_vectors_are_made_in_the_windows_that_the_ingest_noted(wide: EmbeddingSpace, tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "late", settings={"embedding": {"model": NAME, "late": True}})
    bench.write(PAGES)
    bench.ingest()
    with pytest.raises(StoreError, match="ingest into a new store"):
        reembed(bench.root, wide, TERMS)
    assert reembed(bench.root, space.late_space(wide), TERMS).embedded == 2
    assert verify(bench.root, deep=True) == []


def test_the_command_tells_how_fast_it_gets_on(
    bench: Workbench, wide: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Phase] = []
    monkeypatch.setattr(module, "_TEXTS_AT_ONCE", 1)
    monkeypatch.setattr(progress, "progress_shown", lambda _: nullcontext(shown.append))
    arguments = ["reembed", "--model", WIDE, "--store", str(bench.root)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert [phase.done for phase in shown] == [0, 1, 2, 3]
    assert [phase.rate > 0 for phase in shown] == [False, False, True, True], wide


def test_the_command_says_what_it_did(bench: Workbench) -> None:
    arguments = ["reembed", "--model", WIDE, "--store", str(bench.root)]
    first, second = (CliRunner().invoke(app, arguments) for _ in range(2))
    assert first.exit_code == second.exit_code == 0, first.output
    assert "snapshot 3 has the vectors of wide-token-counts, 3 newly embedded" in first.output
    assert "already" in second.output


@pytest.fixture
def unwatched() -> Iterator[None]:
    yield
    failpoints.watch = None


@pytest.mark.slow
@pytest.mark.usefixtures("unwatched")
@at_boundaries
def test_an_error_of_the_disk_at_any_boundary_harms_nothing(
    bench: Workbench, wide: EmbeddingSpace, tmp_path: Path, places: Places
) -> None:
    def fresh() -> Path:
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(bench.root, tmp_path / "copy", symlinks=True)
        return tmp_path / "copy"

    def watched(root: Path, at: int, act: Callable[[], None]) -> list[str]:
        failpoints.watch = countdown = Countdown(at, act)
        try:
            reembed(root, wide, TERMS)
        finally:
            failpoints.watch = None
        return countdown.seen

    def fail() -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    for at in places(watched(fresh(), 0, fail)):
        root = fresh()
        with pytest.raises((StoreError, OSError)):
            watched(root, at, fail)
        assert found(open_store(root), "owl") == set(PAGES)
        reembed(root, wide, TERMS)
        assert verify(root, deep=True) == []
        assert snapshots.read(root).space == wide


def test_a_store_on_an_object_store_changes_its_model_for_all_machines(wide: EmbeddingSpace, far: RemoteBench) -> None:
    far.write(PAGES)
    far.ingest()
    reader = far.on("two").store
    open_folder(far.on("three").root).refresh()
    done = reembed(far.on("three").root, wide, TERMS)
    assert (done.embedded, done.published and done.published.snapshot) == (2, 2)
    assert found(reader, "owl") == found(far.store, "owl") == set(PAGES)
    assert (reader.snapshot.space.model, far.store.snapshot.space.model) == (NAME, WIDE)
    assert verify(far.root, deep=True) == []
    far.settings["embedding"] = {"model": WIDE}
    assert far.ingest().snapshot is None
