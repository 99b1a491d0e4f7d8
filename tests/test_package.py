"""docmill as others have it: a wheel in an environment of its own, beside a project with names like ours."""

import doctest
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import docmill
from docmill import __all__ as public
from docmill.moved import FOLDERS, MovedModules
from tests.installed.wheel import Installed, install_editable, install_wheel
from tests.kit.house import ROOT

FOREIGN = {  # what a project of Prefect flows, or of Django, has at its top
    "flows/etl.py": "NAME = 'etl of the user'\n",
    "flows/__init__.py": "",
    "tasks.py": "NAME = 'tasks of the user'\n",
    "storage/__init__.py": "NAME = 'storage of the user'\n",
}
OWN = {  # how the user imports these
    "flows/etl.py": "from flows.etl import NAME",
    "flows/__init__.py": "import flows",
    "tasks.py": "from tasks import NAME",
    "storage/__init__.py": "from storage import NAME",
}
DOCUMENTS = {
    "git.md": "# Undo\n\nTo undo a commit, reset the branch.\n",
    "mill.md": "# Mill\n\nThe mill grinds wheat.\n",
    "snow.txt": "It snows in the mountains.\n",
}
TYPED = """
from docmill import open_store

with open_store("store") as store:
    for hit in store.search("how do I undo a commit?", k=3, mode="keyword"):
        reveal_type(hit.uri)
        reveal_type(hit.start_char)
        reveal_type(hit.page)
        reveal_type(hit.terms)
        reveal_type(hit.relevance)
    reveal_type(store.document("a.md").elements)
"""
ANNOTATED = """
import docmill


def ask(store: docmill.Store, text: str, mode: docmill.Mode, how: docmill.SearchArguments) -> list[int]:
    return [hit.line for hit in store.search(text, mode=mode, **how)]


def show(phase: docmill.Phase) -> None:
    print(f"{phase.name}: {phase.done} of {phase.total} {phase.unit}")


docmill.ingest("docs", progress=show)
ask(docmill.open_store("store"), "undo", "hybrid", {"widen": 400})
"""

HEAVY = ("anthropic", "distributed", "openai", "prefect", "sentence_transformers", "torch", "transformers")
"""Typed packages of which no public type is made: mypy spends most of its time on them."""


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Installed:
    """The wheel in an environment of its own."""
    return install_wheel(tmp_path_factory.mktemp("installed"), shared)


def test_the_wheel_has_one_top_level(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"docmill"}
    assert "docmill/py.typed" in names
    assert {"docmill/storage/snapshots/read/store.py", "docmill/adapters/langchain.py"} <= {*names}
    assert (installed.wheel.parent / "build" / "lib").is_dir(), "two that build at once share no folder"


@pytest.mark.parametrize("names", [["flows/etl.py"], list(FOREIGN)], ids=["a folder", "all of them"])
def test_docmill_lives_beside_a_project_with_names_like_its_own(
    installed: Installed, tmp_path: Path, names: list[str]
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(FOREIGN[name])
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Undo\n\nTo undo a commit, reset the branch.\n")
    assert "ingest" in installed.run("-m", "docmill.flows.cli.app", "--help", cwd=tmp_path)
    # A plan parses and splits in worker processes, and needs no embedding model.
    planned = "import docmill; r = docmill.plan('docs', store='store'); print(r.documents.added, r.parsed, r.problems)"
    placed = f"{planned}; print(docmill.__file__)"
    counts, place = installed.run("-c", placed, cwd=tmp_path).splitlines()
    assert (counts, place.startswith(str(installed.folder))) == ("1 1 []", True)
    own = [OWN[name] for name in names]
    both = "; ".join([*own, "import docmill.flows.config.settings", *own])
    installed.run("-c", both, cwd=tmp_path)


@pytest.mark.slow
def test_an_ingest_a_search_and_a_flow_work_beside_all_of_them(installed: Installed, tmp_path: Path) -> None:
    for name, text in FOREIGN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Undo\n\nTo undo a commit, reset the branch.\n")
    command = ["-m", "docmill.flows.cli.app"]
    installed.run(*command, "ingest", "docs", "--store", "store", "--engine", "local", cwd=tmp_path)
    assert "a.md" in installed.run(*command, "search", "undo a commit", "--store", "store", cwd=tmp_path)
    load = (
        "from prefect.flows import load_flow_from_entrypoint as load; "
        "print(load('docmill.flows.ingest.ingest').name, load('docmill.flows.evaluate.evaluate').name); "
        "from flows.etl import NAME; print(NAME)"
    )
    assert installed.run("-c", load, cwd=tmp_path) == "ingest evaluate\netl of the user\n"


@pytest.mark.slow
@pytest.mark.parametrize("skipped", [HEAVY, pytest.param((), marks=pytest.mark.soak)], ids=["docmill", "everything"])
def test_mypy_knows_the_types_of_a_hit_and_users_can_annotate_with_the_public_types(
    installed: Installed, tmp_path: Path, skipped: tuple[str, ...]
) -> None:
    unread = "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in skipped)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\n{unread}")
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "annotated.py").write_text(ANNOTATED)
    known = ["--python-executable", installed.python, "--cache-dir", str(tmp_path / "cache"), "--strict"]
    # One run for both scripts: mypy reads docmill and all that it imports anew.
    code = [sys.executable, "-m", "mypy", *known, "typed.py", "annotated.py"]
    done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, check=False)
    revealed = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert revealed[:5] == ["str", "int", "int | None", "dict[str, float]", "float"], done.stdout
    assert "Element" in revealed[5]
    assert "error" not in done.stdout
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Success: no issues found in 2 source files")


