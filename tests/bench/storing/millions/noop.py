"""Measure a run over very many documents that finds nothing to do.

The documents are names of few files, by hard links, so that ten million of them fit on a disk; each has a content hash
of its own in the cache of fingerprints, as if it were a file of its own. Their rows are written into the store's table
without parsing, by the keys that this docmill's recipe gives them, so that the run has to compute every key again.
"""

import os
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from docmill.flows.config.from_settings import recipe_of, space_of
from docmill.flows.config.settings import Settings
from docmill.storage.keys import bucket_of, document_key, key_of
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables.rewrite_buckets import replace_documents
from docmill.storage.snapshots.tables.tables import bucket_count, read_stored_file
from docmill.tasks.parse.formats import FileType
from docmill.tasks.paths.content import FileContent
from docmill.tasks.sources import fingerprint
from docmill.tasks.work.document.recipe import Recipe
from tests.bench.storing.vectors import DIMENSION
from tests.bench.table import Figure
from tests.bench.tree import ingest
from tests.kit.fake_encoder import NAME, write_model
from tests.kit.faults.slow_model import install

_IN_FOLDER = 1000
_AT_ONCE = 50_000
_SETTLED_S = 2.1
_EVERY_S = 0.02
_RUNS = 3


@dataclass(frozen=True, slots=True)
class Spent:
    """What a process took: peak of its resident memory and of its own part of it in bytes, CPU and wall in seconds."""

    peak: int
    own: int
    cpu: float
    wall: float


def measure(documents: int, folder: Path) -> list[Figure]:
    """Lay the documents, if they are not there, and run over them."""
    one, many = _laid(1, folder), _laid(documents, folder)
    small = min((_spent(one, folder) for _ in range(_RUNS)), key=lambda run: run.own)
    large = min((_spent(many, folder) for _ in range(_RUNS if documents <= 100_000 else 1)), key=lambda run: run.cpu)
    scale = documents / 1_000_000
    return [
        Figure("no-op run, peak of resident memory", large.peak / 1e6, "MB", 1500 if scale <= 1 else None),
        Figure("no-op run, CPU", large.cpu, "s", 60 * max(scale, 0.1)),
        Figure("no-op run, wall", large.wall, "s", 60 * max(scale, 0.1)),
        Figure("CPU beyond a run over one document, each", (large.cpu - small.cpu) / documents * 1e6, "us"),
        Figure("own memory beyond that, each", (large.own - small.own) / documents, "B", 300),
    ]


def _laid(documents: int, folder: Path) -> Path:
    """Return a folder with `docs` and the `store` of them."""
    home = folder / f"noop-{documents}"
    if not (home / "done").exists():
        model = model_in(folder)
        _lay_files(home / "docs", documents)
        time.sleep(_SETTLED_S)
        _ingest_one(home, model)
        _write_rows(home, model, documents)
        (home / "done").touch()
    return home


def _uris(documents: int) -> Iterator[str]:
    return (f"shelf-{number // _IN_FOLDER:05d}/page-{number:08d}.md" for number in range(documents))


def _lay_files(docs: Path, documents: int) -> None:
    first = docs / next(_uris(1))
    for number, uri in enumerate(_uris(documents)):
        path = docs / uri
        if number % _IN_FOLDER == 0:
            path.parent.mkdir(parents=True)
            path.write_text(f"# Shelf {number}\n\nA page of shelf {number}.\n")
            first = path
        else:
            os.link(first, path)


def _ingest_one(home: Path, model: Path) -> None:
    """Make a store of the first document alone, with the settings of all."""
    single = home / "single"
    (single / "shelf-00000").mkdir(parents=True)
    os.link(home / "docs" / next(_uris(1)), single / next(_uris(1)))
    ingest(docmill(model), single, home / "store", "--embedding-model", NAME)


def model_in(folder: Path) -> Path:
    """Return the folder of a fake model of as many dimensions as the packaged one."""
    model = folder / "model"
    return model if model.exists() else write_model(model, DIMENSION)


def docmill(model: Path) -> list[str]:
    """Return the command, with that model."""
    return [sys.executable, "-m", "tests.kit.docmill_with_fake_model", str(model)]


