"""A store of two snapshots for tests of exports, and an empty working folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.storage import failpoints
from docmill.storage.snapshots.change.tagging import set_tag
from docmill.storage.snapshots.read.store import Store, open_store
from tests.kit.workbench import MakeBench, Workbench
from tests.kit.writers.figures import data_uri, drawn


def page(*seeds: int) -> str:
    """Return a page with drawn pictures."""
    return "<h1>Charts</h1><p>Here they are.</p>" + "".join(
        f'<p><img src="{data_uri(drawn(one))}"></p>' for one in seeds
    )


FIRST: dict[str, str | bytes] = {
    "guide.md": "# Guide\n\nTurn the red knob.\n\n## Care\n\nOil it.\n",
    "notes.txt": "Notes about snow.\n",
    "gone.txt": "This leaves.\n",
    "chart.html": page(1, 2),
    "code.py": 'def mill() -> str:\n    """Grind."""\n    return "flour"\n',
}
SECOND: dict[str, str | None] = {
    "guide.md": "Before all.\n\n# Guide\n\nTurn the blue knob.\n\n## Care\n\nOil it.\n",
    "new.txt": "Rain.\n",
    "gone.txt": None,
    "chart.html": page(1, 3),
}


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    """Return a store of two snapshots; the tag `first` is on the older one."""
    made = make_bench(FIRST, SECOND)
    set_tag(made.root, "first", 1)
    return made


@pytest.fixture
def store(bench: Workbench) -> Iterator[Store]:
    with bench.store as own:
        yield own


@pytest.fixture
def first(bench: Workbench) -> Iterator[Store]:
    with open_store(bench.root, "first") as own:
        yield own


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    yield tmp_path / "work"
    failpoints.watch = None
