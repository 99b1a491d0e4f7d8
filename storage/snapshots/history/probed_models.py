"""Probed models: detect that the model of a run differs from the one that made the vectors of a store."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.storage.errors import StoreError
from docmill.storage.search.encode.api.api_address import is_api
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot

if TYPE_CHECKING:
    from docmill.storage.search.encode.api.embedding_server import Payer


def probe_model(root: Path, space: EmbeddingSpace, payer: "Payer | None" = None) -> EmbeddingSpace:
    """Return the space with a fresh probe of its API model, which asks the server; return other spaces as they are.

    Raises:
        StoreError: The model has changed since the newest snapshot with a probe of this space.
    """
    if not is_api(space.model):
        return space
    from docmill.storage.search.encode.api_encoder import probed

    return probed(space, next(_known(root, space), ""), payer)


def _known(root: Path, space: EmbeddingSpace) -> Iterator[str]:
    for number in reversed(snapshots.numbers(root)):
        with suppress(StoreError):  # damage is reported elsewhere
            found = snapshots.read(root, number).space
            if found.id == space.id and found.probe:
                yield found.probe


def check_space(base: StoredSnapshot | None, space: EmbeddingSpace) -> None:
    """Raise `StoreError` if the vectors of a run would be in another embedding space than those of the store."""
    if base is not None and base.snapshot.space.id != space.id:
        raise StoreError(
            f"the store holds vectors of {_name(base.snapshot.space)}, the settings name {_name(space)}; "
            "restore the settings [embedding], ingest into a new store, or replace the vectors of this one:"
            " docmill reembed"
        )


def _name(space: EmbeddingSpace) -> str:
    late = "late, " if space.late else ""
    return f"{space.model} ({late}{space.dimension} dimensions, revision {space.revision[:12]})"
