"""Prints Markdown to PDF by many programs and in many styles: what `tests.bench.parsing.printed` reads back.

    python -m tests.bench.parsing.printing --printed FOLDER [--written FOLDER ...] [--looks NAME]

A program that is not installed prints nothing, and is named. Without --written, the project's own pages are printed:
43 of them, each in two of the `known` looks (86 PDFs), 30 in the 15 `new` looks, 40 in the 10 `other`, 48 in the 8 of
the `third` set, 54 in the 9 of the `fourth`, 55 in the 11 of the `fifth`, and 36 as six
forms of `papers`. Beside the PDFs, FOLDER gets the Markdown that was printed, in `written`.
"""

import argparse
from itertools import cycle
from pathlib import Path

from markdown_it import MarkdownIt

from tests.bench.parsing.looks.programs import Printer
from tests.bench.parsing.looks.styles import FIFTH, FOURTH, KNOWN, NEW, OTHER, PAPERS, THIRD

_ROOT = Path(__file__).parents[3]
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
_SETS = {
    "known": (KNOWN, 43, 2),
    "new": (NEW, 30, 1),
    "other": (OTHER, 40, 1),
    "third": (THIRD, 48, 1),
    "fourth": (FOURTH, 54, 1),
    "fifth": (FIFTH, 55, 1),
    "papers": (PAPERS, 36, 1),
}
"""Looks, how many documents are printed in them, and how many of the looks each is printed in."""


def main() -> None:
    """Print the documents."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--printed", type=Path, required=True, help="folder for the PDFs")
    arguments.add_argument("--written", type=Path, action="append", help="folder of Markdown")
    arguments.add_argument("--looks", choices=_SETS, default="new")
    chosen = arguments.parse_args()
    folders = chosen.written or [_ROOT / "docs", _ROOT / "tests" / "corpus"]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.md"))]
    looks, wanted, times = _SETS[chosen.looks]
    turns = cycle(looks)
    for path in [one for one in _evenly(paths, wanted) for _ in range(times)]:
        _print(path, next(turns), looks, chosen.printed)


def _evenly(paths: list[Path], wanted: int) -> list[Path]:
    return [paths[at * len(paths) // wanted] for at in range(min(wanted, len(paths)))]


def _print(path: Path, look: str, looks: dict[str, Printer], folder: Path) -> None:
    stem = f"{path.parent.name}-{path.stem}"
    printed = folder / look / f"{stem}.pdf"
    if printed.exists():
        return
    text = _body(path.read_text(encoding="utf-8"))
    try:
        data = looks[look](_MARKDOWN.render(text))
    except ImportError as error:
        print(f"{look}: {error}")
        return
    if data is None:
        print(f"{look}: its program is not installed")
        return
    for place in (folder / "written", printed.parent):
        place.mkdir(parents=True, exist_ok=True)
    (folder / "written" / f"{stem}.md").write_text(text, encoding="utf-8")
    printed.write_bytes(data)


def _body(text: str) -> str:
    head, mark, body = text.partition("\n---\n")
    return body if mark and head.startswith("---") else text


if __name__ == "__main__":
    main()
