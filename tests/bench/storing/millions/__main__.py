"""Measure one driver with very many documents: a run without changes, commits into a large store, edits of a tree.

    python -m tests.bench.storing.millions [noop] [commits] [edits] [rewrites] [search] [--documents N] [--chunks N]
                                           [--files N] [--data FOLDER] [--vectors N] [--folder FOLDER]

Without a name it measures the first three. The edited tree is a copy of `--data`, or is generated. What is generated
stays in `--folder`, so that a second run begins at once; remove it at the end. A million documents take 0.6 GB there
and 2 minutes, a million chunks 7 GB and 20 minutes.
"""

import argparse
import tempfile
from pathlib import Path

from tests.bench.storing.millions import commits, edits, noop, rewrites, search
from tests.bench.table import show

_PARTS = ("noop", "commits", "edits", "rewrites", "search")


def main() -> None:
    """Parse the arguments and print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(_PARTS))
    parser.add_argument("--documents", type=int, default=100_000, help="documents of the run without changes")
    parser.add_argument("--chunks", type=int, default=100_000, help="chunks of the store to commit into")
    parser.add_argument("--files", type=int, default=1_000, help="files of the tree to edit")
    parser.add_argument("--data", type=Path, help="a folder of real files to edit a copy of, in place of --files")
    parser.add_argument("--vectors", type=int, default=1_000_000, help="vectors to search")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "docmill-millions")
    given = parser.parse_args()
    parts = given.parts or _PARTS[:3]
    if "noop" in parts:
        show(f"No change in {given.documents:,} documents", noop.measure(given.documents, given.folder))
    if "commits" in parts:
        show(f"Commits into {given.chunks:,} chunks", commits.measure(given.chunks, given.folder))
    if "edits" in parts:
        show(f"Edits of {given.data or f'{given.files:,} files'}", edits.measure(given.files, given.folder, given.data))
    if "rewrites" in parts:
        show(f"Tables of {given.chunks:,} chunks, rewritten by workers", rewrites.measure(given.chunks, given.folder))
    if "search" in parts:
        show(f"Search of {given.vectors:,} vectors", search.measure(given.vectors, given.folder))


if __name__ == "__main__":
    main()
