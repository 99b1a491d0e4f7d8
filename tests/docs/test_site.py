"""The documentation site builds without a warning, and loads nothing from the network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.house import ROOT

LOADED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="?(https?://[^"\s>]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does: a broken link is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_a_page_for_each_page_of_the_docs(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert pages
    assert {page for page in pages if not (site / page).is_file()} == set()


def test_the_site_loads_nothing_from_the_network(site: Path) -> None:
    """A link that a reader may follow is no load; `rel=canonical` and the like are not there either."""
    loaded = {path.name: LOADED.findall(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert {name: found for name, found in loaded.items() if found} == {}
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"""(?:url\(|@import\s*)["']?https?:""", styles) == []


def test_every_page_with_a_chart_has_the_program_that_draws_it(site: Path) -> None:
    drawn = [path for path in site.rglob("*.html") if 'class="mermaid"' in path.read_text(encoding="utf-8")]
    assert drawn
    for path in drawn:
        (script,) = re.findall(r'src="([^"]*mermaid[^"]*)"', path.read_text(encoding="utf-8"))
        assert (path.parent / script).is_file()


def test_the_search_works_from_disk(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    assert "assets/vendor/iframe-worker.js" in (site / "index.html").read_text(encoding="utf-8")
