"""The rate of a run: that of the last minute, by what is finished."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import docmill
from docmill.flows.runs import phases
from docmill.flows.runs.phases import EMBED, PARSE, Pace, Phase
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench


def ticking(*moments: float) -> Callable[[], float]:
    """Return a clock that shows one moment after the other."""
    return iter(moments).__next__


def test_the_rate_is_that_of_the_last_minute() -> None:
    found = Pace(clock=ticking(0, 10, 60, 70, 80))
    assert [found.rate(done) for done in (100, 200, 1200, 2200)] == [10.0, 200 / 60, 1100 / 60, 30.0]


def test_the_time_before_the_first_finished_work_does_not_count() -> None:
    found = Pace(warming=50, clock=ticking(30, 40, 45, 50))
    assert [found.rate(done) for done in (50, 60, 160, 260)] == [0.0, 0.0, 20.0, 20.0]


def test_a_rate_falls_when_nothing_is_finished_for_a_minute() -> None:
    found = Pace(clock=ticking(0, 10, 20, 50, 100, 210))
    assert [found.rate(done) for done in (100, 200, 200, 200, 200)] == [10.0, 10.0, 10.0, 100 / 90, 0.5]


@pytest.mark.usefixtures("fake_model")
def test_what_is_embedded_beside_the_parsers_is_no_time_of_the_parse_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order at work when all is parsed belongs to the next phase, which counts its finished portions."""
    from docmill.flows.runs import backlog, batches
    from docmill.storage.snapshots.artifacts import staging

    monkeypatch.setattr(backlog, "EMBED_CHUNKS", 1)  # the first batch is enough for an order
    monkeypatch.setattr(batches, "BATCH_DOCUMENTS", 4)
    monkeypatch.setattr(staging, "_FIRST_TEXTS", 1)
    monkeypatch.setattr(phases, "LOOK_S", 0.01)
    parsed, looked = threading.Event(), threading.Event()
    written = staging._write

    def held(target: Path, tables: list[object]) -> None:
        """Hold the first order back until all is parsed, and until its first portion was reported."""
        parsed.wait(60)
        if target.stem.count("-") > 1 and "-00000-00001-" in target.name:
            looked.wait(60)
        written(target, tables)

    monkeypatch.setattr(staging, "_write", held)
    seen: list[Phase] = []

    def show(phase: Phase) -> None:
        seen.append(phase)
        if phase.name == EMBED:
            parsed.set()
            if phase.done:
                looked.set()

    bench = Workbench(tmp_path / "bench")
    bench.write({f"{n}.md": f"# Bird {n}\n\nIt sings.\n" for n in range(8)})
    docmill.ingest(bench.docs, store=bench.root, options={"embedding.model": NAME, "engine": "local"}, progress=show)
    assert looked.is_set(), "the phase went on while the order was at work"
    embedding = [phase for phase in seen if phase.name == EMBED]
    assert all(phase.name != PARSE for phase in seen[seen.index(embedding[0]) :])
    done = [phase.done for phase in embedding]
    assert done == sorted(done)
    assert [phase.done == phase.total for phase in embedding].count(True) == 1
