"""What becomes of each file of a folder, by format: read or rejected, why, and how fast.

`python -m tests.bench.parsing.formats --data FOLDER` reads every file in worker processes, as an ingest does.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.bench.parsing.reading import Read, WorkRequest, read, suffix_of

LIMITS = Limits(workers=2, timeout_s=60, memory_mb=2048)


def read_all(folder: Path, passwords: tuple[str, ...]) -> list[Read]:
    """Return what became of every file below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.csv")
    pool = Pool(LIMITS)
    try:
        jobs = [WorkRequest(path, passwords) for path in paths]
        results = list(pool.map(read, jobs))
    finally:
        pool.close()
    return [
        found if isinstance(found, Read) else _lost(job.path, found) for job, found in zip(jobs, results, strict=True)
    ]


def _lost(path: Path, why: Rejected) -> Read:
    return Read(path, suffix_of(path), why.reason, why.message, path.stat().st_size, 0.0, 0)


def table(found: Iterable[Read]) -> str:
    """Return one row a format: files, read, elements, rejected with their reasons, seconds a megabyte."""
    groups: dict[str, list[Read]] = defaultdict(list)
    for one in found:
        groups[one.format].append(one)
    lines = ["| format | files | read | elements | rejected | s/MB |", "|---|---:|---:|---:|---|---:|"]
    for name, group in sorted(groups.items()):
        good = [one for one in group if not one.reason]
        reasons = Counter(one.reason for one in group if one.reason)
        said = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        megabytes = sum(one.size for one in good) / 1e6
        pace = f"{sum(one.seconds for one in good) / megabytes:.2f}" if megabytes else ""
        elements = sum(one.elements for one in good)
        lines.append(f"| {name} | {len(group)} | {len(good)} | {elements} | {said} | {pace} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, each rejected file, and their share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--password", action="append", default=[], help="try it on encrypted files")
    chosen = parser.parse_args()
    found = read_all(chosen.data, tuple(chosen.password))
    print(table(found))
    rejected = [one for one in found if one.reason]
    print(f"\n{len(found)} files, {len(rejected)} rejected ({len(rejected) / max(1, len(found)):.1%}):")
    for one in rejected:
        print(f"- {one.path.relative_to(chosen.data)}: {one.reason}: {one.message[:160]}")


if __name__ == "__main__":
    main()
