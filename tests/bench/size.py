"""Count what a newcomer has to read: `python -m tests.bench.size` prints words of documentation and lines of code.

A word is anything between blanks, in text, tables and examples alike, as `wc -w` counts. With `--pages`, each page
has a row, the longest first.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from tests.kit.house import ROOT

LAYERS = ("flows", "tasks", "storage", "docmill", "deployments", "tests")
MOST_WORDS = 60_000
"""Words of the documentation: five hours of reading. A page that needs more of them says elsewhere what it repeats."""


def words(text: str) -> int:
    """Return the number of words of a text."""
    return len(text.split())


def pages() -> dict[str, str]:
    """Return the text of each page of the documentation by its path."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in found}


def lines(paths: Iterable[Path]) -> tuple[int, int]:
    """Return the number of files and of their lines."""
    counts = [len(path.read_text(encoding="utf-8").splitlines()) for path in paths]
    return len(counts), sum(counts)


def main() -> None:
    """Print both counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", action="store_true", help="print the words of each page")
    texts = pages()
    if parser.parse_args().pages:
        for name, text in sorted(texts.items(), key=lambda each: -words(each[1])):
            print(f"{words(text):7,}  {name}")
    print(f"{sum(map(words, texts.values())):7,}  words in {len(texts)} pages; at most {MOST_WORDS:,}")
    for layer in LAYERS:
        own = [path for path in (ROOT / layer).rglob("*.py") if not path.is_symlink()]
        files, total = lines(path for path in own if path.resolve().is_relative_to(ROOT / layer))
        print(f"{total:7,}  lines in {files} files of {layer}/")


if __name__ == "__main__":
    main()
