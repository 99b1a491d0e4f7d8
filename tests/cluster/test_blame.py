"""Who is blamed when a worker dies to which several steps were given."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Condition
from zipfile import ZipFile

import pytest

from docmill.flows.cluster.cluster import NEEDS_NOTHING, Needs, WorkerLost
from docmill.flows.cluster.cluster_engine import ClusterEngine
from docmill.flows.cluster.sender import ExclusiveSteps
from docmill.flows.config.settings import ClusterSettings
from docmill.flows.runs import batches
from docmill.flows.runs.pipeline import ingest
from docmill.flows.runs.report import Report
from docmill.storage.errors import Terminal
from docmill.storage.remote.objects.freight import Freight
from docmill.tasks.work.pool.plain_json import Readers, decode
from docmill.tasks.work.remote.carry import carry
from docmill.tasks.work.remote.parcels import Parcel
from docmill.tasks.work.remote.worker_steps import BATCH, EMBED, ORDER
from tests.kit.faults.cluster_runs import Heard, pages, settings_on
from tests.kit.workbench import Workbench

_COMPANY_S = 0.5


class OneWorker:
    """A cluster of one worker in this process, which dies over each parcel whose content is `deadly`.

    As Dask does, it blames a death on all steps that the worker has, also on those that it has not begun.
    """

    slots = 2

    def __init__(self, deadly: Callable[[str], bool]) -> None:
        self._deadly = deadly
        self._changed = Condition()
        self._held: list[int] = []
        self._dead: set[int] = set()
        self._number = 0

    def call(self, step: str, parcel: bytes, needs: Needs = NEEDS_NOTHING) -> bytes:
        """Carry out a step, beside another one if there is one soon."""
        del needs
        with self._given() as number:
            if self._dies(step, parcel, number):
                raise WorkerLost("lone")
            return carry(step, parcel)

    def _dies(self, step: str, parcel: bytes, number: int) -> bool:
        """Return whether the worker dies before it has carried out a step; others wait for a deadly one."""
        deadly = self._deadly(_content(step, parcel))
        with self._changed:
            if deadly:
                self._dead |= {*self._held}
                self._changed.notify_all()
            elif len(self._held) > 1:
                self._changed.wait_for(lambda: number in self._dead, _COMPANY_S)
            return number in self._dead

    def call_each(self, step: str, parcel: bytes) -> dict[str, bytes]:
        """Ask the one worker."""
        return {"lone": carry(step, parcel)}

    def places(self) -> dict[str, dict[str, float]]:
        """Return the one worker."""
        return {"lone": {}}

    def close(self) -> None:
        """Leave it."""

    @contextmanager
    def _given(self) -> Iterator[int]:
        """Hold a step, at first until there is another one, and yield its number."""
        with self._changed:
            self._number += 1
            number = self._number
            self._held.append(number)
            self._changed.notify_all()
            self._changed.wait_for(lambda: len(self._held) > 1, _COMPANY_S)
        try:
            yield number
        finally:
            with self._changed:
                self._held.remove(number)


def _content(step: str, parcel: bytes) -> str:
    """Return what travels with a parcel, or with a batch its order."""
    if step not in (BATCH, EMBED):
        return ""
    task: Parcel = decode(parcel, Readers().of(tuple[str, Parcel]))[1]
    path = Path(Freight(task.freight, task.store).url) / task.key
    if step == EMBED:
        return path.read_text()
    with ZipFile(path) as archive:
        return archive.read(ORDER).decode()


@pytest.fixture
def bench(tmp_path: Path, fake_model: str, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """Return a bench of one document; each is a batch of its own."""
    assert fake_model
    monkeypatch.setattr(batches, "BATCH_DOCUMENTS", 1)
    own = Workbench(tmp_path)
    own.write(pages(1))
    return own


def run(bench: Workbench, deadly: Callable[[str], bool]) -> Report:
    """Ingest a bench on a worker that dies over some contents."""
    freight = bench.folder / "freight"
    freight.mkdir(exist_ok=True)
    settings = settings_on(ClusterSettings(), bench, str(freight))
    with Heard() as inner:
        return ingest(settings, [str(bench.docs)], ClusterEngine(inner, OneWorker(deadly), settings.cluster))


def test_only_the_document_that_kills_workers_alone_is_rejected(bench: Workbench) -> None:
    bench.write({"poison.md": "# Poison\n"})
    report = run(bench, lambda content: "poison.md" in content)
    assert [(row.uri, row.reason) for row in report.rejects] == [("poison.md", "crashed")]
    assert report.documents.added == 1


def test_texts_that_kill_workers_together_are_embedded_in_halves_and_one_alone_is_named(bench: Workbench) -> None:
    bench.write(pages(6))
    assert run(bench, lambda content: content.count("knob") > 1).embedded == 6
    bench.write({"last.md": "# Last\n\nA deadly sentence.\n"})
    with pytest.raises(Terminal, match="worker lone died, as 2 did over one text alone, which begins 'Last"):
        run(bench, lambda content: "deadly" in content)


def test_a_step_that_must_be_alone_waits_for_others_and_keeps_new_ones_out() -> None:
    steps, seen = ExclusiveSteps(), list[str]()

    def step(name: str, alone: bool) -> None:
        with steps.turn(alone):
            seen.append(f"{name} begins")
            time.sleep(0.02)
            seen.append(f"{name} ends")

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(step, "first", False)
        while not seen:
            time.sleep(0.001)
        lone = threads.submit(step, "lone", True)
        time.sleep(0.005)
        late = threads.submit(step, "late", False)
        for one in (first, lone, late):
            one.result(5)
    assert seen == [f"{name} {what}" for name in ("first", "lone", "late") for what in ("begins", "ends")]
