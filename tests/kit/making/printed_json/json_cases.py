"""What commands print with `--json` in rarer cases: behind a gate, at a limit, of a damaged store."""

import importlib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.runs import reach_sources
from docmill.storage.plugins.registry import Registry
from docmill.tasks.sources.discover import SOURCES
from tests.kit.making.printed_json.json_samples import run, workplace
from tests.kit.model_server import ModelServer
from tests.kit.remote_bench import make_bucket, object_store
from tests.plugins.distributions import write_distribution

Told = Iterator[tuple[str, Any]]
"""What commands print, each with the name of its command."""
_TOOLS = (
    "anvil", "bellows", "chisel", "drill", "easel", "file", "gimlet", "hammer", "jig", "kiln", "lathe", "mallet",
    "nail", "oven", "plane", "quill", "rasp", "saw", "tongs", "urn", "vise", "wrench", "yoke", "adze",
)  # fmt: skip
_TRIED = ("--strategy", "structure", "--strategy", "sentence", "--size", "20", "--context", "structural",
          "--weight", "0.4", "--characters", "60")  # fmt: skip
_PLUGIN = """
from docmill.plugins import SourceItem, SourceListing, SourceSettings
from docmill.storage.errors import Rejected, Transient

down = []

class Nest:
    def list(self, checkpoint):
        if down:
            raise Transient("the tree is down")
        return SourceListing([SourceItem("egg.md", "1")])

    def fetch(self, item):
        raise Rejected("unreadable", "the egg is gone")

    def link(self, item):
        return ""

class Nests:
    version, settings = 1, SourceSettings

    def open(self, settings):
        return Nest()
"""
_JAPANESE = "水車は川のそばに立ち、冬の間も小麦を挽いている。粉は袋に詰められて、町の市場へ運ばれる。"


@cache
def cases() -> dict[str, list[Any]]:
    """Return what commands print in these cases, by their names; it takes some 30 s, once in a process."""
    found: dict[str, list[Any]] = defaultdict(list)
    for case in (_held_back, _unanswered, _judged, _paid, _poor, _far, _damaged):
        with workplace() as server, pytest.MonkeyPatch.context() as patch:
            for name, value in case(server, patch):
                found[name].append(value)
    return found


