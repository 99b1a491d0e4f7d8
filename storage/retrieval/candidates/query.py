"""Query: one query on its way through the steps, with the data that the steps read for it."""

from collections.abc import Collection, Sequence
from functools import cached_property

from docmill.storage.errors import QueryError
from docmill.storage.retrieval.candidates.fusion import fuse
from docmill.storage.retrieval.candidates.hit import Candidate, in_order
from docmill.storage.retrieval.candidates.search_options import SearchOptions
from docmill.storage.retrieval.candidates.snapshot_sources import SnapshotReader, Vector
from docmill.storage.schema import ChunkRow


class Query:
    """A query with its options; `allowed` are the ids of the chunks that pass the filter, or None without a filter.

    `vector` is the vector of the query if several queries were encoded together.
    """

    def __init__(
        self,
        text: str,
        options: SearchOptions,
        sources: SnapshotReader,
        allowed: Collection[str] | None = None,
        vector: Vector | None = None,
    ) -> None:
        self.text = text
        self.options = options
        self.sources = sources
        self.allowed = allowed
        self._vector = vector
        self._rows: dict[str, ChunkRow] = {}

    @cached_property
    def vector(self) -> Vector:
        """The vector of the query, (dim,) of unit L2 norm."""
        return self.sources.encoder.encode_query(self.text) if self._vector is None else self._vector

    def rows(self, ids: Sequence[str]) -> dict[str, ChunkRow]:
        """Return the rows of chunks; each is read once."""
        missing = [key for key in ids if key not in self._rows]
        if missing:
            self._rows |= self.sources.rows(missing)
        return {key: self._rows[key] for key in ids}

    def rank(self, vector: Vector | None, words: str) -> list[Candidate]:
        """Return the fused candidates of both indexes, best first; without a vector or words, skip that index."""
        options = self.options
        near = self.sources.nearest(vector, options.breadth, self.allowed) if vector is not None else []
        held = self.sources.matching(words, options.breadth, self.allowed) if words else []
        found: dict[str, Candidate] = {}
        for rank, (key, score) in enumerate(near, start=1):
            found[key] = Candidate(key, score, vector_score=score, vector_rank=rank)
        for rank, (key, score, terms, fields) in enumerate(held, start=1):
            one = found.setdefault(key, Candidate(key, score))
            one.keyword_score, one.keyword_rank, one.terms, one.fields = score, rank, terms, fields
        if options.mode == "hybrid":
            pending = self.sources.without_vectors([key for key, *_ in held])
            ranking = [(key, score) for key, score, *_ in held]
            parts = fuse(near, ranking, options.fusion, options.weight, pending)
            for key, (left, right) in parts.items():
                origin = "the keywords instead of pending vectors" if key in pending else "the vectors"
                found[key].score = left + right
                found[key].note(options.fusion, f"{left:.3f} from {origin} and {right:.3f} from the keywords")
        return in_order(list(found.values()))

    def ask(self) -> list[Candidate]:
        """Return the candidates for the query itself."""
        mode = self.options.mode
        found = self.rank(self.vector if mode != "keyword" else None, self.text if mode != "vector" else "")
        if not found and mode == "keyword":
            self._explain_nothing()
        return found

    def _explain_nothing(self) -> None:
        from docmill.storage.keywords.analysis.analyser import analyse

        if not analyse(self.text, self.sources.language):
            raise QueryError(
                f"every word of the query {self.text.strip()[:40]!r} is a stop word, which keyword search ignores; "
                "use mode hybrid or vector"
            )
