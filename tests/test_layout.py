"""The house: what imports what, what is named how, and how large it gets."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from graphlib import TopologicalSorter

from tests.kit.house import (
    FACE,
    LAYERS,
    MODULES,
    ROOT,
    SOURCES,
    branches,
    distributions_of_modules,
    folder_graph,
    functions,
    imports,
    layer_of,
    length,
    module_graph,
    name_of,
    syntax,
)

ONLY_IN = {
    "prefect": ("flows/", "tasks/steps.py", "deployments/", "docmill/adapters/prefect.py"),
    "duckdb": (
        "storage/sql/sandbox.py",
        "tasks/sources/databases/databases.py",
    ),  # and databases of others
    "lancedb": ("storage/search/vectors/",),
    "sentence_transformers": (
        "storage/search/encode/encoder.py",
        "storage/search/encode/library_class.py",
        "storage/search/pictures/",
    ),
    "typer": ("flows/cli/",),
    "langchain_core": ("docmill/adapters/langchain.py",),
    "llama_index": ("docmill/adapters/llama_index.py",),
    "haystack": ("docmill/adapters/haystack.py",),
    "distributed": ("flows/cluster/",),
    "rich": ("flows/cli/",),
    "pickle": ("tasks/work/pool/pool.py", "tasks/work/pool/worker.py", "flows/serving/search_p"),
}
OPENED_BY = "docmill.storage.remote.mirror.open_folder"
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "manager", "base", "core", "common", "misc"}
SLOW = (
    "prefect", "lancedb", "duckdb", "torch", "sentence_transformers", "transformers", "tokenizers", "unstructured",
    "scipy", "pyarrow", "numpy", "pydantic", "rich", "lxml", "pypdfium2", "fastapi", "sqlalchemy",
    "distributed",
)  # fmt: skip
LARGEST = 500
MOST_MODULES = 16  # in a folder: what one can still look over
MOST_BRANCHES = 10
MOST_DENSE, DENSE = 8, 0.8  # more branches than the first need fewer a line than the second
NAMED_LIKE = {  # what one looks for
    "flows/prefect": "holds all that docmill does with Prefect",
    "flows/serving/mcp": "serves the protocol of this name",
}
NAMED_TWICE: dict[str, str] = {}  # class names with several meanings, each with its reason
ORDER = (  # each folder imports only those before it
    "storage", "storage/search", "storage/snapshots", "storage/remote", "storage/process", "storage/plugins",
    "storage/search/encode/api", "storage/search/encode",
    "storage/search/keywords/analysis", "storage/search/sentences", "storage/search/keywords/segments",
    "storage/search/keywords", "storage/search/vectors", "storage/sql", "storage/remote/objects",
    "storage/snapshots/history", "storage/remote/mirror", "storage/snapshots/tables", "storage/snapshots/artifacts",
    "storage/search/pictures", "storage/snapshots/write", "storage/access", "storage/snapshots/change",
    "storage/search/rank/candidates", "storage/search/rank/steps", "storage/search/rank", "storage/snapshots/clean",
    "storage/exports", "storage/snapshots/read", "tasks/work", "tasks/paths", "tasks/counting", "tasks/model",
    "tasks/parse/titles", "tasks/parse/passes", "tasks/parse/pictures",
    "tasks/parse", "tasks/parse/markup", "tasks/parse/markup/html", "tasks/parse/markup/xml",
    "tasks/parse/markup/md", "tasks/parse/office", "tasks/parse/office/sheets", "tasks/parse/office/slides",
    "tasks/parse/pandoc", "tasks/parse/partition", "tasks/parse/pandoc/formats", "tasks/parse/pandoc/word",
    "tasks/parse/records", "tasks/parse/mail", "tasks/parse/pdf/text", "tasks/parse/pdf/layout", "tasks/parse/pdf",
    "tasks/parse/dispatch", "tasks/archive", "tasks/split/spans", "tasks/split/parts", "tasks/split/syntax",
    "tasks/split/general", "tasks/split/content", "tasks/split", "tasks/detect", "tasks/context", "tasks/chunking",
    "tasks/work/pool", "tasks/work/document", "tasks/evaluate", "tasks/work/batch", "tasks/work/remote",
    "tasks/sources/connectors", "tasks/sources/web", "tasks/sources/databases", "tasks/sources/mail",
    "tasks/sources/exports", "tasks/sources", "tasks/publishing", "tasks", "flows/config", "flows/runs",
    "flows/cluster", "flows/watching", "flows/prefect/records", "flows/measure", "flows", "flows/deploy",
    "flows/maintenance", "flows/prefect", "flows/serving", "flows/serving/mcp", "flows/serving/page",
    "flows/serving/http", "flows/cli/terminal", "flows/cli/pages", "flows/cli/commands",
    "flows/cli/commands/evaluate", "flows/cli",
)  # fmt: skip


def test_imports_point_down() -> None:
    for path in MODULES:
        layer = LAYERS.index(name_of(path).split("/")[0])
        above = {name for name, _ in imports(path) if layer_of(name) in (*LAYERS[layer + 1 :], "adapters", "tests")}
        assert not above, f"{name_of(path)} imports from a layer above: {above}"


def test_no_modules_import_each_other() -> None:
    TopologicalSorter(module_graph()).prepare()  # raises CycleError, which names those in a circle


def test_folders_import_only_those_below_them() -> None:
    place = {folder: number for number, folder in enumerate(ORDER)}
    graph = folder_graph()
    assert set(graph) == set(place), "every folder has its place in ORDER"
    above = {(folder, one) for folder, below in graph.items() for one in below if place[one] >= place[folder]}
    assert not above, f"these import a folder that stands above them in ORDER: {sorted(above)}"


def test_no_floor_has_too_many_rooms() -> None:
    rooms = Counter(name_of(path.parent) for path in SOURCES if path.name != "__init__.py")
    crowded = {folder: count for folder, count in rooms.items() if count > MOST_MODULES}
    assert not crowded, f"group these by what they do, {MOST_MODULES} modules a folder at most: {crowded}"


def test_no_function_branches_too_much() -> None:
    for path, function in ((one, function) for one in (*MODULES, *FACE) for function in functions(one)):
        count, lines = branches(function), length(function)
        assert count <= MOST_BRANCHES, (
            f"{name_of(path)}: {function.name} has {count} branches, more than {MOST_BRANCHES}"
        )
        dense = count > MOST_DENSE and count >= DENSE * lines
        why = f"{count} branches in {lines} lines; above {MOST_DENSE}, fewer than {DENSE} a line are allowed"
        assert not dense, f"{name_of(path)}: {function.name} has {why}"


def test_a_class_name_has_one_meaning() -> None:
    homes = defaultdict(set)
    for path in MODULES:
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].add(name_of(path))
    twice = {name: sorted(found) for name, found in homes.items() if len(found) > 1 and name not in NAMED_TWICE}
    assert not twice, f"give these names that differ: {twice}"


def test_only_open_folder_tells_a_mirror_from_a_store() -> None:
    """Who is handed a `StoreFolder` calls its methods; nobody asks what it is, or goes around it."""
    at_home = ("storage/remote/mirror/", "storage/address.py")
    for path in (path for path in MODULES if not name_of(path).startswith(at_home)):
        names = {node.id for node in ast.walk(syntax(path)) if isinstance(node, ast.Name)}
        taken = {name for name, _ in imports(path) if name.startswith("docmill.storage.remote.mirror.")}
        assert "mark_of" not in names, f"{name_of(path)} asks whether a store is a mirror"
        assert taken <= {OPENED_BY, f"{OPENED_BY}.open_folder"}, f"{name_of(path)} takes more than open_folder: {taken}"


def test_a_heavy_package_is_imported_only_where_it_belongs() -> None:
    for path in (*MODULES, *FACE):
        packages = {name.split(".")[0] for name, _ in imports(path)}
        strangers = {p for p in packages & ONLY_IN.keys() if not name_of(path).startswith(ONLY_IN[p])}
        assert not strangers, f"{name_of(path)} imports {strangers}"


def test_only_a_worker_loads_pickles_and_only_those_of_its_parent() -> None:
    loading = re.compile(r"pickle\.load|Unpickler|\.recv\(|allow_pickle=True|\b(?:dill|joblib|marshal|shelve)\.")
    found = {name_of(path) for path in (*MODULES, *FACE) if loading.search(path.read_text(encoding="utf-8"))}
    assert found == {"tasks/work/pool/worker.py", "flows/serving/search_process.py"}


def test_no_file_is_too_long() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    longest = {name: length for name, length in lengths.items() if length > LARGEST}
    assert not longest, f"{LARGEST} lines at most: {longest}"


def test_every_file_says_what_it_is() -> None:
    silent = [name_of(path) for path in SOURCES if not ast.get_docstring(syntax(path))]
    assert not silent, f"these have no docstring: {silent}"


def test_the_docstring_of_a_package_is_one_sentence() -> None:
    for path in (path for path in MODULES if path.name == "__init__.py"):
        text = ast.get_docstring(syntax(path)) or ""
        assert text.count(". ") == 0, f"{name_of(path)}: the docstring of a package is one sentence"
        assert text.endswith("."), f"{name_of(path)}: the docstring of a package is one sentence"


def declared_dependencies() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = [one for each in project["project"]["optional-dependencies"].values() for one in each]
    named = [*project["project"]["dependencies"], *extras, *project["dependency-groups"]["dev"]]
    return {_normal(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in named} - {"docmill"}


def test_every_dependency_is_locked_to_one_version() -> None:
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    locked = dict(line.split("==") for line in lines)
    assert declared_dependencies() <= set(map(_normal, locked))


def test_everything_imported_is_a_declared_dependency() -> None:
    declared = declared_dependencies()
    distributions = distributions_of_modules()
    for path in SOURCES:
        for package in {name.split(".")[0] for name, _ in imports(path)} & distributions.keys() - {"docmill"}:
            known = declared & set(map(_normal, distributions[package]))
            assert known, f"{name_of(path)} imports {package}, which pyproject.toml does not name"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_no_module_is_named_like_a_dependency_or_a_package_of_ours() -> None:
    taken = {name.lower() for name in distributions_of_modules()} - {*LAYERS, "docmill", "tests"}
    for path in MODULES:  # an adapter is named like its framework: that is what one looks for in an import
        name = path.parent.name if path.name == "__init__.py" else path.stem
        at_top = len(path.relative_to(ROOT).parts) == 2 and path.name == "__init__.py"
        known = name_of(path.parent) in NAMED_LIKE and path.name == "__init__.py"
        assert known or name.lower() not in taken, f"{name_of(path)} is named like an installed package"
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
