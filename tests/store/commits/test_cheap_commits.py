"""What a commit skips, to be cheap, it knows all the same: what left the tables, and the counts of the postings."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.errors import StoreError
from docmill.storage.keys import bucket_of, document_key
from docmill.storage.schema_evolution import conform
from docmill.storage.search.keywords.keyword_writer import rebuild, update
from docmill.storage.search.keywords.segments import postings
from docmill.storage.search.keywords.segments.build import build
from docmill.storage.search.keywords.segments.chunk_fields import ChunkFields
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.tables.rewrite_buckets import BucketTable, Leaving, exchange_documents, replace_documents
from docmill.storage.snapshots.tables.tables import partition, read_stored_file
from tests.kit.workbench import MakeBench

BUCKETS, EACH = 4, 3
URIS = [f"{number}.md" for number in range(30)]


def rows(uris: list[str], text: str = "") -> pa.Table:
    named = [
        {"document_id": document_key(uri), "uri": uri, "ordinal": ordinal, "text": f"{text}{uri} {ordinal}"}
        for uri in uris
        for ordinal in range(EACH)
    ]
    return conform(pa.Table.from_pylist(named, CHUNKS), CHUNKS) if named else CHUNKS.empty_table()


def sorted_rows(table: pa.Table) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = table.sort_by([("document_id", "ascending"), ("ordinal", "ascending")]).to_pylist()
    return rows


@pytest.mark.parametrize("gone", [[], URIS[3:4], URIS[::2], URIS])
def test_an_exchange_hands_over_what_it_has_read(tmp_path: Path, gone: list[str]) -> None:
    before = replace_documents(tmp_path, (), "chunks", BUCKETS, [], rows(URIS))
    deleted, changed = gone[::2], gone[1::2]
    leaving = Leaving([*map(document_key, gone)], ["document_id", "text"], [*map(document_key, deleted)])
    made = exchange_documents(tmp_path, BucketTable("chunks", before, BUCKETS), leaving, rows(changed, "new "))
    assert sorted(made.left["text"].to_pylist()) == sorted(rows(gone)["text"].to_pylist())
    assert made.left.column_names == ["document_id", "text"]
    assert sorted_rows(made.whole) == sorted_rows(rows(deleted))
    stayed = [uri for uri in URIS if uri not in gone]
    wanted = pa.concat_tables([rows(stayed), rows(changed, "new ")])
    found = pa.concat_tables([CHUNKS.empty_table(), *(read_stored_file(tmp_path, piece) for piece in made.pieces)])
    assert sorted_rows(found) == sorted_rows(wanted)
    assert made.pieces == replace_documents(tmp_path, (), "chunks", BUCKETS, [], wanted), "equal rows make equal files"


def test_rows_of_a_bucket_keep_their_order() -> None:
    table = rows(URIS)
    for bucket, part in partition(table, BUCKETS).items():
        own = [bucket_of(key, BUCKETS) == bucket for key in table["document_id"].to_pylist()]
        assert part.to_pylist() == table.filter(pa.array(own)).to_pylist()


def fields(number: int, turn: int) -> ChunkFields:
    words = [f"word{number * step % 17}" for step in range(1, 3 + (number + turn) % 5)]
    title, phrasings = "A title " * (number % 2), f"What is word{number}?" * (number % 4 == 0)
    return ChunkFields(" ".join(words), "", f"Heading {number % 3}", title, f"page-{number}.md", phrasings)


def test_the_counts_of_all_fields_are_those_of_a_new_index(tmp_path: Path) -> None:
    held = {f"chunk-{number:03d}": fields(number, 0) for number in range(60)}
    state = rebuild(tmp_path, held.items())
    for turn in range(1, 12):
        gone = sorted(held)[turn::9]
        changed = {f"chunk-{number:03d}": fields(number, turn) for number in range(turn, 60, 7)}
        state = update(tmp_path, state, gone, changed.items())
        held = {key: one for key, one in held.items() if key not in gone} | changed
        fresh = rebuild(tmp_path / "fresh", held.items())
        assert (state.rows, state.tokens, state.side_tokens) == (fresh.rows, fresh.tokens, fresh.side_tokens)
        assert min(state.side_tokens[1:]) > 0, "each field but the context has terms"


@pytest.mark.parametrize("rows_of", [range(40, 44), range(0, 300, 7), [0, 299], [5]])
def test_postings_are_found_whether_their_rows_are_close_or_scattered(
    tmp_path: Path, rows_of: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "_SLICE", 100)
    ((made, _),) = build(tmp_path, ((f"chunk-{number:03d}", fields(number, 1)) for number in range(300)), "english")
    wanted = np.array(rows_of, np.int32)
    assert made.entries_of(wanted).tolist() == np.flatnonzero(np.isin(made.rows, wanted)).tolist()


def test_a_snapshot_is_parsed_once_for_each_content_of_its_file(
    make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = snapshots.path_of(make_bench({"a.md": "# A\n\nText.\n"}).root, 1)
    whole = path.read_bytes()
    assert snapshots.decode(path) is snapshots.decode(path)
    assert 10 * len(whole) < snapshots._LARGEST_KEPT, "that of a store with ten times as many files"
    path.write_bytes(whole.replace(b'"rows": 1', b'"rows": 2', 1))
    with pytest.raises(StoreError, match="its checksum is wrong"):
        snapshots.decode(path)
    path.write_bytes(whole)
    monkeypatch.setattr(snapshots, "_LARGEST_KEPT", len(whole) - 1)
    assert snapshots.decode(path) is not snapshots.decode(path)
