"""What the pages name of the project's code exists: files, folders, and modules by their dotted names."""

import re
from collections.abc import Iterator

import pytest

from tests.kit.house import ROOT

TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").rglob("*.md"))
}
PATH = re.compile(r"(?<![\w./:=-])((?:docmill|flows|tasks|storage|deployments|tests|\.github|docs)/[\w./-]*\w)")
SHORT = re.compile(r"`([\w/]+\.py)`")
MODULE = re.compile(r"\b(docmill\.(?:flows|tasks|storage|adapters)\.[\w.]*\w|tests(?:\.[a-z_]\w*)+)")
DESIGN = "docs/design/"
"""Pages for contributors, who look up short names such as `column_descriptions.py` in the project alone."""


def paths(text: str) -> Iterator[str]:
    """Yield the paths of a text from the root; those below `docmill/tests` and `docs` may be a reader's own."""
    yield from (
        one for one in PATH.findall(text) if "NAME" not in one and not one.startswith(("docmill/tests", "docs/"))
    )


def exists(module: str) -> bool:
    """Return whether a dotted name is a module, a folder, or a name that its module defines."""
    path = ROOT / module.removeprefix("docmill.").replace(".", "/")
    if module.startswith("docmill.adapters"):
        path = ROOT / module.replace(".", "/")
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    parent = path.parent.with_suffix(".py")
    return (
        parent.is_file() and re.search(rf"^(?:class|def|async def) {path.name}\b", parent.read_text(), re.M) is not None
    )


@pytest.mark.parametrize("name", TEXTS)
def test_every_path_and_module_that_a_page_names_exists(name: str) -> None:
    text = TEXTS[name]
    assert [one for one in paths(text) if not (ROOT / one).exists()] == []
    assert [one for one in MODULE.findall(text) if not exists(one)] == []


def test_every_short_name_of_a_file_in_the_design_pages_exists() -> None:
    every = [
        path.as_posix()
        for top in ("docmill", "flows", "tasks", "storage", "tests")
        for path in ROOT.glob(f"{top}/**/*.py")
    ]
    named = {one for name, text in TEXTS.items() if name.startswith(DESIGN) for one in SHORT.findall(text)}
    assert len(named) > 10
    assert {one for one in named if not any(path.endswith(f"/{one}") for path in every)} == set()


def test_a_path_or_module_that_is_gone_is_found() -> None:
    assert [*paths("see `storage/ranks.py`, https://a.org/tests/b and tests/golden/NAME/")] == ["storage/ranks.py"]
    assert MODULE.findall("`docmill.flows.ingest.ingest`, docmill.toml") == ["docmill.flows.ingest.ingest"]
    assert exists("docmill.flows.ingest.ingest")
    assert not exists("docmill.flows.ingest.nothing")
