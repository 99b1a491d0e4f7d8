"""The house as its code says it: modules, the folders that they import, branches of functions, tests with processes."""

import ast
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ("storage", "tasks", "flows", "deployments")  # each may import those before it
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
FACE = sorted([*(ROOT / "docmill").glob("*.py"), *(ROOT / "docmill" / "adapters").glob("*.py")])
SOURCES = sorted(
    [*MODULES, *FACE, *(path for path in (ROOT / "tests").rglob("*.py") if not {"corpus", "golden"} & {*path.parts})]
)

PYTEST = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "no:langsmith_plugin", "-p", "no:schemathesis"]
"""pytest without our configuration, and without the two plugins that load a package of a second at every start."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    """Return a path from the root of the project."""
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    """Return the dotted name by which a file of ours is imported."""
    name = name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return name if name.split(".")[0] == "docmill" else f"docmill.{name}"


def layer_of(name: str) -> str:
    """Return the layer of a module of ours, else the package of a module."""
    parts = name.split(".")
    return parts[1] if parts[0] == "docmill" and len(parts) > 1 else parts[0]


distributions_of_modules = cache(packages_distributions)  # which reads the records of all packages, for a second


@cache
def syntax(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> frozenset[tuple[str, bool]]:
    """Return the modules that a file imports, with the names taken from them, and whether that is at its top."""
    return frozenset(_imports(syntax(path), True))


def _imports(node: ast.AST, at_top: bool) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, at_top) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield (node.module or "", at_top)
        yield from ((f"{node.module}.{alias.name}", at_top) for alias in node.names)
        assert node.level == 0, "imports are absolute"
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        at_top = False
    inner = at_top and not isinstance(node, Function | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, inner)


@cache
def module_graph() -> dict[str, set[str]]:
    """Return the modules of ours that each module imports."""
    paths = {module_of(path): path for path in MODULES}
    return {name: {one for one, _ in imports(path) if one in paths and one != name} for name, path in paths.items()}


@cache
def folder_graph() -> dict[str, set[str]]:
    """Return the folders that the modules of each folder import; a package's own `__init__` counts as a module."""
    homes = {module_of(path): name_of(path.parent) for path in MODULES}
    graph: dict[str, set[str]] = {folder: set() for folder in homes.values()}
    for module, imported in module_graph().items():
        graph[homes[module]] |= {homes[one] for one in imported} - {homes[module]}
    return graph


def functions(path: Path) -> Iterator[Function]:
    """Yield every function of a file, nested ones and methods too."""
    return (node for node in ast.walk(syntax(path)) if isinstance(node, Function))


def branches(function: Function) -> int:
    """Count the branches of a function: statements, expressions and operators that decide; nested ones on their own."""
    return sum(_weight(node) for node in _inside(function))


def length(function: Function) -> int:
    """Return how many lines the body of a function has."""
    return (function.end_lineno or 0) - function.body[0].lineno + 1


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.ClassDef):
            yield child
            yield from _inside(child)


def _weight(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return int(isinstance(node, ast.If | ast.For | ast.While | ast.IfExp | ast.ExceptHandler | ast.match_case))


STARTING = frozenset({"subprocess", "Popen", "fork", "sql"})
"""Names by which processes are started; statements of SQL run in one, too."""
_STARTING_MODULES = ("docmill.storage.sql.statement_pool", "docmill.tasks.work.pool.pool")
"""Modules of ours whose functions and classes start processes."""


def starts_processes(item: pytest.Item) -> bool:
    """Return whether a test, a fixture that it asks for, or a function of the tests that these call starts a process.

    That is read from the names in their code, so a process that the package itself starts may be overlooked.
    """
    info = getattr(item, "_fixtureinfo", None)
    fixtures = info.name2fixturedefs.values() if info else ()
    return any(map(starts, (getattr(item, "function", None), *(one.func for several in fixtures for one in several))))


_known: dict[Any, bool] = {}


def starts(value: Any) -> bool:
    """Return whether a function or a class of the tests names what starts a process, or another that does."""
    if not str(getattr(value, "__module__", "")).startswith("tests"):
        return False
    if value not in _known:
        _known[value] = False  # for functions that call each other
        _known[value] = any(map(_function_starts, _functions(value)))
    return _known[value]


def _functions(value: Any) -> Iterator[FunctionType]:
    for one in vars(value).values() if isinstance(value, type) else [value]:
        inner = getattr(one, "__wrapped__", one)
        if isinstance(inner, FunctionType):
            yield inner


def _function_starts(function: FunctionType) -> bool:
    names = set(_names(function.__code__))
    called = [function.__globals__[name] for name in names & function.__globals__.keys()]
    ours = any(getattr(one, "__module__", None) in _STARTING_MODULES for one in called)
    return bool(names & STARTING) or ours or any(starts(one) for one in called if callable(one))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
