"""Code: functions of installed packages, each asked for by the first sentence of its docstring.

No docstring is left in the files, so a question shares no more words with its function than a person's would: names
and comments. It is easier than a person's question in one respect: its writer had the function before him.
"""

import ast
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docmill.tasks.evaluate.overlap import Passage
from tests.bench.sets.collection import Asked, Collection

PACKAGES = ("click", "fsspec", "httpx", "jinja2", "networkx", "prefect", "pydantic", "rich", "sqlalchemy", "starlette")
"""Packages in plain Python that the lock installs: of several kinds, so that no vocabulary decides."""
FILES = 12
"""Files of a package, chosen by a hash of their paths: more take longer to embed than they tell."""
QUESTIONS = 300
_BYTES = 2_000, 40_000
"""Sizes of a file: less holds no function worth asking for, more would be most of the set."""
_WORDS = 5, 50
"""Words of a question: fewer say nothing but the name, more are a page of text."""
_LINES = 5
"""Lines of a body: a shorter one is its name."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Bared:
    """A source file without its docstrings, and the functions that these described: question and span of each."""

    text: str
    functions: tuple[tuple[str, int, int], ...]


def read_code(folder: Path) -> Collection:
    """Read the packages of a folder such as site-packages; one that is not there is left out."""
    documents, asked = dict[str, str](), dict[str, Asked]()
    for uri in (uri for package in PACKAGES for uri in _files(folder, package)):
        bared = bare((folder / uri).read_text(encoding="utf-8"))
        documents[uri] = bared.text
        for question, start, end in bared.functions:
            references = (*asked[question].references, Passage(uri, start, end)) if question in asked else None
            asked[question] = Asked(f"{uri}:{start}", question, references or (Passage(uri, start, end),))
    chosen = sorted(asked.values(), key=lambda one: _hash(one.text))[:QUESTIONS]
    return Collection(documents, tuple(sorted(chosen, key=lambda one: one.id)))


def _files(folder: Path, package: str) -> list[str]:
    paths = [path for path in (folder / package).rglob("*.py") if _BYTES[0] <= path.stat().st_size <= _BYTES[1]]
    uris = [path.relative_to(folder).as_posix() for path in paths if "_vendor" not in path.parts]
    return sorted(sorted(uris, key=_hash)[:FILES])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def bare(source: str) -> Bared:
    """Return a file without docstrings, its lines where they were, and what the docstrings of functions asked for."""
    lines = source.splitlines(keepends=True)
    documented = [node for node in ast.walk(ast.parse(source)) if isinstance(node, Documented)]
    found = [node for node in documented if ast.get_docstring(node, clean=False)]
    for node in found:
        _blank(lines, node.body[0], alone=len(node.body) == 1 and not isinstance(node, ast.Module))
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    asked = [(node, question) for node in found if isinstance(node, Function) for question in _question(node)]
    functions = tuple((question, *_span(node, lines, starts)) for node, question in asked)
    return Bared("".join(lines), functions)


def _blank(lines: list[str], docstring: ast.stmt, alone: bool) -> None:
    """Take a docstring out of its lines; where it was all of a body, `...` stands for it."""
    first, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
    before = lines[first].encode()[: docstring.col_offset].decode()
    after = lines[last].encode()[docstring.end_col_offset :].decode()
    lines[first : last + 1] = ["\n"] * (last - first + 1)
    lines[first] = (before + "..." if alone else before).rstrip() + ("\n" if first < last else "")
    lines[last] = (lines[last].rstrip("\n") if first < last else lines[first]) + after.lstrip(" ;")


def _question(node: Function) -> Iterator[str]:
    """Yield the first sentence of a function's docstring if it is one and the function is worth asking for."""
    said = " ".join(_SENTENCE_END.split((ast.get_docstring(node) or "").strip(), maxsplit=1)[0].split())
    rest = node.body[1:]
    lines = (node.end_lineno or 0) - rest[0].lineno + 1 if rest else 0
    if _WORDS[0] <= len(said.split()) <= _WORDS[1] and lines >= _LINES and not re.search(r"[:>`*]{2}", said):
        yield said


def _span(node: Function, lines: Sequence[str], starts: Sequence[int]) -> tuple[int, int]:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
    last = (node.end_lineno or node.lineno) - 1
    return starts[first], starts[last] + len(lines[last].rstrip())
