"""Similar: the chunks whose vectors are nearest to that of a chunk."""

from collections.abc import Collection

from docmill.storage.errors import QueryError
from docmill.storage.search.rank.candidates.hit import Candidate, Hit, as_hit
from docmill.storage.search.rank.candidates.snapshot_sources import SnapshotReader


def similar(sources: SnapshotReader, chunk_id: str, k: int, allowed: Collection[str] | None) -> list[Hit]:
    """Return the chunks nearest to a chunk, best first, without the chunk itself.

    Raises `QueryError` if the chunk has no vector yet.
    """
    vectors = sources.vectors([chunk_id])
    if not vectors:
        raise QueryError(f"chunk {chunk_id} has no vector yet; the next ingest embeds it")
    nearest = sources.nearest(vectors[chunk_id], k + 1, allowed)  # one more, as the chunk is nearest to itself
    found = [pair for pair in nearest if pair[0] != chunk_id][:k]
    rows = sources.shown([key for key, _ in found])
    urls = sources.source_urls({row.document_id for row in rows.values()})
    return [
        as_hit(
            rank,
            Candidate(key, cosine, vector_score=cosine, vector_rank=rank),
            rows[key],
            min(1.0, max(0.0, cosine)),
            urls,
        )
        for rank, (key, cosine) in enumerate(found, start=1)
    ]
