"""Packs give rows back by key, in the order asked for, over any number of files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import StoreError
from docmill.storage.schema import Element, Parsed
from docmill.storage.snapshots.artifacts import packs, staging
from docmill.storage.snapshots.artifacts.packs import (
    Packs,
    decode_parsed,
    pack_embeddings,
    pack_figures,
    pack_texts,
    write_pack,
)
from tests.kit.drawing import examples


def write_vectors(path: Path, keys: list[str]) -> Path:
    vectors = np.array([[float(key), 1.0] for key in keys], dtype=np.float32).reshape(len(keys), 2)
    write_pack(path, pack_embeddings(keys, vectors), "embeddings")
    return path


@examples(30)
@given(st.lists(st.integers(0, 5999), min_size=1, max_size=50))
def test_rows_come_in_the_order_of_the_keys(tmp_path_factory: pytest.TempPathFactory, wanted: list[int]) -> None:
    folder = tmp_path_factory.mktemp("packs")
    packs = Packs(
        [
            write_vectors(folder / "a", [str(i) for i in range(3000)]),
            write_vectors(folder / "b", [str(i) for i in range(2900, 6000)]),  # overlaps the first
        ]
    )
    found = packs.take([str(i) for i in wanted])
    assert found.column("key").to_pylist() == [str(i) for i in wanted]
    assert [row[0] for row in found.column("vector").to_pylist()] == wanted


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_rows_of_many_groups_are_read_few_groups_at_a_time(
    tmp_path: Path, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packs, "_GROUPS_AT_ONCE", groups)
    one = Packs([write_vectors(tmp_path / "a", [str(i) for i in range(5000)])])
    for wanted in (np.random.default_rng(7).integers(0, 5000, 300).tolist(), [4999, 0], [17], list(range(5000))):
        assert one.take([str(i) for i in wanted]).column("key").to_pylist() == [str(i) for i in wanted]


def test_missing_names_the_keys_that_no_pack_holds(tmp_path: Path) -> None:
    packs = Packs([write_vectors(tmp_path / "a", ["1", "2"])])
    assert packs.missing(["2", "3", "3"]) == {"3"}
    assert Packs([]).missing(["1"]) == {"1"}
    with pytest.raises(StoreError, match="artifact 3 is in none of 1 packs"):
        packs.take(["1", "3"])


def test_a_damaged_pack_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"no parquet")
    with pytest.raises(StoreError, match="a cannot be read"):
        Packs([tmp_path / "a"]).missing(["1"])


def test_a_parsed_document_comes_back_equal(tmp_path: Path) -> None:
    parsed = Parsed(
        "# T\n\n|a|",
        (
            Element("title", 0, 3, level=1, line=1),
            Element("table", 5, 8, page=2, box=(0.0, 1.0, 2.0, 3.5), attributes={"cells": [["a"]]}),
        ),
        "T",
        {"author": "Ä", "tags": ["x"]},
    )
    write_pack(tmp_path / "a", pack_texts([("k", parsed)]), "texts")
    assert decode_parsed(Packs([tmp_path / "a"]).take(["k"]).to_pylist()[0]) == parsed


def test_a_batch_that_is_written_again_is_kept_as_it_was(tmp_path: Path) -> None:
    tables = [staging.DOCUMENTS.empty_table(), staging.DRAFTS.empty_table(), pack_texts([]), pack_figures([])]
    folder = tmp_path / "batch-00000"
    first = staging.write_batch(folder, *tables)
    before = {path: path.stat().st_ino for path in folder.iterdir()}
    again = staging.write_batch(folder, tables[0], tables[1], pack_texts([("key", Parsed("text", ()))]), tables[3])
    assert again == first
    assert {path: path.stat().st_ino for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["batch-00000"], "the draft is gone"


def test_a_pack_holds_each_bit_of_a_vector_in_fewer_bytes(tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).standard_normal((2000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[0, :4] = [np.float32("nan"), -0.0, np.inf, np.nextafter(np.float32(0), np.float32(1))]
    keys = [f"{number:032x}" for number in range(len(vectors))]
    write_pack(tmp_path / "pack.parquet", pack_embeddings(keys, vectors), "embeddings")
    flat = Packs([tmp_path / "pack.parquet"]).take(keys).column("vector").combine_chunks().flatten()
    assert np.asarray(flat, np.float32).tobytes() == vectors.tobytes()
    assert (tmp_path / "pack.parquet").stat().st_size < 0.9 * vectors.nbytes
