"""Sparse packs: the learned terms of a snapshot's texts, each computed once by content.

They have the keys of the texts' vectors. A pack is staged after every few thousand texts, and the next run takes over
the packs of a killed one.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pyarrow as pa

from docmill.storage.schema import indexed_text
from docmill.storage.search.encode.library_class import load_sparse, sparse_space
from docmill.storage.search.encode.space import full_name
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.artifacts.model_packs import PackModel, by_model, model_of_pack, packs_by
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, vector_keys
from docmill.storage.snapshots.artifacts.packs import Packs, pack_terms
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import SPARSE_VECTORS, StoredFile
from docmill.storage.snapshots.tables.spill import Rows, gathered, parts
from docmill.storage.snapshots.tables.tables import read_stored_file
from docmill.tasks.work.batch.embed import unvectored

_COLUMNS = [*KEYS, "text", "context", "unread", "parts", "phrasings"]
_TEXTS_A_PACK = 2_048
"""Texts in a pack: a killed run loses at most minutes of CPU work, and 32 packs are enough for most stores."""


def learned_packs(
    run: Path, base: StoredSnapshot | None, chunks: Rows, name: str, log: Callable[[str], None]
) -> tuple[StoredFile, ...]:
    """Return the packs of a snapshot with these new chunks, after computing missing terms.

    `run` is the run's folder in staging, `name` the configured model.
    """
    root, model = run.parent.parent, PackModel(full_name(name), sparse_space(name))
    kept = packs_by(base, SPARSE_VECTORS, model)
    held = Packs([*(root / one.file.path for one in kept), *_staged(root, model)])
    texts = 0
    for rows in gathered(_due(base, chunks, held), _TEXTS_A_PACK):
        staging.write_further(run, SPARSE_VECTORS, _encoded(pa.Table.from_batches([rows]), model))
        texts += rows.num_rows
        log(f"learned terms of {texts:,} texts")
    return (*kept, *staging.promote_further(root, SPARSE_VECTORS, _staged(root, model)))


def lack_terms(base: StoredSnapshot | None, name: str) -> bool:
    """Return whether a snapshot lacks learned terms of the configured model, or has those of another."""
    before = base.snapshot.artifacts.get(SPARSE_VECTORS, ()) if base else ()
    if base is None or not name:
        return bool(before)
    kept = packs_by(base, SPARSE_VECTORS, PackModel(full_name(name), sparse_space(name)))
    lacking = _lacking(base, Packs([base.root / one.file.path for one in kept]))
    return kept != before or any(True for _ in lacking)


def _staged(root: Path, model: PackModel) -> list[Path]:
    """Return the staged packs of a model, including those of killed runs."""
    found = staging.staged_packs(root, SPARSE_VECTORS)
    return [path for path in found if model_of_pack(path, SPARSE_VECTORS).space == model.space]


def _lacking(base: StoredSnapshot, held: Packs) -> Iterator[StoredFile]:
    """Yield the files of a snapshot's chunks in which some chunks have no learned terms."""
    for piece in base.pieces("chunks"):
        if held.missing(vector_keys(read_stored_file(base.root, piece, list(KEYS)))):
            yield piece


def _due(base: StoredSnapshot | None, chunks: Rows, held: Packs) -> Iterator[pa.Table]:
    """Yield the texts that lack learned terms, each once."""
    seen = set[str]()
    stored = (read_stored_file(base.root, piece, _COLUMNS) for piece in _lacking(base, held)) if base else iter(())
    for table in chain(stored, parts(chunks, _COLUMNS)):
        rows = unvectored(table, held.paths)
        keys = rows.column("embedding_key").to_pylist()
        yield rows.filter(pa.array([key not in seen for key in keys], pa.bool_()))
        seen.update(keys)


def _encoded(rows: pa.Table, model: PackModel) -> pa.Table:
    columns = (rows.column(name).to_pylist() for name in ("context", "text", "unread"))
    found = load_sparse(*model).encode(list(map(indexed_text, *columns)))
    return by_model(pack_terms(rows.column("embedding_key").to_pylist(), found), SPARSE_VECTORS, model)
