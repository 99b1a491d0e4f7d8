"""`kill -9` at random moments of every verb that writes."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kit.workbench import Workbench
from tests.soak_store import children
from tests.soak_store.ledger import Rows, Tally
from tests.soak_store.places import Place, Room, elsewhere, on, release, rows_of
from tests.soak_store.verbs import Verb, ingest_all

_TRIES = 4  # runs for each kill that is wanted: some end before they are killed
_IN_A_ROW = 0.3  # share of the kills after which the store is not mended before the next one, as on a bad night


@dataclass(frozen=True, slots=True)
class Scene:
    """A store about to be attacked, its rows before a verb and after it, and the seconds that the verb takes."""

    base: Workbench
    before: Rows
    done: Rows
    wanted: Rows
    seconds: float


def set_scene(verb: Verb, place: Place, folder: Path, model: Path) -> Scene:
    """Lay a store out, and run the verb unharmed on a copy."""
    base = place.make(folder / "base")
    verb.lay(base)
    unharmed = place.twin(base, folder / "unharmed")
    seconds = children.duration(verb.work, unharmed, model)
    done = rows_of(on(unharmed, "reader"))
    unharmed.settings.update(verb.settings)
    unharmed.ingest(allow_delete=True)
    return Scene(base, rows_of(base), done, rows_of(unharmed), seconds)


def kill_verb(verb: Verb, place: Place, own: Tally, kills: int, room: Room) -> None:
    """Kill the verb until so many kills have met a live process, and check the store after each."""
    folder, model, rng = room.folder, room.model, room.rng
    scene = set_scene(verb, place, folder, model)
    bench = _fresh(scene, place, folder)
    while own.faults < kills and own.runs < _TRIES * kills:
        own.runs += 1
        own.faults += children.kill_after(
            children.start(verb.work, bench, model), rng.uniform(0.05, 1.0) * scene.seconds
        )
        own.count_lost(rows_of(on(bench, f"reader-{own.runs}")), (scene.before, scene.done))
        if rng.random() < _IN_A_ROW and own.faults < kills:
            release(bench)
            continue
        release(bench)
        _mend(verb, elsewhere(bench, f"machine-{own.runs}") if own.runs % 2 else bench, scene, own)
        bench = _fresh(scene, place, folder)


def _mend(verb: Verb, bench: Workbench, scene: Scene, own: Tally) -> None:
    """Do what a person would: run the verb again, then ingest."""
    verb.work(bench)
    bench.settings.update(verb.settings)
    ingest_all(bench)
    own.compare(bench, scene.wanted)


def _fresh(scene: Scene, place: Place, folder: Path) -> Workbench:
    shutil.rmtree(folder / "attacked", ignore_errors=True)
    return place.twin(scene.base, folder / "attacked")


def shares(total: int, parts: Sequence[object]) -> list[int]:
    """Return whole numbers near to each other whose sum is the total."""
    return [(total + i) // len(parts) for i in range(len(parts))]
