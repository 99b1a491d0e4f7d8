"""The house: what imports what, what is named how, and how large it gets."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("storage", "tasks", "flows", "deployments")  # each may import those before it
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
SOURCES = sorted(
    [*MODULES, *(path for path in (ROOT / "tests").rglob("*.py") if not {"corpus", "golden"} & {*path.parts[:-1]})]
)
ONLY_IN = {
    "prefect": ("flows/", "tasks/steps.py", "deployments/"),
    "duckdb": ("storage/sql/sandbox.py",),
    "lancedb": ("storage/lance/vectors.py",),
    "sentence_transformers": ("storage/embedding/encoder.py", "storage/retrieval/steps/cross_encoder.py"),
    "typer": ("flows/cli/",),
    "rich": ("flows/cli/",),
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "manager", "base", "core", "common", "misc"}
SLOW = (
    "prefect", "lancedb", "duckdb", "torch", "sentence_transformers", "transformers", "tokenizers", "unstructured",
    "scipy", "pyarrow", "numpy", "pydantic", "pydantic_settings", "rich", "lxml", "pypdfium2", "fastapi", "sqlalchemy",
)  # fmt: skip
LARGEST = 350


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def layer_of(name: str) -> str:
    """Return the layer of a module of ours, else the package of a module."""
    parts = name.split(".")
    return parts[1] if parts[0] == "docmill" and len(parts) > 1 else parts[0]


def module_of(path: Path) -> str:
    return "docmill." + name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> frozenset[tuple[str, bool]]:
    """Return the modules that a file imports, and the names it takes from them, and whether its own import does so."""
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
    inner = at_top and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, inner)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path: Path) -> None:
    layer = LAYERS.index(name_of(path).split("/")[0])
    above = {name for name, _ in imports(path) if layer_of(name) in (*LAYERS[layer + 1 :], "tests")}
    assert not above, f"{name_of(path)} imports from a layer above: {above}"


def test_no_modules_import_each_other() -> None:
    paths = {module_of(path): path for path in MODULES}
    above = {name: {one for one, _ in imports(path) if one in paths and one != name} for name, path in paths.items()}
    TopologicalSorter(above).prepare()  # raises CycleError, which names those in a circle


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_heavy_package_is_imported_only_where_it_belongs(path: Path) -> None:
    packages = {name.split(".")[0] for name, _ in imports(path)}
    strangers = {p for p in packages & ONLY_IN.keys() if not name_of(path).startswith(ONLY_IN[p])}
    assert not strangers, f"{name_of(path)} imports {strangers}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_file_is_too_long(path: Path) -> None:
    length = len(path.read_text(encoding="utf-8").splitlines())
    assert length <= LARGEST, f"{name_of(path)} has {length} lines, {LARGEST} at most"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_every_file_says_what_it_is(path: Path) -> None:
    text = ast.get_docstring(syntax(path))
    assert text, f"{name_of(path)} has no docstring"
    if path.name == "__init__.py":
        assert text.count(". ") == 0, f"{name_of(path)}: the docstring of a package is one sentence"
        assert text.endswith("."), f"{name_of(path)}: the docstring of a package is one sentence"


def declared_dependencies() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    return {_normal(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in named}


def test_every_dependency_is_locked_to_one_version() -> None:
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    locked = dict(line.split("==") for line in lines)
    assert declared_dependencies() <= set(map(_normal, locked))


def test_everything_imported_is_a_declared_dependency() -> None:
    declared = declared_dependencies()
    distributions = packages_distributions()
    for path in SOURCES:
        for package in {name.split(".")[0] for name, _ in imports(path)} & distributions.keys() - {"docmill"}:
            known = declared & set(map(_normal, distributions[package]))
            assert known, f"{name_of(path)} imports {package}, which pyproject.toml does not name"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_no_module_is_named_like_a_dependency_or_a_package_of_ours() -> None:
    taken = {name.lower() for name in packages_distributions()} - {*LAYERS, "docmill", "tests"}
    for path in MODULES:
        name = path.parent.name if path.name == "__init__.py" else path.stem
        at_top = len(path.relative_to(ROOT).parts) == 2 and path.name == "__init__.py"
        assert name.lower() not in taken, f"{name_of(path)} is named like an installed package"
        assert at_top or name not in LAYERS, f"{name_of(path)} is named like a package of ours"


def test_no_module_has_a_name_that_says_nothing() -> None:
    named = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
    assert not named & FORBIDDEN_NAMES


def test_every_package_is_one_and_is_shipped() -> None:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    assert found["include"] == ["docmill", "docmill.*"]
    folders = {path.parent for path in MODULES}
    assert not [name_of(folder) for folder in folders if not (folder / "__init__.py").exists()]
    assert {path.name for path in (ROOT / "docmill").iterdir() if path.is_symlink()} == {*LAYERS} - {"deployments"}


def test_the_command_line_loads_nothing_slow() -> None:
    code = "import sys, docmill.flows.cli.app; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not set(SLOW) & set(loaded.split())
