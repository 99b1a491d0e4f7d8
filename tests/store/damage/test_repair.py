"""What is lost or damaged is found by name, and rebuilt where anything is left to build it from."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import numpy.typing as npt
import pytest

from docmill.storage.errors import StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.keywords import keyword_writer
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.snapshots import Snapshot, path_of
from docmill.storage.snapshots.write.posting_rows import stored_rows
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench, all_is_past

pytestmark = pytest.mark.usefixtures("fake_model", "no_writer")

DOCUMENTS = {f"page-{i}.md": f"# Page {i}\n\nThe knob of page {i} is number{i}.\n" for i in range(6)}


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("laid"))
    made.write({**DOCUMENTS, "bad.html": ""})
    made.ingest()
    made.write({"page-0.md": "# Page 0\n\nAnother knob.\n"})
    made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path)


def never(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    pytest.fail(f"embedded {texts}")


def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    return load_encoder(NAME).encode(list(texts))


def hits(bench: Workbench) -> list[dict[str, Any]]:
    return [asdict(hit) for query in ("knob", "number3", "page") for hit in bench.store.search(query, k=4)]


def flip(path: Path) -> None:
    """Turn one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()  # current/ has the same file under another name
    path.write_bytes(data)


def newest(bench: Workbench) -> Snapshot:
    return snapshots.read(bench.root)


def rewrite(bench: Workbench, **changes: Any) -> None:
    """Make the newest snapshot say something else."""
    path = path_of(bench.root, newest(bench).number)
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes, default=asdict))


def lance(bench: Workbench) -> Any:
    return lancedb.connect(bench.root / "vectors").open_table(newest(bench).vectors.table)


def remove_folders(bench: Workbench, *names: str) -> None:
    for name in names:
        shutil.rmtree(bench.root / name)


def flip_postings(bench: Workbench) -> None:
    for path in (bench.root / "keywords").iterdir():
        flip(path)


def delete_tags(bench: Workbench) -> None:
    for tag in lance(bench).tags.list():
        lance(bench).tags.delete(tag)


def drop_table(bench: Workbench) -> None:
    lancedb.connect(bench.root / "vectors").drop_table(newest(bench).vectors.table)


def overwrite_table(bench: Workbench) -> None:
    rows = lance(bench).to_arrow().slice(0, 2)
    lancedb.connect(bench.root / "vectors").create_table(newest(bench).vectors.table, rows, mode="overwrite")


def restore_table(bench: Workbench) -> None:
    table = lance(bench)
    table.checkout(2)
    table.restore()


def empty_table(bench: Workbench) -> None:
    drop_table(bench)
    overwritten = lancedb.connect(bench.root / "vectors")
    overwritten.create_table(newest(bench).vectors.table, schema=lance_schema())


def lance_schema() -> Any:
    from docmill.storage.search.vectors.fence import schema

    return schema(16)


ACCIDENTS: dict[str, Callable[[Workbench], object]] = {
    "vectors are removed": lambda bench: remove_folders(bench, "vectors"),
    "postings are removed": lambda bench: remove_folders(bench, "keywords"),
    "both are removed": lambda bench: remove_folders(bench, "vectors", "keywords"),
    "one posting file is removed": lambda bench: next((bench.root / "keywords").glob("*.postings.arrow")).unlink(),
    "postings are flipped": flip_postings,
    "the table is dropped": drop_table,
    "the table is overwritten": overwrite_table,
    "the table is restored": restore_table,
    "the table is another one": empty_table,
    "the tags are deleted": delete_tags,
    "current is removed": lambda bench: remove_folders(bench, ".current"),
    "the link is removed": lambda bench: (bench.root / "current").unlink(),
}


QUICK = ("both are removed", "the table is overwritten")


def slow(value: Any, quick: bool) -> Any:
    """Return a parameter of a test, marked as slow unless it is one of the quick ones."""
    return value if quick else pytest.param(value, marks=pytest.mark.slow)


