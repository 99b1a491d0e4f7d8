"""How many files are taken for what they are: with the right suffix, without one, and with a wrong one.

`python -m tests.bench.parsing.file_type --data FOLDER [FOLDER ...]` takes each file's own suffix for the truth.
A wrong suffix is one of a format that the file cannot be; plain text is not given a markup's, which it is, too.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.programming_languages import BY_SUFFIX
from tests.bench.table import Figure, show

WRONG = (".pdf", ".docx", ".html", ".py", ".json", ".csv", ".xml", ".eml", ".txt", ".md")
PLAIN = frozenset({"text", "markdown", "rst", "org", "log", "chat"})
# Where a suffix says less than the content may: which formats are right.
SHARED = {
    ".txt": {"text", "chat", "log", "csv", "markdown", "eml"},
    ".log": {"text", "log"},
    ".json": {"json", "jsonl", "chat", "ipynb"},
    ".xml": {"xml"},
    ".nxml": {"xml"},
    ".xsl": {"xml"},
    ".h": {"code c", "code cpp", "code objectivec"},
    ".p7s": {"eml"},
}


def expected(path: Path) -> set[str]:
    """Return what a file may rightly be taken for, none where its suffix tells nothing."""
    suffix = path.suffix.lower()
    if suffix in SHARED:
        return SHARED[suffix]
    named = {name for name, form in FORMATS.items() if name != "code" and suffix in form.suffixes}
    return named or ({f"code {BY_SUFFIX[suffix]}"} if suffix in BY_SUFFIX else set())


def taken(name: str, data: bytes) -> str:
    """Return what a file is taken for, its format and for code its language."""
    try:
        found = detect_file_type(name, data)
    except Rejected as why:
        return why.reason
    return f"{found.format} {found.language}" if found.format == "code" else found.format


def wrong(path: Path) -> str:
    """Return a suffix that a file cannot have, always the same one."""
    right = expected(path)
    others = [s for s in WRONG if s != path.suffix.lower() and not (right & PLAIN and s in (".md", ".txt"))]
    others = [s for s in others if not expected(Path(f"a{s}")) & right]
    return others[crc32(path.name.encode()) % len(others)]


WAYS: dict[str, Callable[[Path], str]] = {
    "right suffix": lambda path: path.name,
    "no suffix": lambda _: "document",
    "wrong suffix": lambda path: f"document{wrong(path)}",
}
BOUNDS = {"right suffix": 97.0, "no suffix": 95.0, "wrong suffix": 95.0}


def files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the files whose suffix tells what they are, and that are not empty."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "manifest.csv" and expected(path):
            data = path.read_bytes()
            if data.strip(b"\0 \t\r\n"):
                yield path, data


def measure(folder: Path, tell: bool) -> list[Figure]:
    """Return the share of files not taken for what they are, for each way of naming them; `tell` prints which."""
    figures = []
    for way, name in WAYS.items():
        found = [(path, taken(name(path), data)) for path, data in files(folder)]
        mistakes = [(path, name(path), kind) for path, kind in found if kind not in expected(path)]
        right = 100 * (1 - len(mistakes) / max(1, len(found)))
        figures.append(Figure(f"{folder.name}, {way}: {len(found)} files, wrong", 100 - right, "%", 100 - BOUNDS[way]))
        if tell:
            _tell(way, mistakes)
    return figures


def _tell(way: str, mistakes: list[tuple[Path, str, str]]) -> None:
    for (suffix, kind), count in Counter((path.suffix, kind) for path, _, kind in mistakes).most_common():
        example = next(f"{path.name} as {name}" for path, name, k in mistakes if (path.suffix, k) == (suffix, kind))
        print(f"{way}: {count} × {suffix} taken for {kind}, such as {example}")


def main() -> None:
    """Measure the folders named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--mistakes", action="store_true", help="say which files were taken for what")
    chosen = parser.parse_args()
    show("File type", [figure for folder in chosen.data for figure in measure(folder, chosen.mistakes)])


if __name__ == "__main__":
    main()
