"""Granting: what files and settings say of access becomes the column, and a change of it makes nothing again."""

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from docmill.storage.errors import QueryError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.snapshots.tables.tables import read_stored_file
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


def test_access_in_the_front_matter_does_not_count_and_is_told(make_bench: MakeBench) -> None:
    text = "---\naccess: [sales]\n---\n# Mill\n\nThe mill grinds wheat.\n"
    bench = make_bench({"told.md": text, "beside.md": text, "beside.md.meta.toml": 'access = ["sales"]\n'})
    with bench.store as store:
        found = {row.uri: (row.access, row.metadata_warnings) for row in store.documents()}
    warning = "access in the front matter does not count; write it into a sidecar or a _metadata.toml"
    assert found == {"told.md": (("all",), (warning,)), "beside.md": (("sales",), ())}


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


PAGES = {f"{folder}/{n}.md": f"# {n}\n\nThe mill of {folder} {n}.\n" for folder in "abc" for n in "12"}
PLACES = ("_metadata.toml", "a/_metadata.toml", "c/_metadata.toml", "b/1.md.meta.toml", "b/in.zip.meta.json")
KEYS = {"team": "text", "due": "date", "tags": "list"}


def drawn(draw: random.Random) -> dict[str, Any]:
    """Return what a file says at random: access, or metadata, or both, and what does not fit now and then."""
    said = {
        "access": draw.sample(["sales", "board", "all"], draw.randrange(4)),
        "team": draw.choice(["mill", "river", 7]),
        "due": draw.choice(["2027-03-01", "2028-05", "soon"]),
        "tags": draw.sample(["a", "b", "c"], draw.randrange(3)),
    }
    return {key: said[key] for key in draw.sample([*said], draw.randrange(1, 4))}


def answers(bench: Workbench) -> Iterator[Any]:
    """Yield what a store answers to askers of different rights, but for what the time of a run changes."""
    for asker in (None, ["sales"], ["board", "all"], ["nobody"]):
        with open_store(bench.root, principals=asker) as store:
            for where in (None, "metadata.team = 'mill' OR metadata.due > '2027-12-31'"):
                yield [(hit.uri, round(hit.score, 9)) for hit in store.search("mill river", k=9, where=where)]
            yield from (store.facets(key) for key in KEYS)
            yield store.facets("tags", query="mill", where="metadata.team IS NOT NULL")
            yield store.sql("SELECT uri, access, metadata, declared, warnings FROM documents ORDER BY uri").to_pylist()
            yield store.status()["documents"], store.status()["chunks"]


@pytest.mark.parametrize("changes", [5, pytest.param(200, marks=pytest.mark.soak)])
def test_after_each_change_of_access_and_metadata_answers_are_those_of_a_store_built_from_nothing(
    tmp_path: Path, changes: int
) -> None:
    draw, bench = random.Random(5), Workbench(tmp_path / "grown", {"metadata": KEYS})
    bench.write({**PAGES, "b/in.zip": zipped({"c.md": "# C\n\nThe river flows.\n"})})
    for path in bench.docs.rglob("*.*"):
        os.utime(path, (1, 1))
    bench.ingest()
    for number in range(changes):
        place = bench.docs / draw.choice(PLACES)
        said = drawn(draw)
        if place.exists() and draw.random() < 0.2:
            place.unlink()
        elif place.suffix == ".json":
            place.write_text(json.dumps(said))
        else:
            place.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in said.items()))
        report = bench.ingest()
        assert (report.parsed, report.rechunked, report.embedded) == (0, [], 0)
        anew = Workbench(tmp_path / "anew", bench.settings)
        shutil.copytree(bench.docs, anew.docs)  # with the times of the files
        anew.ingest()
        assert [*answers(bench)] == [*answers(anew)], f"change {number}: {place.name}: {said}"
        shutil.rmtree(anew.folder)


def test_what_is_revoked_while_a_file_cannot_be_read_is_hidden_in_its_stale_version(make_bench: MakeBench) -> None:
    bench = make_bench(FILES)
    bench.write({"team/c.zip": b"no archive", "a.md": b"\0\1\2" * 99})
    bench.ingest(allow_delete=True)
    stale = [row.uri for row in bench.store.documents("status = 'stale'")]
    assert stale
    bench.write({"_metadata.toml": 'access = ["board"]\n'})
    bench.ingest()
    assert bench.store.documents("status = 'stale'")
    assert not bench.store.seen_by(["all"]).documents()


def test_a_store_of_an_older_docmill_is_for_all(make_bench: MakeBench) -> None:
    bench = make_bench(FILES)
    stored = open_folder(bench.root).read()
    (piece, *_) = stored.pieces("documents")
    without = read_stored_file(bench.root, piece).drop_columns("access")
    pq.write_table(without, bench.root / piece.file.path)
    assert set(access(bench).values()) == {("all",)}
    assert bench.store.sql("SELECT DISTINCT access FROM documents").to_pylist() == [{"access": ["all"]}]
    assert bench.store.search("mill", principals=["all"])


@pytest.mark.parametrize("wrong", ["sales", [""], [3], ["x" * 1001]])
def test_principals_are_a_list_of_names(make_bench: MakeBench, wrong: Any) -> None:
    with pytest.raises(QueryError, match="principal"):
        make_bench(FILES).store.search("mill", principals=wrong)