@pytest.mark.parametrize("accident", [slow(name, name in QUICK) for name in ACCIDENTS])
def test_an_index_is_rebuilt_without_embedding_and_finds_the_same(bench: Workbench, accident: str) -> None:
    before, chunks = hits(bench), bench.chunks()
    ACCIDENTS[accident](bench)
    found = verify(bench.root, deep=True)
    assert all("docmill repair" in finding.mend for finding in found)
    done = repair(bench.root, never)
    assert bool(done.done) == bool(found)
    assert done.lost == []
    assert verify(bench.root, deep=True) == []
    assert hits(bench) == before
    assert bench.chunks() == chunks
    bench.write({"more.md": "# More\n\nA page more.\n"})
    assert bench.ingest().embedded == 1
    assert verify(bench.root, deep=True) == []


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize("harm", [flip, *(slow(harm, quick=False) for harm in (Path.unlink, cut))])
@pytest.mark.parametrize(
    "folder",
    ["tables/chunks", "artifacts/texts", *map(slow, ("tables/documents", "artifacts/embeddings"), (False, False))],
)
def test_a_damaged_file_is_named_and_what_hangs_on_it_comes_back(bench: Workbench, folder: str, harm: Any) -> None:
    before, chunks = hits(bench), bench.chunks()
    named = {
        p.file.path for pieces in (*newest(bench).tables.values(), *newest(bench).artifacts.values()) for p in pieces
    }
    path = sorted(name for name in named if name.startswith(folder))[0]
    harm(bench.root / path)
    assert any(path in finding.message for finding in verify(bench.root, deep=True))
    embedded: list[str] = []

    def count(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        embedded.extend(texts)
        return encode(texts)

    lossy = folder != "artifacts/embeddings"
    if lossy:
        before_it = sorted(path.name for path in (bench.root / "snapshots").iterdir())
        asked = repair(bench.root, count)
        assert (bool(asked.at_stake), asked.lost) == (True, [])
        assert sorted(path.name for path in (bench.root / "snapshots").iterdir()) == before_it
    done = repair(bench.root, count, accept_loss=lossy)
    assert bool(embedded) == (folder == "artifacts/embeddings")
    assert bool(done.lost) == (folder != "artifacts/embeddings")
    report = bench.ingest()
    assert report.embedded == 0
    assert all_is_past(bench)
    assert hits(bench) == before
    assert bench.chunks() == chunks


def test_a_damaged_table_of_rejects_or_runs_is_told_and_left_behind(bench: Workbench) -> None:
    for name in ("rejects", "runs"):
        flip(bench.root / newest(bench).tables[name][0].file.path)
    assert sorted(repair(bench.root, never, accept_loss=True).lost) == ["the rows of rejects", "the rows of runs"]
    assert bench.ingest().documents.rejected == 1
    assert all_is_past(bench)


def test_a_snapshot_that_was_cut_short_is_named(bench: Workbench) -> None:
    path = path_of(bench.root, 2)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StoreError, match=r"000002\.json is not a snapshot: .*restore it from a copy or remove it"):
        verify(bench.root)
    path.unlink()
    assert bench.store.snapshot.number == 1
    bench.ingest()
    assert verify(bench.root, deep=True) == []


def test_vectors_of_another_space_are_found(bench: Workbench) -> None:
    rewrite(bench, space=replace(newest(bench).space, revision="f" * 32))
    kinds = {finding.kind for finding in verify(bench.root, deep=True)}
    assert {"vectors", "space"} <= kinds


def test_counts_that_disagree_are_found(bench: Workbench) -> None:
    rewrite(bench, keywords=replace(newest(bench).keywords, rows=99))
    assert [finding.kind for finding in verify(bench.root)] == ["keywords"]
    assert repair(bench.root, never).done
    assert verify(bench.root, deep=True) == []


def test_fields_that_the_index_counts_otherwise_are_found_by_a_deep_look(bench: Workbench) -> None:
    rows = stored_rows(open_folder(bench.root).existing().read())
    texts = [(chunk_id, fields._replace(headings="", title="other words")) for chunk_id, fields in rows]
    rewrite(bench, keywords=keyword_writer.rebuild(bench.root, texts))
    assert verify(bench.root) == []
    (found,) = verify(bench.root, deep=True)
    assert (found.kind, found.message) == ("keywords", f"{len(texts)} chunks have other words than the index counted")
    assert repair(bench.root, never).done
    assert verify(bench.root, deep=True) == []


def test_a_vector_that_is_not_its_texts_is_found_by_a_deep_look(bench: Workbench) -> None:
    table = lance(bench)
    table.update(where="true", values={"vector": [1.0] + 15 * [0.0]})
    table.tags.update(f"snapshot-{newest(bench).number:06d}", table.version)
    rewrite(bench, vectors=replace(newest(bench).vectors, version=table.version))
    assert verify(bench.root) == []
    (finding,) = verify(bench.root, deep=True)
    assert "6 vectors of the index are not those of their texts; docmill repair" in str(finding)
    repair(bench.root, never)
    assert verify(bench.root, deep=True) == []
