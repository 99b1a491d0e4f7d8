"""Faults other than a kill: a bucket that misbehaves, a full disk, two machines at once, a source that changes."""

import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from docmill.storage.errors import DocmillError
from tests.kit.fake_encoder import NAME
from tests.kit.faults import lacking
from tests.kit.workbench import Workbench
from tests.soak_store import children
from tests.soak_store.faulty_proxy import Weather
from tests.soak_store.ledger import Rows, Tally
from tests.soak_store.places import Place, Room, elsewhere, on, release
from tests.soak_store.verbs import edit, ingest_all, lay_two

WEATHERS = {"slow": 0.3, "503": 0.2, "dropped": 0.2, "lost answer": 0.2, "cut": 0.2, "flipped": 0.2, "down": 0.1}
"""The faults of a bucket, and the share of the requests that meet one."""

_LARGEST = (2_000, 60_000)  # bytes; the files of these stores have from some hundred to about sixty thousand
_ENDED = (0, 3)  # exit statuses of a run that committed; one file of the source is rejected
_PAUSE_S = 0.002  # between two changes of a source
_FOLDERS = 12  # that come and go
_STILL = {f"still/page-{i}.md": f"# Still {i}\n\nThis page never changes; its number is {i}.\n" for i in range(12)}
_MOVING: dict[str, str | bytes] = {
    f"moving/{i}/page.md": f"# Page {i}\n\nThis page moves.\n" for i in range(_FOLDERS // 2)
}


def clean_rows(bench: Workbench, folder: Path) -> Rows:
    """Return the rows of a new store of a bench's documents."""
    made = Workbench(folder)
    shutil.copytree(bench.docs, made.docs, symlinks=True)
    made.ingest()
    rows = made.chunks()
    shutil.rmtree(folder)
    return rows


def strike_bucket(place: Place, weather: Weather, fault: str, own: Tally, rounds: int, room: Room) -> None:
    """Ingest on a bucket in bad weather, and compare in good weather on another machine."""
    folder = room.folder
    bench = place.make(folder)
    lay_two(bench)
    for own.runs in range(1, rounds + 1):
        before = bench.chunks()
        edit(bench, f"word{own.runs}")
        wanted = clean_rows(bench, folder / "clean")
        with _in(weather, fault):
            _refusal(bench)
        own.faults = weather.met
        release(bench)
        if own.runs % 2:  # the mirror that was filled in bad weather is used again every second time
            bench = elsewhere(bench, f"machine-{own.runs}")
        own.count_lost(on(bench, f"reader-{own.runs}").chunks(), (before, wanted))
        ingest_all(bench)
        own.compare(bench, wanted)
    weather.met = 0


@contextmanager
def _in(weather: Weather, fault: str) -> Iterator[None]:
    weather.fault, weather.share = fault, WEATHERS[fault]
    try:
        yield
    finally:
        weather.fault, weather.down_until = "", 0.0


def fill_disk(place: Place, own: Tally, rounds: int, room: Room) -> None:
    """Ingest where a file can only grow to a random size, and again where it has room."""
    folder, model, rng = room.folder, room.model, room.rng
    base = place.make(folder / "base")
    lay_two(base)
    before = base.chunks()
    edit(base)
    base.write({f"long/{i}.md": f"# Long {i}\n\n" + f"The words of page {i} go on. " * 200 for i in range(8)})
    wanted = clean_rows(base, folder / "clean")
    for own.runs in range(1, rounds + 1):
        bench = place.twin(base, folder / "attacked")
        status = children.finish(children.start(ingest_all, bench, model, rng.randint(*_LARGEST)))
        own.faults += status == children.REFUSED
        release(bench)
        own.count_lost(on(bench, f"reader-{own.runs}").chunks(), (before, wanted))
        ingest_all(bench)
        own.compare(bench, wanted)
        shutil.rmtree(folder / "attacked")


def on_share(place: Place, own: Tally, rounds: int, room: Room) -> None:
    """Kill an ingest on a file system like an SMB share, without symbolic links; FAT, without links, is refused."""
    folder, model, rng = room.folder, room.model, room.rng
    bench = place.make(folder / "bench")
    lay_two(bench)
    library = lacking.build(folder)
    share, fat = (lacking.environment(library, bench.root, *lacks) for lacks in (lacking.SMB, lacking.FAT))
    began = time.monotonic()
    assert _command(bench, model, share).wait() in _ENDED
    seconds = time.monotonic() - began
    for own.runs in range(1, rounds + 1):
        before = bench.chunks()
        edit(bench, f"word{own.runs}")
        wanted = clean_rows(bench, folder / "clean")
        assert _command(bench, model, fat).wait() == 1, "a file system without hard links has to be refused"
        own.count_lost(bench.chunks(), (before,))
        running = _command(bench, model, share)
        with suppress(subprocess.TimeoutExpired):
            running.wait(rng.uniform(0.3, 1.0) * seconds)
        running.kill()
        own.faults += running.wait() == -signal.SIGKILL
        own.count_lost(bench.chunks(), (before, wanted))
        assert _command(bench, model, share).wait() in _ENDED
        own.compare(bench, wanted)


def _command(bench: Workbench, model: Path, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start `docmill ingest` as a process of its own, whose file system is that of an environment."""
    module = ("-m", "tests.kit.docmill_with_fake_model", str(model / NAME))
    store = ("--store", str(bench.root), "--embedding-model", NAME, "--engine", "local", "--allow-delete")
    command = [sys.executable, *module, "ingest", str(bench.docs), *store]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def two_at_once(place: Place, own: Tally, rounds: int, room: Room) -> None:
    """Let two machines ingest at the same time, and kill one of them half of the time."""
    folder, model, rng = room.folder, room.model, room.rng
    bench = place.make(folder)
    lay_two(bench)
    seconds = children.duration(ingest_all, bench, model)
    for own.runs in range(1, rounds + 1):
        before = bench.chunks()
        edit(bench, f"word{own.runs}")
        wanted = clean_rows(bench, folder / "clean")
        first = children.start(ingest_all, on(bench, "one"), model)
        second = children.start(ingest_all, on(bench, "two"), model)
        killed = rng.random() < 0.5 and children.kill_after(first, rng.uniform(0.1, 1.0) * seconds)
        ended = (children.finish(first), children.finish(second))
        own.faults += killed or children.REFUSED in ended
        release(bench)
        own.count_lost(on(bench, f"reader-{own.runs}").chunks(), (before, wanted))
        ingest_all(on(bench, "three"))
        own.compare(on(bench, "three"), wanted)


def churn(place: Place, own: Tally, rounds: int, room: Room) -> None:
    """Ingest a source whose files and folders come and go meanwhile, then once more when it is quiet."""
    folder, rng = room.folder, room.rng
    bench = place.make(folder)
    bench.write({**_STILL, **_MOVING})
    bench.ingest()
    for own.runs in range(1, rounds + 1):
        with _changing(bench.docs, random.Random(rng.random()), own):
            refused = _refusal(bench)
        if refused:
            own.lost += 1
            own.notes.append(f"run {own.runs}: the whole source was refused: {refused}")
        texts = [row.text for row in bench.chunks()]
        own.lost += sum(not any(page.splitlines()[-1] in text for text in texts) for page in _STILL.values())
        ingest_all(bench)
        own.compare(bench, clean_rows(bench, folder / "clean"))


@contextmanager
def _changing(docs: Path, rng: random.Random, own: Tally) -> Iterator[None]:
    """Change a source from a thread, and count the changes as faults."""
    stop = threading.Event()

    def change() -> None:
        while not stop.wait(_PAUSE_S):
            name, other = (docs / "moving" / str(rng.randrange(_FOLDERS)) for _ in range(2))
            with suppress(OSError):  # the folder is there already, or not any more
                rng.choice(_CHANGES)(name, other)
                own.faults += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _come(name: Path, _: Path) -> None:
    (name / "deep").mkdir(parents=True)
    (name / "page.md").write_text(f"# {name.name}\n\nThis page came.\n")


_CHANGES: tuple[Callable[[Path, Path], object], ...] = (
    _come,
    _come,
    lambda name, other: name.rename(other),
    lambda name, _: shutil.rmtree(name),
    lambda name, other: (name / "page.md").rename(other / "page.md"),
)


def _refusal(bench: Workbench) -> DocmillError | None:
    """Ingest; return the error of docmill's own that ended the run, if one did."""
    try:
        ingest_all(bench)
    except DocmillError as why:
        return why
    return None
