"""Draw the house and the way of one document through it, from the code and a run, into docs/design/architecture.md.

python -m tests.kit.making.make_architecture
"""

import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import chain, groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pyarrow as pa
import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import LocalEngine, Node
from docmill.flows.runs.pipeline import ingest
from docmill.storage.schema import Draft, Parsed, StagedDocument
from docmill.storage.search.encode import encoder, space
from docmill.storage.snapshots.artifacts.staging import Batch
from docmill.storage.snapshots.tables.spill import Spill
from docmill.storage.snapshots.write.commit import Changes
from docmill.tasks.chunking.route import Routed
from docmill.tasks.work.batch import batch
from docmill.tasks.work.document.process import WorkRequest, WorkResult
from docmill.tasks.work.document.work_item import WorkItem
from tests.kit import fake_encoder
from tests.kit.house import LAYERS, ROOT, folder_graph

T = TypeVar("T")
PAGE = ROOT / "docs" / "design" / "architecture.md"
_WIDE = '%%{init: {"flowchart": {"useMaxWidth": false, "nodeSpacing": 14, "rankSpacing": 30, "padding": 8}}}%%'
"""Lets a chart have the width that it needs, and a reader scroll it: as wide as the page, 40 folders are too small."""
GROUND = ("docmill.storage", "docmill.tasks.work.pool")  # rows, keys, files and processes: no stop on the way
STEPS = {  # the modules that hand a document on, in the order in which it meets them
    "docmill.tasks.work.document.process": "one document, in a worker process",
    "docmill.tasks.work.batch.batch": "a batch of documents",
    "docmill.tasks.work.batch.embed": "vectors",
    "docmill.tasks.publishing.publish": "rows of the run",
    "docmill.storage.snapshots.write.commit": "the commit",
}
WORDS = "reset the branch"
TEXT = f"# Undo\n\nTo undo a commit, {WORDS}.\n"
CARRIERS = (WorkItem, WorkRequest, WorkResult, Parsed, Draft, StagedDocument, Routed, Batch, Changes)
"""Values that hold a document on its way."""


class InLine(LocalEngine):
    """An engine that runs each step at once, in the thread that asks for it."""

    def submit(self, step: Callable[..., T], *args: Any, node: Node | None = None) -> Future[T]:
        del node
        done: Future[T] = Future()
        done.set_result(step(*args))
        return done


