"""Probed models: compare a model by API with what the snapshots of a store know of it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from docmill.storage.embedding.api.api_address import is_api
from docmill.storage.embedding.api_encoder import probed
from docmill.storage.embedding.space import EmbeddingSpace
from docmill.storage.errors import StoreError
from docmill.storage.history import snapshots


def probe_model(root: Path, space: EmbeddingSpace) -> EmbeddingSpace:
    """Return the space with the probe of a model by API, for which its server is asked; other spaces as they are.

    Raises:
        StoreError: The model has changed since a snapshot got its vectors: the newest that has any of this space.
    """
    return probed(space, next(_known(root, space), "")) if is_api(space.model) else space


def _known(root: Path, space: EmbeddingSpace) -> Iterator[str]:
    for number in reversed(snapshots.numbers(root)):
        with suppress(StoreError):  # a damaged one is told elsewhere
            found = snapshots.read(root, number).space
            if found.id == space.id and found.probe:
                yield found.probe
