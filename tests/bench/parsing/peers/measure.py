"""Measure docmill against other tools that read documents: per format words, order, headings, items, rows, and CPU.

    python -m tests.bench.parsing.peers.measure --peers PYTHON [--written FOLDER] [--keep FOLDER] [--only FORMAT ...]

The documents are Markdown: those of the test corpus and of the project's own pages, or those below FOLDER. They are
written in each format by programs that none of the tools is made of, wherever there is one. PYTHON is that of an
environment with `requirements.txt` beside this file. A tool that reads no file of a format has no figure there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.bench.parsing.peers.reading import TOOLS
from tests.bench.parsing.peers.scores import FIGURES, scores
from tests.bench.parsing.peers.told import Told, of_elements, of_markdown
from tests.bench.parsing.peers.writing import FORMATS, page_of, write_all

_ROOT = Path(__file__).parents[4]
_OURS = ("tests/corpus", "docs/guides", "docs/concepts")
_SECONDS = 3600  # for one tool and all documents
_SHEETS = ("xlsx", "csv")
_SLACK = 0.1  # hundredths: less than one word of a thousand is no difference

Found = dict[str, dict[str, Any]]
Scores = dict[tuple[str, str], dict[str, float]]  # of format and figure, by tool


def sources(folders: list[Path], most: int) -> dict[str, str]:
    """Return Markdown files by name, without front matter; of larger folders evenly chosen ones."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.md"))
    chosen = paths[:: max(1, len(paths) // most)][:most]
    return {f"{at:03} {path.stem}": _body(path.read_text(encoding="utf-8")) for at, path in enumerate(chosen)}


def _body(text: str) -> str:
    head, mark, body = text.partition("\n---\n")
    return body if mark and head.startswith("---") else text


def run(tool: str, python: Path, folder: Path, output: Path) -> Found:
    """Return what a tool says of each file below a folder; nothing, with a message, if the tool is not installed.

    What another tool said is kept in `output`, and not asked for again.
    """
    if not output.exists() or tool == "docmill":
        command = [str(python), str(Path(__file__).with_name("reading.py")), tool, str(folder), str(output)]
        done = subprocess.run(command, cwd=_ROOT, env={**os.environ}, timeout=_SECONDS, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
        if done.returncode:
            print(f"{tool}: left out: {done.stderr.decode(errors='replace').strip().splitlines()[-1:]}")
            return {}
    found: Found = json.loads(output.read_text(encoding="utf-8"))
    return found


def judged(wrote: dict[str, Told], found: dict[str, Found]) -> tuple[Scores, dict[str, dict[str, str]]]:
    """Return the figures of each format by tool, and the CPU milliseconds of a document with the files read."""
    figures: Scores = defaultdict(dict)
    costs: dict[str, dict[str, str]] = defaultdict(dict)
    for tool, files in found.items():
        for name in FORMATS:
            own = {Path(path).stem: one for path, one in files.items() if Path(path).parent.name == name}
            read = [one for one in own.values() if "error" not in one]
            if not read:
                continue
            pairs = [(_wrote(wrote[stem], name), _told(one)) for stem, one in own.items()]
            for figure, value in scores(pairs).items():
                figures[name, figure][tool] = value
            milliseconds = 1000 * sum(one["seconds"] for one in own.values()) / len(own)
            costs[name][tool] = f"{milliseconds:.0f}" + (
                f" ({len(read)} of {len(own)})" if len(read) < len(own) else ""
            )
    return figures, costs


def _wrote(told: Told, name: str) -> Told:
    return told.tables() if name in _SHEETS else told


def _told(one: dict[str, Any]) -> Told:
    if "error" in one:
        return Told()
    return of_elements(one["elements"]) if "elements" in one else of_markdown(one["markdown"])


def table(figures: Scores, tools: list[str]) -> str:
    """Return one row a format and figure, docmill first, the best of each row in bold."""
    lines = [f"| format | figure | {' | '.join(tools)} |", f"|---|---|{'---:|' * len(tools)}"]
    for name in FORMATS:
        for figure in FIGURES:
            row = figures.get((name, figure), {})
            best = max(row.values(), default=0.0)
            cells = [_cell(row.get(tool), best) for tool in tools]
            lines += [f"| {name} | {figure} | {' | '.join(cells)} |"] if row else []
    return "\n".join(lines)


def _cell(value: float | None, best: float) -> str:
    if value is None:
        return "–"
    return f"**{value:.1f}**" if value > best - _SLACK else f"{value:.1f}"


def behind(figures: Scores) -> str:
    """Return a row for each figure in which another tool is ahead of docmill."""
    lines = ["| format | figure | docmill | ahead |", "|---|---|---:|---|"]
    for (name, figure), row in figures.items():
        ours = row.get("docmill", 0.0)
        ahead = [f"{tool} {value:.1f}" for tool, value in row.items() if value >= ours + _SLACK]
        lines += [f"| {name} | {figure} | {ours:.1f} | {', '.join(ahead)} |"] if ahead else []
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peers", type=Path, required=True, help="Python of the environment of the other tools")
    arguments.add_argument("--written", type=Path, action="append", help="folder of Markdown")
    arguments.add_argument("--most", type=int, default=12, help="documents")
    arguments.add_argument("--keep", type=Path, help="folder to keep the documents in, and what the tools say of them")
    arguments.add_argument("--only", nargs="+", choices=FORMATS, default=FORMATS, metavar="FORMAT")
    arguments.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    chosen = arguments.parse_args()
    texts = sources(chosen.written or [_ROOT / one for one in _OURS], chosen.most)
    wrote = {stem: of_markdown(text) for stem, text in texts.items()}
    with tempfile.TemporaryDirectory() as place:
        folder = (chosen.keep or Path(place)) / "documents"
        write_all({stem: page_of(text) for stem, text in texts.items()}, wrote, folder, chosen.only)
        pythons = {tool: Path(sys.executable) if tool == "docmill" else chosen.peers for tool in chosen.tools}
        found = {tool: run(tool, python, folder, folder.with_name(f"{tool}.json")) for tool, python in pythons.items()}
    figures, costs = judged(wrote, found)
    print(f"{len(texts)} documents, in %; the best of a row is bold\n\n{table(figures, chosen.tools)}")
    print(f"\nWhere docmill is not first\n\n{behind(figures)}\n\nCPU, ms a document\n")
    print(f"| format | {' | '.join(chosen.tools)} |\n|---|{'---:|' * len(chosen.tools)}")
    for name, row in costs.items():
        print(f"| {name} | {' | '.join(row.get(tool, '–') for tool in chosen.tools)} |")


if __name__ == "__main__":
    main()