class OwnProcess:
    """A pool whose one worker is this process, so that its calls are seen."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], _light: bool = False) -> list[Any]:
        return [function(item) for item in items]


def house(layer: str) -> str:
    """Return the rooms of a layer, its folders and what is below each, as a mermaid chart of their imports.

    Arrows that others imply are left out.
    """
    graph: dict[str, set[str]] = {}
    for name, imported in folder_graph().items():
        if _layer(name) == layer:
            lower = {_room(one) for one in imported if _layer(one) == layer}
            graph[_room(name)] = graph.get(_room(name), set()) | lower - {_room(name)}
    lines = [_WIDE, "flowchart LR"]
    lines += [f"    {upper} --> {lower}" for upper in sorted(graph) for lower in sorted(_direct(upper, graph))]
    return "\n".join(lines)


def _room(name: str) -> str:
    """Return the first folder below the layer that has modules, or the layer for the modules beside these."""
    layer, *below = name.split("/")
    parts = [layer]
    for one in below:
        parts.append(one)
        if any(path.name != "__init__.py" for path in (ROOT / "/".join(parts)).glob("*.py")):
            break
    return ".".join(parts[1:]) or layer


@cache  # it ingests a document, which takes seconds
def way() -> list[tuple[str, str]]:
    """Return the stops of one Markdown document from bytes to snapshot: the step that calls, and the module called."""
    return list(dict.fromkeys((upper, lower) for upper, lower in _calls() if _is_stop(upper, lower)))


def returns(stops: Sequence[tuple[str, str]]) -> int:
    """Return how often a document comes back to a module that had it before another did, each hand-over taken once."""
    entered = [one for one, _ in groupby(chain.from_iterable(stops))]
    return len(entered) - len({*entered})


def way_chart() -> str:
    """Return the way of a document as a mermaid chart: its steps in order, each with the modules that it calls."""
    stops = way()
    lines = ["flowchart TD"]
    for step, about in STEPS.items():
        lines.append(f'    subgraph {_id(step)}_step["{_short(step)}: {about}"]')
        called = sorted(lower for upper, lower in stops if upper == step and lower not in STEPS)
        lines += [f'        {_id(step)}_{number}["{_short(name)}"]' for number, name in enumerate(called)]
        lines.append("    end")
    lines += [f"    {_id(one)}_step --> {_id(other)}_step" for one, other in pairwise(STEPS)]
    return "\n".join(lines)


def page(text: str) -> str:
    """Return the page with both charts drawn anew."""
    stops = way()
    modules = {lower for _, lower in stops} | set(STEPS)
    for layer in LAYERS[:-1]:
        text = _between(text, layer, f"```mermaid\n{house(layer)}\n```")
    return _between(
        text,
        "way",
        f"It is handed to {len(modules)} modules, the five steps included, and comes back {returns(stops)} times to "
        f"one that it had left.\n\n```mermaid\n{way_chart()}\n```",
    )


def _between(text: str, mark: str, drawn: str) -> str:
    head, rest = text.split(f"<!-- {mark} -->\n", 1)
    tail = rest.split(f"<!-- /{mark} -->", 1)[1]
    return f"{head}<!-- {mark} -->\n{drawn}\n<!-- /{mark} -->{tail}"


def _is_stop(upper: str, lower: str) -> bool:
    same = _folder(upper) == _folder(lower)
    return upper in STEPS and _folder(lower) not in GROUND and (not same or lower in STEPS)


def _calls() -> list[tuple[str, str]]:
    """Return which module called which, in order, while one document was ingested."""
    calls: list[tuple[str, str]] = []

    def see(frame: FrameType, event: str, _argument: object) -> None:
        lower = frame.f_globals.get("__name__", "")
        if event != "call" or not lower.startswith("docmill."):
            return
        if (upper := _caller(frame)) != lower and _is_handed_over(frame):
            calls.append((upper, lower))

    with tempfile.TemporaryDirectory() as folder, _alone(Path(folder)), InLine() as engine:
        (Path(folder) / "docs").mkdir()
        (Path(folder) / "docs" / "git.md").write_text(TEXT)
        for name in ("before", "store"):  # the first run loads modules and what they keep; the second is drawn
            values = {"store": Path(folder) / name, "embedding": {"model": fake_encoder.NAME}}
            with _profiled(see) if name == "store" else nullcontext():
                ingest(Settings.model_validate(values), [str(Path(folder) / "docs")], engine)
    return calls


def _is_handed_over(frame: FrameType) -> bool:
    """Say whether a call hands the document on: to a function, as its bytes, its text or values made from it."""
    code = frame.f_code
    if code.co_name.startswith(("<", "__")):  # values are made and iterated on the way, which is no stop
        return False
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return any(_holds(frame.f_locals.get(name)) for name in names)


def _holds(value: object) -> bool:
    """Say whether a value is the document, or rows of it, or holds these."""
    if isinstance(value, pa.Table | Spill):
        return isinstance(value, Spill) or value.num_rows > 0
    if isinstance(value, list | tuple):
        return any(map(_holds, value))
    if isinstance(value, Generator):  # rows on their way, of which none may be taken here
        return True
    return isinstance(value, CARRIERS) or (isinstance(value, str | bytes) and str(value).count(WORDS) > 0)


def _caller(frame: FrameType) -> str:
    """Return the module of ours that called, over frames of other packages."""
    above = frame.f_back
    while above is not None and not str(above.f_globals.get("__name__", "")).startswith("docmill."):
        above = above.f_back
    return str(above.f_globals["__name__"]) if above is not None else ""


@contextmanager
def _profiled(see: Callable[[FrameType, str, object], None]) -> Iterator[None]:
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Ingest with the fake model, and without other processes."""
    written = fake_encoder.write_model(folder / fake_encoder.NAME)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(space.FOLDERS, fake_encoder.NAME, lambda: written)
        patch.setitem(encoder.LOADERS, fake_encoder.NAME, fake_encoder.TokenCounts)
        patch.setattr(batch, "shared_pool", lambda _limits: OwnProcess())
        yield


def _direct(upper: str, graph: dict[str, set[str]]) -> set[str]:
    """Return the folders that one imports and that no other of these leads to."""
    implied = {far for lower in graph[upper] for far in _reached(lower, graph)}
    return graph[upper] - implied


def _reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting: list[str] = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def _folder(module: str) -> str:
    return module.rpartition(".")[0]


def _layer(name: str) -> str:
    return name.split("/")[0]


def _id(name: str) -> str:
    return name.replace("/", "_").replace(".", "_")


def _short(name: str) -> str:
    return name.removeprefix("docmill.")


def main(arguments: Sequence[str] = ()) -> None:
    """Write the page; with `--print` print the stops of the way instead."""
    if "--print" in arguments:
        print(*(f"{_short(upper)} -> {_short(lower)}" for upper, lower in way()), sep="\n")
        return
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
