"""Measure what a small file of each format costs from bytes to chunks: CPU of this process and of pandoc beside it.

    python -m tests.bench.parsing.small --data FOLDER [--only FORMAT ...]

Of each suffix, up to twelve files of at most 40,000 bytes are taken, in the order of their paths. What is loaded once
is left out: the cost is that of later rounds over the same files.
"""

import argparse
import resource
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from docmill.flows.config.from_settings import recipe_of, space_of
from docmill.flows.config.settings import Settings
from docmill.tasks.parse import pandoc_program
from docmill.tasks.work.document.process import WorkRequest, process_document
from docmill.tasks.work.document.recipe import Recipe
from docmill.tasks.work.document.work_item import WorkItem

_BYTES = 40_000
_FILES = 12
_ROUNDS = 5


def small_files(folder: Path) -> dict[str, list[Path]]:
    """Return the small files below a folder by their suffixes."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and 0 < path.stat().st_size <= _BYTES and len(found[path.suffix.lower()]) < _FILES:
            found[path.suffix.lower()].append(path)
    return found


def chunks_of(path: Path, recipe: Recipe) -> int | None:
    """Process a file; return how many chunks it has, None if it is rejected."""
    work = WorkItem("", path.name, str(path), path.stat().st_size, "")
    result = process_document(WorkRequest(work, recipe, None))
    return len(result.drafts) if result.parsed else None


def spent(paths: Sequence[Path], recipe: Recipe, rounds: int) -> float:
    """Return the CPU seconds of so many rounds over files, with those of pandoc, which is ended for that."""
    before = _cpu()
    for _ in range(rounds):
        for path in paths:
            chunks_of(path, recipe)
    pandoc_program._close_idle()
    return _cpu() - before


def _cpu() -> float:
    usages = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    """Print the formats, the most expensive one first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="suffixes without a dot")
    chosen = parser.parse_args()
    settings = Settings()
    recipe = recipe_of(settings, space_of(settings))
    rows = []
    for suffix, paths in small_files(chosen.data).items():
        if chosen.only and suffix[1:] not in chosen.only:
            continue
        chunks = {path: count for path in paths if (count := chunks_of(path, recipe)) is not None}
        if chunks:
            seconds = spent([*chunks], recipe, 1 + _ROUNDS) - spent([*chunks], recipe, 1)
            document = 1000 * max(0.0, seconds) / _ROUNDS / len(chunks)
            rows.append((document, suffix[1:], len(chunks), document * len(chunks) / max(1, sum(chunks.values()))))
    print("| suffix | files | CPU, ms a document | a chunk |\n|---|---:|---:|---:|")
    for document, suffix, files, chunk in sorted(rows, reverse=True):
        print(f"| {suffix} | {files} | {document:.1f} | {chunk:.2f} |")


if __name__ == "__main__":
    main()
