"""The verbs that write to a store: how a store gets to where a verb has work to do, and the work."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import remove
from docmill.storage.errors import DocmillError, QueryError, StoreError
from docmill.storage.search.encode import encoder, space
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.space import describe_model
from docmill.storage.snapshots.change import candidate_snapshots
from docmill.storage.snapshots.change.restoring import restore, undelete
from docmill.storage.snapshots.change.tagging import set_tag
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.history.retention import Retention
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from tests.kit import fake_encoder
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench

WIDE = "wide-token-counts"
_WIDTH = 24  # dimensions of the second model
_ONE = Retention(keep_snapshots=1, grace_hours=0.0)
_GONE = "gone.txt"
_PAGES: dict[str, str | bytes] = {
    f"page-{i}.md": f"# Page {i}\n\nThe knob of page {i} is number{i}.\n" for i in range(6)
}


@dataclass(frozen=True, slots=True)
class Verb:
    """`lay` brings a new bench to where `work` has something to do; `settings` are those of the ingests after it."""

    name: str
    lay: Callable[[Workbench], object]
    work: Callable[[Workbench], object]
    settings: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def models(folder: Path) -> Iterator[None]:
    """Make two models known in this process, whose files lie below a folder."""
    with pytest.MonkeyPatch.context() as patch:
        for name in (fake_encoder.NAME, WIDE):
            patch.setitem(space.FOLDERS, name, partial(folder.joinpath, name))
            patch.setitem(encoder.LOADERS, name, fake_encoder.TokenCounts)
        yield


def write_models(folder: Path) -> Path:
    """Write the files of both models."""
    fake_encoder.write_model(folder / fake_encoder.NAME)
    fake_encoder.write_model(folder / WIDE, dimension=_WIDTH)
    return folder


def ingest_all(bench: Workbench) -> object:
    """Ingest all documents."""
    return bench.ingest(allow_delete=True)


def lay_two(bench: Workbench) -> None:
    """Commit two snapshots; the second has lost a document."""
    bench.write({**_PAGES, _GONE: "This leaves.\n", "bad.html": ""})
    bench.ingest()
    (bench.docs / _GONE).unlink()
    bench.write({"more.txt": "More words about rain.\n"})
    bench.ingest(allow_delete=True)


def edit(bench: Workbench, word: str = "blue") -> None:
    """Change one document, add one, and delete one."""
    bench.write({"page-0.md": f"# Page 0\n\nTurn the {word} knob.\n", f"{word}.txt": f"The {word} page comes.\n"})
    (bench.docs / "page-5.md").unlink(missing_ok=True)


def _lay_edit(bench: Workbench) -> None:
    lay_two(bench)
    edit(bench)


def _lay_candidate(bench: Workbench) -> None:
    """Commit a snapshot behind a gate, and have the gate hold the next one, which answers fewer questions."""
    bench.write(_PAGES)
    rows = "".join(f"where is number{i},page-{i}.md,number{i}\n" for i in range(len(_PAGES)))
    questions = bench.folder / "questions.csv"
    questions.write_text("question,uri,phrase\n" + rows)
    bench.settings = {"gate": {"questions": str(questions), "metric": "RR"}}
    bench.ingest()
    bench.write({name: f"# {name}\n\nNothing is said here any more.\n" for name in _PAGES})
    assert bench.ingest().candidate


def _lay_damage(bench: Workbench) -> None:
    """Lose the keyword index of the newest snapshot, on the object store too if there is one."""
    lay_two(bench)
    shutil.rmtree(bench.root / "keywords")
    if isinstance(bench, RemoteBench):
        bench.objects.delete(sorted(bench.keys("keywords")))


def _compact(bench: Workbench) -> object:
    return compact(bench.root, _ONE)


def _vacuum(bench: Workbench) -> object:
    return vacuum(bench.root, _ONE)


def _reembed(bench: Workbench) -> object:
    return reembed(bench.root, describe_model(WIDE), CommitTerms(Retention()))


def _encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    return load_encoder(fake_encoder.NAME).encode(list(texts))


def _repair(bench: Workbench) -> object:
    return repair(bench.root, _encode)


def _publish(bench: Workbench) -> object:
    return unless_done(lambda: candidate_snapshots.publish(bench.root, "candidate-2", force=True), QueryError)


def _undelete(bench: Workbench) -> object:
    return unless_done(lambda: undelete(bench.root, [_GONE], Retention()), QueryError)


def _restore(bench: Workbench) -> object:
    return restore(bench.root, 1, Retention())


def _remove(bench: Workbench) -> object:
    return unless_done(lambda: remove(Settings(store=bench.root), ["docs"]), QueryError)


def _tag(bench: Workbench) -> object:
    return unless_done(lambda: set_tag(bench.root, "kept", 1), QueryError)


def unless_done(work: Callable[[], object], kind: type[DocmillError] = StoreError) -> object:
    """Do work that an earlier run may have finished, which the verb then says by an error."""
    try:
        return work()
    except kind as why:
        return why


VERBS = (
    Verb("ingest", _lay_edit, ingest_all),
    Verb("compact", lay_two, _compact),
    Verb("vacuum", lay_two, _vacuum),
    Verb("reembed", lay_two, _reembed, {"embedding": {"model": WIDE}}),
    Verb("repair", _lay_damage, _repair),
    Verb("undelete", lay_two, _undelete),
    Verb("restore", lay_two, _restore),
    Verb("remove", lay_two, _remove),
    Verb("tag", lay_two, _tag),
    Verb("publish", _lay_candidate, _publish),
)
