"""Compare the figures of `make bench` with those of the last release; fail if a judged one is worse by 15 %.

    python -m tests.bench.released GATHERED [--record]

GATHERED is the file that `tests.bench.table.show` has added to. Judged are counts, and ratios of CPU times that were
measured in turn; seconds are shown beside the release's and never judged. `--record` writes today's as the release's.
"""

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

RELEASED = Path(__file__).with_name("figures.json")
WORSE = 1.15
"""How many times the release's a judged figure may be. Ratios of commands of half a second, measured in turn on a busy
machine, differ by up to 8 % from one run to the next."""


def compared(today: list[dict[str, Any]], before: dict[str, dict[str, float]]) -> tuple[list[str], list[str]]:
    """Return the rows of a table of today's figures beside the release's, and the names of those that are worse."""
    rows, worse = [], []
    for one in today:
        name, value, unit = one["name"], one["value"], one["unit"]
        old = before.get(one["title"], {}).get(name)
        change = "" if not old else f"{value / old:.2f}"
        fails = one["judged"] and old is not None and value > old * WORSE
        said = "WORSE" if fails else "judged" if one["judged"] else ""
        known = "" if old is None else f"{old:.4g} {unit}"
        rows.append(f"| {one['title']}: {name} | {value:.4g} {unit} | {known} | {change} | {said} |")
        worse += [f"{one['title']}: {name}"] if fails else []
    return rows, worse


def gathered_in(path: Path) -> list[dict[str, Any]]:
    """Return the figures of a file, of each the last one."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    found = {(one["title"], one["name"]): one for one in map(json.loads, lines)}
    return [*found.values()]


def record(today: list[dict[str, Any]], path: Path) -> None:
    """Write figures as those of the release; figures that were not measured today stay."""
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"figures": {}}
    for one in today:
        known["figures"].setdefault(one["title"], {})[one["name"]] = float(f"{one['value']:.4g}")
    known["version"] = version("docmill")
    path.write_text(json.dumps(known, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Parse the arguments, and print the table or record the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gathered", type=Path)
    parser.add_argument("--record", action="store_true", help="write the figures as the release's")
    arguments = parser.parse_args()
    today = gathered_in(arguments.gathered)
    if arguments.record:
        record(today, RELEASED)
        return
    released = json.loads(RELEASED.read_text(encoding="utf-8"))
    rows, worse = compared(today, released["figures"])
    print(f"\n## Beside {released['version']}\n\n| figure | today | release | today / release | |")
    print("|---|---:|---:|---:|---|", *rows, sep="\n")
    if worse:
        raise SystemExit(f"worse than {released['version']} by more than {WORSE - 1:.0%}: {'; '.join(worse)}")


if __name__ == "__main__":
    main()
