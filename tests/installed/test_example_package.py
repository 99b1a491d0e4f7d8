"""The example package beside the wheel: installed by pip, used in all its parts, and uninstalled."""

import json
from pathlib import Path
from shutil import copytree

import pytest

from tests.installed.wheel import install_wheel
from tests.plugins.distributions import EXAMPLE
from tests.plugins.test_example import BREAD, GIVEN, MILL, SETTINGS, WHEEL, make_wiki

DOCMILL = ["-m", "docmill.flows.cli.app"]
QUERY = ["search", "wheel river", "-k", "1", "--json"]


@pytest.mark.slow
def test_the_example_comes_and_goes(tmp_path: Path, shared: Path) -> None:
    installed = install_wheel(tmp_path, shared)
    package = copytree(EXAMPLE, tmp_path / "package")
    installed.pip("install", "--no-deps", "--no-index", "--no-build-isolation", str(package))
    user = tmp_path / "user"
    (user / "docs").mkdir(parents=True)
    (user / "docs" / "mill.md").write_text(MILL)
    (user / "docs" / "bread.cook").write_text(BREAD)
    (user / "docmill.toml").write_text(SETTINGS)
    make_wiki(user)

    listed = json.loads(installed.run(*DOCMILL, "plugins", "--json", cwd=user))
    assert {(one["group"], one["name"], one["problem"]) for one in listed} == {
        (f"docmill.{group}", name, "") for group, name in GIVEN.items()
    }
    installed.run(*DOCMILL, "ingest", cwd=user)
    titles = "SELECT title FROM documents WHERE reader <> ''"
    read_by = json.loads(installed.run(*DOCMILL, "sql", "--json", titles, cwd=user))
    assert [row["title"] for row in read_by] == ["Mill bread"]
    (best,) = json.loads(installed.run(*DOCMILL, *QUERY, cwd=user))
    assert WHEEL.items() <= best.items()
    assert "shared_words gives 1.000" in json.dumps(best)

    installed.pip("uninstall", "-y", "docmill-example")
    refused = installed.run(*DOCMILL, "ingest", cwd=user, status=1)
    assert "strategy 'paragraphs' does not exist" in refused
    (same,) = json.loads(installed.run(*DOCMILL, *QUERY, "--mode", "keyword", "--set", "search.rerank=", cwd=user))
    assert WHEEL.items() <= same.items()
