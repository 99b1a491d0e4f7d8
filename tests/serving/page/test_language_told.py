"""The page names the languages that the embedding model cannot read, on a server and in a report."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from tests.flows.test_warnings import JAPANESE
from tests.kit.workbench import MakeBench
from tests.serving.http_server import running

pytestmark = pytest.mark.usefixtures("fake_model")
TOLD = "vectors say little about documents in ja (2)"


def test_the_header_names_a_language_that_the_model_cannot_read(
    page: Any, make_bench: MakeBench, tmp_path: Path
) -> None:
    bench, access = make_bench({f"{n}.md": f"# {n}\n\n{JAPANESE}\n" for n in range(2)}), Access(port=0)
    with running(http_app(OpenStores({"mills": bench.root}), Searching({}), access), access) as url:
        page.goto(f"{url}/#/map")
        page.get_by_text(TOLD).wait_for()
        page.goto("about:blank")  # it asks every few seconds, and would miss its server
    report = tmp_path / "report"
    done = CliRunner().invoke(app, ["report", "--store", str(bench.root), "--html", str(report)])
    assert done.exit_code == 0, done.output
    page.goto((report / "index.html").as_uri())
    page.get_by_text(TOLD).wait_for()