def test_the_public_face_is_light_and_complete() -> None:
    code = (
        "import sys, time; t = time.process_time(); import docmill; t = time.process_time() - t; "
        "assert {*dir(docmill)} == {*docmill.__all__}, dir(docmill); "
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "pyarrow", "duckdb", "pydantic", "prefect", "lancedb", "torch", "typer"} & {*loaded.split()}


@pytest.mark.parametrize("name", sorted({*public} - {"Mode"}))  # a Literal has no docstring of its own
def test_each_public_name_is_documented(name: str) -> None:
    found = getattr(docmill, name)
    assert isinstance(found, str) or len(found.__doc__ or "") > 60


def examples() -> list[doctest.DocTest]:
    """Return the examples of the public names and their methods, those that fill the store first."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = ("ingest", "plan", "open_store", "Store", "Hit")
    found = [one for name in names for one in finder.find(getattr(docmill, name), name)]
    found += finder.find(docmill.Store.__base__, "Store")  # what it inherits, which the finder passes over
    return [one for one in found if one.examples]


def test_the_examples_of_the_public_names_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_model: str) -> None:
    """Run them in one folder, one after another, as somebody who reads the documentation would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCMILL_EMBEDDING__MODEL", fake_model)
    (tmp_path / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (tmp_path / "docs" / name).write_text(text)
    assert {example.name.split(".")[0] for example in examples()} == {"ingest", "plan", "open_store", "Store", "Hit"}
    runner = doctest.DocTestRunner(verbose=False)
    for example in examples():
        example.globs = {"docmill": docmill}
        if (tmp_path / "store").exists():
            example.globs["store"] = docmill.open_store("store")
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_an_editable_install_is_found_by_a_script_beside_the_clone(tmp_path: Path) -> None:
    """A folder without `__init__.py` that is named `docmill`, as a clone is, must not be taken for the package."""
    clone = tmp_path / "docmill"
    clone.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "docmill", ".src", "flows", "tasks", "storage"):
        origin, copy = ROOT / name, clone / name
        shutil.copytree(origin, copy, symlinks=True) if origin.is_dir() else shutil.copy(origin, copy)
    user = install_editable(tmp_path / "environment", clone)
    (tmp_path / "script.py").write_text("import docmill; print(docmill.__file__)")
    found = subprocess.run([user, str(tmp_path / "script.py")], capture_output=True, text=True, check=True, env={})
    assert found.stdout.strip() == str(clone / ".src" / "docmill" / "__init__.py")


@pytest.mark.parametrize("former", sorted(FOLDERS))
def test_a_folder_is_found_by_its_former_name_with_a_warning(former: str) -> None:
    place = ROOT / FOLDERS[former].replace(".", "/")
    module = next(path.stem for path in sorted(place.glob("*.py")) if path.stem != "__init__")
    with pytest.warns(DeprecationWarning, match=f"has moved to docmill.{FOLDERS[former]}"):
        found = import_module(f"docmill.{former}.{module}")
    assert found is import_module(f"docmill.{FOLDERS[former]}.{module}")


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("docmill.storage.nowhere")
    with pytest.warns(DeprecationWarning, match="has moved"), pytest.raises(ModuleNotFoundError):
        import_module("docmill.storage.reader.nowhere")


@pytest.mark.parametrize("name", ["tasks.workers", "storage.reader.store", "theirs.tasks.workers", "docmill.tasks"])
def test_a_module_of_others_is_no_module_that_has_moved(name: str) -> None:
    assert MovedModules().find_spec(name, None) is None