def _set(patch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        patch.setenv(f"DOCMILL_{name}", value)


def _documents(texts: dict[str, str]) -> None:
    for path in Path("docs").iterdir():
        path.unlink()
    for name, text in texts.items():
        Path("docs", name).write_text(text, encoding="utf-8")


def _held_back(_: ModelServer, patch: pytest.MonkeyPatch) -> Told:
    """A gate holds a snapshot back, and a person publishes it; some questions have no answer, one group the worst."""
    patch.setenv("DOCMILL_CHUNK__CONTEXTUALIZER", "none")
    tools = dict(enumerate(_TOOLS[:12]))
    _documents({f"{name}.md": f"# {name}\n\nThe {name} lies in box {n}.\n" for n, name in tools.items()})
    rows = "".join(f"where is the {name},{name}.md,The {name} lies in box {n}.\n" for n, name in tools.items())
    Path("q.csv").write_text(f"question,uri,phrase\n{rows}")
    run("ingest", "left=docs")
    Path("other").mkdir()
    for name in _TOOLS[12:20]:
        Path("other", f"{name}.md").write_text(f"# {name}\n\nThe {name} is as old as the hills.\n")
    more = "".join(f"how old is the {name},right/{name}.md,old as the hills\n" for name in _TOOLS[12:20])
    known = rows.replace(",", ",left/").replace("left/The", "The")
    Path("all.csv").write_text(f"question,uri,phrase\n{known}{more}who made it,nobody.md,by nobody\n")
    run("ingest", "left=docs", "right=other")
    yield "evaluate questions", run("evaluate", "questions", "--questions", "all.csv", "--by", "source")
    patch.setenv("DOCMILL_GATE__METRIC", "RR")
    Path("q.csv").write_text(f"question,uri,phrase\n{known}")
    _documents({f"{name}.md": f"# {name}\n\nNothing is said here any more.\n" for name in tools.values()})
    yield "ingest", run("ingest", "left=docs", "right=other")
    yield "publish", run("publish")


def _unanswered(_: ModelServer, patch: pytest.MonkeyPatch) -> Told:
    """People ask what the store has no answer to."""
    patch.setenv("DOCMILL_CHUNK__CONTEXTUALIZER", "none")
    run("ingest", "docs")
    for _again in range(2):
        run("search", "xylophone tuning", "--mode", "keyword")
    yield "queries gaps", run("queries", "gaps")


def _judged(_: ModelServer, patch: pytest.MonkeyPatch) -> Told:
    """Enough queries are judged for `tune` and `learn` to decide."""
    patch.setenv("DOCMILL_CHUNK__CONTEXTUALIZER", "none")
    patch.delenv("DOCMILL_GATE__QUESTIONS")
    facts = (f"The {name} hangs on hook number {number} by the door." for number, name in enumerate(_TOOLS, 10))
    _documents({"tools.md": "# Tools\n\n" + " ".join(facts) + "\n"})
    run("ingest", "docs")
    for number, name in enumerate(_TOOLS, 10):
        quoted = f"hook number {number}"
        run("judge", "add", f"where hangs the {name}", "--uri", "tools.md", "--quote", quoted, "--by", "Ada")
    yield "tune", run("tune", "docs", *_TRIED)
    patch.setenv("DOCMILL_SEARCH__WEIGHT", "1")  # by vectors alone, which are bad ones here
    _documents({f"{name}.md": f"# {name}\n\nThe {name} hangs on hook {n}.\n" for n, name in enumerate(_TOOLS)})
    run("ingest", "docs", "--allow-delete")
    for number, name in enumerate(_TOOLS):
        quoted = f"hangs on hook {number}"
        run("judge", "add", f"the {name} hangs where", "--uri", f"{name}.md", "--quote", quoted, "--by", "Ada")
    yield "learn run", run("learn", "run", "docs")
    yield "learn list", run("learn", "list")


def _paid(server: ModelServer, patch: pytest.MonkeyPatch) -> Told:
    """Models have a price and a limit."""
    patch.setenv("OPENAI_API_KEY", "a key")
    patch.setenv("XDG_CACHE_HOME", str(Path("cache").absolute()))
    patch.delenv("DOCMILL_GATE__QUESTIONS")
    _documents({f"{name}.md": f"# {name}\n\n{f'The {name} lies in a box. ' * 20}\n" for name in _TOOLS})
    _set(patch, MODEL__PRICES='{"input": 1000, "output": 1000}', MODEL__MAX_CALLS="5")
    yield "plan", run("plan", "docs")
    yield "ingest", run("ingest", "docs")
    _set(patch, STORE="other", CHUNK__CONTEXTUALIZER="none", EMBEDDING__MODEL="openai:loopback")
    _set(patch, EMBEDDING__BASE_URL=f"{server.url}/v1", EMBEDDING__PRICE="1000", EMBEDDING__BATCH_TEXTS="1")
    planned = run("plan", "docs")
    yield "plan", planned
    patch.setenv("DOCMILL_MODEL__MAX_COST", str(planned["embedding"]["money"] / 2))
    yield "ingest", run("ingest", "docs")


def _poor(server: ModelServer, patch: pytest.MonkeyPatch) -> Told:
    """A model reads a language poorly, another fails, and a plugin's source first loses a file and then all."""
    patch.delenv("DOCMILL_EMBEDDING__MODEL")
    name = "nest_of_cases"
    patch.setattr(SOURCES, "__dict__", Registry(SOURCES.seam, SOURCES.own, SOURCES._adapt).__dict__)
    write_distribution(Path("site"), "acme", {"sources/nest": f"{name}:Nests"}, {name: _PLUGIN})
    patch.syspath_prepend(str(Path("site").absolute()))
    _documents({f"{number}.md": f"# {number}\n\n{_JAPANESE * 3}\n" for number in range(16)})
    server.behave("refusal")
    run("ingest", "docs", "nest://tree")
    yield "status", run("status")
    yield "plugins", run("plugins")
    patch.setattr(reach_sources, "FIRST_PAUSE_S", 0.0)
    importlib.import_module(name).down.append(True)
    yield "plan", run("plan", "docs", "nest://tree")
    yield "ingest", run("ingest", "docs", "nest://tree")


def _far(_: ModelServer, patch: pytest.MonkeyPatch) -> Told:
    """The store is on an object store."""
    patch.setenv("DOCMILL_CHUNK__CONTEXTUALIZER", "none")
    patch.setenv("DOCMILL_MIRRORS", str(Path("mirrors").absolute()))
    with object_store() as environment:
        for name, value in environment.items():
            patch.setenv(name, value)
        make_bucket("bucket")
        run("ingest", "docs", "--store", "s3://bucket/store")
        yield "status", run("status", "--store", "s3://bucket/store")


def _damaged(_: ModelServer, patch: pytest.MonkeyPatch) -> Told:
    """A file of the store is gone."""
    patch.setenv("DOCMILL_CHUNK__CONTEXTUALIZER", "none")
    run("ingest", "docs")
    next(Path("store/tables/chunks").glob("*.parquet")).unlink()
    yield "verify", run("verify")
