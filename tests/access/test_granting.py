"""Granting: what files and settings say of access becomes the column, and a change of it makes nothing again."""

import random
from pathlib import Path
from typing import Any

import pytest

from docmill.storage.errors import QueryError
from docmill.storage.mirror.mirror_folder import open_folder
from docmill.storage.tables.tables import read_stored_file
from tests.kit.workbench import MakeBench, Workbench, summary
from tests.kit.writers.archives import zipped

pytestmark = pytest.mark.usefixtures("fake_model")

FILES = {
    "a.md": "# A\n\nThe mill grinds.\n",
    "team/b.md": "# B\n\nThe wheel turns.\n",
    "team/c.zip": zipped({"c.md": "# C\n\nThe river flows.\n", "_metadata.toml": 'access = ["all"]\n'}),
}


def access(bench: Workbench) -> dict[str, tuple[str, ...]]:
    """Return the principals of each document but for sidecars in archives, which are documents."""
    return {row.uri: row.access for row in bench.store.documents() if row.uri.endswith(".md")}


def test_without_any_word_of_access_every_document_is_for_all(make_bench: MakeBench) -> None:
    assert set(access(make_bench(FILES)).values()) == {("all",)}


def test_the_nearest_word_counts_and_archives_hand_it_down(make_bench: MakeBench) -> None:
    said = {
        "_metadata.toml": 'access = ["staff"]\n',
        "team/_metadata.toml": 'access = ["sales", "board"]\n',
        "team/b.md.meta.toml": "access = []\n",
    }
    assert access(make_bench({**FILES, **said})) == {
        "a.md": ("staff",),
        "team/b.md": (),
        "team/c.zip/c.md": ("sales", "board"),  # whoever packed the archive does not decide who may read it
    }


def test_a_file_that_cannot_be_read_hides_what_it_describes(make_bench: MakeBench) -> None:
    for wrong in ("access = [", "access = 3", 'access = ["sales", 3]'):
        bench = make_bench({**FILES, "team/_metadata.toml": wrong})
        assert access(bench) == {"a.md": ("all",), "team/b.md": (), "team/c.zip/c.md": ()}
        assert bench.store.documents("len(warnings) > 0"), "a warning says why"


def test_settings_grant_where_nothing_else_does(make_bench: MakeBench) -> None:
    said = {"team/b.md.meta.toml": 'access = ["sales"]\n'}
    bench = make_bench({**FILES, **said}, access={"default": ["staff"]})
    assert access(bench) == {"a.md": ("staff",), "team/b.md": ("sales",), "team/c.zip/c.md": ("staff",)}
    assert summary(bench.ingest())["unchanged"] == 4
    assert bench.store.snapshot.number == 1
    bench.settings["access"] = {"default": [], "sources": {"docs": ["board"]}}
    report = bench.ingest()
    assert (report.parsed, report.embedded, bench.store.snapshot.number) == (0, 0, 2)
    assert access(bench) == {"a.md": ("board",), "team/b.md": ("sales",), "team/c.zip/c.md": ("board",)}
    del bench.settings["access"]
    bench.ingest()
    assert access(bench) == {"a.md": ("all",), "team/b.md": ("sales",), "team/c.zip/c.md": ("all",)}


def test_a_change_of_access_alone_makes_nothing_again_and_is_as_if_made_anew(
    make_bench: MakeBench, tmp_path: Path
) -> None:
    draw = random.Random(5)
    bench = make_bench({f"{folder}/{n}.md": f"# {n}\n\nThe mill of {folder} {n}.\n" for folder in "abc" for n in "12"})
    for number in range(8):
        place = draw.choice(["a/_metadata.toml", "b/1.md.meta.toml", "c/_metadata.toml", "_metadata.toml"])
        principals = draw.sample(["sales", "board", "all"], draw.randrange(3))
        bench.write({place: f"access = {principals}\nteam = 'number {number}'\n"})
        report = bench.ingest()
        assert (report.parsed, report.embedded) == (0, 0)
        anew = Workbench(tmp_path / str(number), bench.settings)
        anew.write({str(path.relative_to(bench.docs)): path.read_bytes() for path in bench.docs.rglob("*.*")})
        anew.ingest()
        assert access(bench) == access(anew)
        for asker in (["sales"], ["board", "all"]):
            found, truth = (
                [hit.uri for hit in one.store.search("mill", k=9, principals=asker)] for one in (bench, anew)
            )
            assert found == truth


def test_a_store_of_an_older_docmill_is_for_all(make_bench: MakeBench) -> None:
    bench = make_bench(FILES)
    stored = open_folder(bench.root).read()
    (piece, *_) = stored.pieces("documents")
    without = read_stored_file(bench.root, piece).drop_columns("access")
    import pyarrow.parquet as pq

    pq.write_table(without, bench.root / piece.file.path)
    assert set(access(bench).values()) == {("all",)}
    assert bench.store.sql("SELECT DISTINCT access FROM documents").to_pylist() == [{"access": ["all"]}]
    assert bench.store.search("mill", principals=["all"])


@pytest.mark.parametrize("wrong", ["sales", [""], [3], ["x" * 1001]])
def test_principals_are_a_list_of_names(make_bench: MakeBench, wrong: Any) -> None:
    with pytest.raises(QueryError, match="principal"):
        make_bench(FILES).store.search("mill", principals=wrong)
