"""Answer files: answers about the newest snapshot in the cache of its store, for a server that starts again."""

import shutil
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from docmill.flows.serving.open_stores import ServedStore
from docmill.storage.files import write_whole
from docmill.storage.schema_evolution import schema_key
from docmill.storage.snapshots.history import snapshots


def read_answer(served: ServedStore, asked: str) -> bytes | None:
    """Return the kept answer to a question about a snapshot, or None."""
    with suppress(OSError):
        return _path(served, asked).read_bytes()
    return None


def keep_answer(served: ServedStore, asked: str, answer: bytes) -> None:
    """Keep an answer if it is about the newest snapshot, and remove those about others.

    A store that cannot be written to keeps none.
    """
    if served.store.snapshot.number != snapshots.numbers(served.store.root)[-1]:
        return
    path = _path(served, asked)
    if path.exists():
        return
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, answer)
        for other in path.parent.parent.iterdir():
            if other.name != path.parent.name:
                shutil.rmtree(other, ignore_errors=True)


def _path(served: ServedStore, asked: str) -> Path:
    """Return the file of an answer; a store that was made again, or another docmill, has other ones."""
    snapshot = served.store.snapshot
    own = "\n".join((served.name, snapshot.created, version("docmill"), schema_key(), asked))
    name = sha256(own.encode()).hexdigest()[:32]
    return served.store.root / "cache" / "page" / str(snapshot.number) / f"{name}.json"