def _write_rows(home: Path, model: Path, documents: int) -> None:
    """Write the row of each document, as if it were ingested, and remember its fingerprint."""
    install(model)
    store = StoreFolder(home / "store")
    base = store.read()
    settings = Settings.model_validate({"store": store.root, "embedding": {"model": NAME}})
    recipe = recipe_of(settings, space_of(settings))
    row = read_stored_file(store.root, base.pieces("documents")[0]).slice(0, 1)
    buckets = bucket_count(documents, 0)
    uris = list(_uris(documents))
    order = np.argsort([bucket_of(document_key(uri), buckets) for uri in uris], kind="stable")
    pieces: list[StoredFile] = []
    for some in np.array_split(order, max(1, documents // _AT_ONCE)):
        table = _rows(row, [uris[place] for place in some], recipe)
        pieces = list(replace_documents(store.root, tuple(pieces), "documents", buckets, (), table))
    tables = {**base.snapshot.tables, "documents": tuple(pieces)}
    store.commit(
        replace(base.snapshot, number=base.number + 1, buckets=buckets, document_buckets=buckets, tables=tables)
    )
    _remember(home, uris)


def _content(uri: str) -> str:
    return key_of("content", uri)


def _rows(row: pa.Table, uris: Sequence[str], recipe: Recipe) -> pa.Table:
    """Return the row of a document, made that of others; each has its own content, and so its own keys."""
    table = row.take(pa.array(np.zeros(len(uris), np.int64)))
    told = {name: row.column(name)[0].as_py() for name in ("format", "language", "content_types", "metadata")}
    kind = FileType(told["format"], told["language"])
    hashes = [_content(uri) for uri in uris]
    texts = [recipe.text_key(uri, FileContent(content), kind) for uri, content in zip(uris, hashes, strict=True)]
    chunks = [
        recipe.chunk_key(text, uri, told["content_types"], told["metadata"])
        for uri, text in zip(uris, texts, strict=True)
    ]
    made = {
        "uri": uris,
        "document_id": [document_key(uri) for uri in uris],
        "content_hash": hashes,
        "text_key": texts,
        "chunk_key": chunks,
        "source": ["docs"] * len(uris),
    }
    for name, values in made.items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values))
    return table


def _remember(home: Path, uris: Sequence[str]) -> None:
    """Write the cache of fingerprints that a run over the files would leave."""
    rows = []
    for uri in uris:
        path = home / "docs" / uri
        status = path.stat()
        rows.append((str(path), status.st_size, status.st_mtime_ns, status.st_ino, _content(uri), ""))
    columns = zip(zip(*rows, strict=True), fingerprint._SCHEMA, strict=True)
    table = pa.table([pa.array(values, one.type) for values, one in columns], schema=fingerprint._SCHEMA)
    fingerprint._write(home / "store" / "cache" / "files.parquet", table.sort_by("path"))


def _spent(home: Path, folder: Path) -> Spent:
    """Run over the documents, in a process of its own, and return what it took."""
    model = ["--embedding-model", NAME]
    command = [*docmill(folder / "model"), "ingest", str(home / "docs"), "--store", str(home / "store")]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen([*command, "--engine", "local", "--json", *model], stdout=subprocess.PIPE, text=True)
    with sampling(process.pid) as own:
        output = process.communicate()[0]
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0
    assert re.search(r'"(added|changed|deleted)": [1-9]', output) is None, output
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(own[1], own[0], cpu, wall)


@contextmanager
def sampling(pid: int) -> Iterator[list[int]]:
    """Yield the most bytes of memory of its own, and of all resident memory, that a process has had so far."""
    most, ended = [0, 0], threading.Event()

    def sample() -> None:
        while not ended.wait(_EVERY_S):
            with suppress(OSError):
                status = Path(f"/proc/{pid}/status").read_text()
                for place, name in enumerate(("RssAnon", "VmHWM")):
                    found = re.search(rf"{name}:\s+(\d+)", status)
                    most[place] = max(most[place], 1024 * int(found[1]) if found else 0)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield most
    finally:
        ended.set()
        thread.join()
