"""What a run lists and fetches is counted by source, shown while it goes on, and remembered with its success."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.cli.terminal.progress import figures
from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import remove
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.phases import Phase, sized
from docmill.flows.runs.pipeline import ingest
from docmill.storage.errors import SourceError, Transient
from docmill.storage.snapshots.history.source_log import log_sources, logged_sources
from tests.connectors.test_web import QUICK, page
from tests.kit.fake_encoder import NAME
from tests.kit.site import Site, site_on_loopback
from tests.kit.workbench import Workbench

Bench = Callable[..., Workbench]


@pytest.fixture
def site() -> Iterator[Site]:
    with site_on_loopback() as made:
        made.pages |= {"/": page("Start", "/a"), "/a": page("Auk"), "/robots.txt": ""}
        yield made


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:  # noqa: ARG001  the store's model
    made = Workbench(tmp_path / "bench", {"source": {"farm": {**QUICK, "depth": 2}}, "run": {"retries": 0}})
    made.write({"owl.md": "# Owl\n"})
    return made


def counts(report: Any) -> dict[str, tuple[int, int]]:
    return {one.source: (one.listed, one.fetched) for one in report.sources}


def test_items_and_bytes_are_counted_by_source_in_the_report(bench: Workbench, site: Site) -> None:
    sources = str(bench.docs), f"farm={site.url}/"
    planned = bench.ingest(*sources, dry_run=True)
    assert counts(planned) == {"docs": (1, 0), "farm": (2, 2)}
    assert "2 to fetch (" in planned.as_text()
    first = bench.ingest(*sources)
    assert counts(first) == counts(planned)
    docs, farm = first.sources
    assert (docs.listed_bytes, docs.far, farm.fetched_bytes, farm.far) == (
        6,
        False,
        len(page("Start", "/a") + page("Auk")),
        True,
    )
    assert f"  source     farm 2 listed, 2 fetched ({farm.fetched_bytes} B)" in first.as_text().splitlines()
    assert first.as_json()["sources"][0]["listed_bytes"] == 6
    assert counts(bench.ingest(*sources)) == {"docs": (1, 0), "farm": (2, 0)}


def test_listing_and_fetching_are_shown_while_they_go_on(bench: Workbench, site: Site) -> None:
    phases: list[Phase] = []
    settings = Settings(store=bench.root, **{"embedding": {"model": NAME}, **bench.settings})
    with LocalEngine(phases.append) as engine:
        ingest(settings, [f"farm={site.url}/"], engine)
    farm = [(one.name, one.done, one.total) for one in phases if one.source == "farm"]
    assert farm[0] == ("list", 1, 0)
    assert ("list", 2, 0) in farm
    assert farm[-1] == ("fetch", 2, 2)
    assert figures(Phase("list", 3, 0, "items", source="farm", bytes=1200)) == "3 items of farm (1.2 kB)"
    assert figures(Phase("list", 3, 0, "items", source="farm")) == "3 items of farm"
    assert figures(Phase("fetch", 3, 40, "items", source="farm", bytes=12)) == "3 of 40 items of farm (12 B)"
    assert sized(2_500_000) == "2.5 MB"


def test_the_log_has_the_last_success_and_why_a_source_is_lacked(bench: Workbench, site: Site) -> None:
    sources = str(bench.docs), f"farm={site.url}/"
    bench.ingest(*sources)
    before = logged_sources(bench.root)["farm"]
    assert (before.address, before.listed, before.fetched, before.failed) == (f"{site.url}/", 2, 2, "")
    site.pages["/"] = lambda request: request.answer(404)
    assert bench.ingest(*sources).exit_status == 5
    lacked = logged_sources(bench.root)["farm"]
    assert (lacked.succeeded, lacked.listed) == (before.succeeded, 2)
    assert lacked.failed
    assert "answers 404" in lacked.message
    with pytest.raises(SourceError):
        bench.ingest(sources[1])
    assert logged_sources(bench.root)["docs"].message == ""
    site.pages["/"] = page("Start", "/a")
    bench.ingest(*sources)
    assert logged_sources(bench.root)["farm"].message == ""
    remove(Settings(store=bench.root), ["farm"])
    assert [*logged_sources(bench.root)] == ["docs"]


def test_a_run_that_fails_for_its_only_source_says_so_in_the_log_and_makes_no_store(
    bench: Workbench, site: Site
) -> None:
    site.pages["/"] = lambda request: request.answer(503)
    with pytest.raises(Transient):
        bench.ingest(f"farm={site.url}/")
    assert logged_sources(bench.root) == {}
    bench.ingest()
    with pytest.raises(Transient):
        bench.ingest(f"farm={site.url}/")
    assert "answers 503" in logged_sources(bench.root)["farm"].message


def test_a_damaged_log_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    for damage in (b"", b"[1]", b'[{"source": "a", "age": 3}]', b"\xff"):
        (tmp_path / "cache" / "sources.json").write_bytes(damage)
        assert logged_sources(tmp_path) == {}
    log_sources(tmp_path, (), {}, {"a": "away"})
    assert logged_sources(tmp_path)["a"].message == "away"


def test_the_command_lists_sources_with_their_settings(
    bench: Workbench, site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench.ingest(str(bench.docs), f"farm={site.url}/")
    monkeypatch.chdir(tmp_path)
    Path("docmill.toml").write_text(
        f"""store = "{bench.root}"
sources = ["farm={site.url}/", "feed://news"]
[source.farm]
depth = 2
private = true
token = {{ env = "FARM_TOKEN" }}
[source.news]
url = "https://example.org/feed"
"""
    )
    done = CliRunner().invoke(app, ["sources", "--json"])
    assert done.exit_code == 0, done.output
    rows = {row["source"]: row for row in json.loads(done.stdout)}
    assert [*rows] == ["farm", "news", "docs"]
    assert rows["farm"]["settings"] == {"depth": 2, "private": True, "token": {"env": "FARM_TOKEN"}}
    assert (rows["farm"]["documents"], rows["farm"]["listed"], rows["farm"]["fetched"]) == (2, 2, 2)
    assert (rows["docs"]["address"], rows["docs"]["documents"]) == (str(bench.docs.resolve()), 1)
    assert (rows["news"]["address"], rows["news"]["succeeded"]) == ("feed://news", "")
    text = CliRunner().invoke(app, ["sources"], env={"COLUMNS": "250"}).stdout
    assert 'depth = 2, private = true, token = {env = "FARM_TOKEN"}' in text
    assert "never" in text
    told = CliRunner().invoke(app, ["status"]).stdout
    assert "farm 2 listed and 2 (" in told
