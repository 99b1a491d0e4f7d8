"""A store that lost a file of its vectors: what would rewrite them stops, names the file, and says what mends it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from docmill.flows.cli.app import app
from docmill.storage.search.encode import encoder, space
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from tests.kit.fake_encoder import NAME, TokenCounts, write_model
from tests.kit.workbench import Workbench

OTHER = "other-token-counts"


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("laid"), {"embedding": {"model": fake_model}})
    for name in ("owl", "tit"):
        made.write({f"{name}.md": f"# {name}\n\nThe {name} bird has an egg.\n"})
        made.ingest()
    return made


@pytest.fixture
def root(laid: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the store, and make another model known."""
    folder = write_model(tmp_path / OTHER, dimension=24)
    monkeypatch.setitem(space.FOLDERS, OTHER, lambda: folder)
    monkeypatch.setitem(encoder.LOADERS, OTHER, TokenCounts)
    monkeypatch.setattr(encoder, "_LOADED", {})
    return laid.copy(tmp_path / "bench").root


def lance_data(root: Path) -> Path:
    return min((root / "vectors").rglob("data/*.lance"))


def lance_manifest(root: Path) -> Path:
    return min((root / "vectors").rglob("_versions/*.manifest"))  # the newest: LanceDB counts down


def pack(root: Path) -> Path:
    return min((root / "artifacts" / "embeddings").iterdir())


def call(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--store", str(root)])


COMMANDS = (["compact"], ["reembed", "--model", OTHER], ["reembed", "--model", NAME])


@pytest.mark.parametrize("lost", [lance_data, lance_manifest, pack])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_lost_file_of_vectors_is_named_with_what_mends_it(
    root: Path, command: list[str], lost: Callable[[Path], Path]
) -> None:
    file = lost(root)
    file.unlink()
    before = snapshots.numbers(root)
    done = call(root, *command)
    assert (done.exit_code, done.stdout) == (1, "")
    named = f"docmill: {file.relative_to(root)} is missing"
    assert done.stderr == f"{named}; rebuild it with: docmill repair --store {root}\n"
    assert snapshots.numbers(root) == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_mends_it_does(root: Path, command: list[str]) -> None:
    lance_data(root).unlink()
    pack(root).unlink()
    assert call(root, "repair").exit_code == 0
    assert call(root, *command).exit_code == 0
    assert verify(root, deep=True) == []


def test_what_lancedb_says_is_told_without_the_places_in_its_source(root: Path) -> None:
    file = lance_data(root)
    file.unlink()
    said = call(root, "verify").stdout
    assert str(file) in said
    assert ".rs:" not in said
