"""Snapshot sources: what a search reads from one snapshot: both indexes, the encoder, rows, ordinals and texts.

The vectors come from LanceDB, or in a small store from the packs.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import lru_cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import from_table
from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.process.computed_once import computed_once
from docmill.storage.schema import ChunkRow, DocumentRow
from docmill.storage.search.encode.api.api_address import is_api
from docmill.storage.search.encode.encoder import TextEncoder, load_encoder
from docmill.storage.search.encode.model_spaces import reading_dir, tokenizer_dir
from docmill.storage.search.encode.token_counts import token_counts, unread_shares
from docmill.storage.search.keywords.keyword_search import KeywordHits, KeywordIndex
from docmill.storage.search.keywords.keyword_writer import rebuild
from docmill.storage.search.keywords.scoring import Scoring
from docmill.storage.search.rank.candidates.chunk_ordinals import ChunkOrdinals
from docmill.storage.search.rank.candidates.hit import ShownChunk
from docmill.storage.search.rank.candidates.token_vectors import TokenMemory
from docmill.storage.search.vectors.fence import schema
from docmill.storage.search.vectors.flat_index import FlatIndex
from docmill.storage.search.vectors.index_kind import INDEX_ROWS, kind_of
from docmill.storage.search.vectors.vectors import VectorIndex
from docmill.storage.snapshots.artifacts.multi_vector_rows import keys_of_text
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import PICTURE_VECTORS, SPARSE_VECTORS
from docmill.storage.snapshots.tables.row_reader import OpenedTable
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.pending_vectors import COLUMNS, with_vectors
from docmill.storage.snapshots.write.posting_rows import stored_rows
from docmill.storage.snapshots.write.vector_rows import vector_rows

if TYPE_CHECKING:
    from docmill.storage.search.pictures.picture_index import PictureIndex
    from docmill.storage.search.rank.candidates.learned_terms import LearnedTerms

_FOREIGN_SHARE = 4
"""If the packs have more rows than this for each vector of the snapshot, LanceDB is read instead: packs also keep the
vectors of past chunks."""
_ROWS_AT_ONCE = 1 << 14
"""Vectors to take from the packs at a time: 25 MB with 384 dimensions. Each time, row groups are read again."""
_ROWS_OF_PART_AT_ONCE = 1 << 16
"""As above, for a part of a store: its vectors are spread over all row groups, so each time takes 0.4 s."""
_MOST_IN_MEMORY = 2 * INDEX_ROWS
"""For a part of a store with at most this many chunks, vectors are compared in memory, because the index misses rows if
there is a filter. Twice as many with 384 dimensions would take 600 MB for each set of principals."""
_MOST_PACKS = 64  # reading one takes 2 ms, and importing LanceDB takes a second


def open_vectors(stored: StoredSnapshot) -> VectorIndex | FlatIndex:
    """Return the vectors of a snapshot; raise `StoreError` if they are damaged."""
    if stored.folder.whole:
        return _of_part(stored, stored.folder.whole)
    if _is_small(stored):
        with suppress(StoreError):  # LanceDB may have what a damaged pack has lost
            return _from_packs(stored)
    try:
        return VectorIndex(stored.root, stored.snapshot.vectors, stored.snapshot.space)
    except StoreError:
        if stored.number == snapshots.numbers(stored.root)[-1]:
            raise
        # An old snapshot that only a tag keeps: its version of the index was removed with its neighbours.
        stored.ensure_packs("embeddings")
        return _from_packs(stored)


def _of_part(stored: StoredSnapshot, whole: StoredSnapshot) -> VectorIndex | FlatIndex:
    """Return the vectors that some principals may see: in memory, or in the complete table if there are very many."""
    if stored.snapshot.rows("chunks") <= _MOST_IN_MEMORY:
        return _in_memory(stored, whole.ensure_packs("embeddings"), _ROWS_OF_PART_AT_ONCE)
    ids = read_table(stored, "chunks", ["chunk_id"]).column("chunk_id").to_pylist()
    return VectorIndex(stored.root, stored.snapshot.vectors, stored.snapshot.space, frozenset(ids))


def _is_small(stored: StoredSnapshot) -> bool:
    """Return whether all vectors are compared in memory anyway, and the packs are here and have few other vectors."""
    rows, packs = stored.snapshot.vectors.rows, stored.snapshot.artifacts["embeddings"]
    few = len(packs) <= _MOST_PACKS and sum(pack.rows for pack in packs) <= _FOREIGN_SHARE * rows
    return (
        rows < kind_of(stored.snapshot.space).least_rows
        and few
        and all(path.is_file() for path in stored.packs("embeddings"))
    )


def _from_packs(stored: StoredSnapshot) -> FlatIndex:
    return _in_memory(stored, stored.packs("embeddings"), _ROWS_AT_ONCE)


def _in_memory(stored: StoredSnapshot, packs: list[Path], at_once: int) -> FlatIndex:
    chunks = with_vectors(stored, read_table(stored, "chunks", COLUMNS), packs)
    rows = vector_rows(packs, chunks.combine_chunks(), at_once=at_once)
    return FlatIndex(pa.Table.from_batches(rows, schema(stored.snapshot.space.dimension)))


Vector = npt.NDArray[np.float32]
_SHOWN = [field.name for field in fields(ShownChunk)]
_QUERIES_KEPT = 1_000
"""Vectors of queries in memory: 1.5 MB with the bundled model. People repeat a query in another mode, with another
condition or for its facets, and encoding it takes most of the time of a search in a small store."""
_SCORING = Scoring(idf="positive")  # each word of the query that a chunk contains must raise its score


class ChunkPiece(NamedTuple):
    """A chunk as a piece of its document; pieces of the same kind follow each other."""

    key: str
    start: int
    end: int
    tokens: int
    kind: tuple[str, str, int]
    summary: bool


class SnapshotReader:
    """Reads one snapshot for searches. Each index is opened on first use."""

    def __init__(self, stored: StoredSnapshot) -> None:
        self.stored = stored
        self.snapshot = stored.snapshot
        self.places = ChunkOrdinals(stored)

    @computed_once
    def encoder(self) -> TextEncoder:
        """The model of the store; raises `StoreError` if it is not installed."""
        space = self.snapshot.space
        try:
            encoder = load_encoder(space.model, space.revision, space.light)
        except ConfigError as error:
            said = f"the store's vectors are of {space.model}; mode keyword does without it"
            raise StoreError(f"{said}; {error}") from error
        if encoder.space.id != space.plain().id:
            raise StoreError(f"the store's vectors are of {space.model} {space.revision}, which is not installed here")
        if is_api(space.model):
            from docmill.storage.search.encode.api_encoder import compared_with

            return compared_with(encoder, space.probe)
        return encoder

    @computed_once
    def query_vector(self) -> Callable[[str], Vector]:
        """Returns the vector of a query that fits the model, (dim,) of unit L2 norm; cached by its text."""
        return lru_cache(_QUERIES_KEPT)(self.encoder.encode_query)

    def nearest(self, vector: Vector, k: int, allowed: Collection[str] | None) -> list[tuple[str, float]]:
        """Return (chunk id, cosine similarity) of the chunks nearest to a unit vector."""
        return self._vectors.search(vector, k, allowed)

    def without_vectors(self, ids: Collection[str]) -> set[str]:
        """Return the ids among `ids` of chunks whose vectors are pending."""
        return set(ids) - self._vectors.held(ids) if self.snapshot.pending else set()

    def matching(self, text: str, k: int, allowed: Collection[str] | None, language: str = "") -> KeywordHits:
        """Return the chunks that contain terms of a text, best first; `language` is as in `KeywordIndex.search`."""
        return self._keywords.search(text, k, allowed, language)

    def rarity(self, term: str) -> float:
        """Return log(1 + chunks / chunks with the term), which is high for a rare term, and 0 if no chunk has it."""
        found = self._keywords.frequency(term)
        return float(np.log1p(self.snapshot.keywords.rows / found)) if found else 0.0

    @property
    def rarest(self) -> float:
        """The rarity of a term that one chunk has."""
        return float(np.log1p(self.snapshot.keywords.rows))

    def unread(self, text: str) -> float:
        """Return the share of a text's letters that the model of the store cannot read; 0 if its tokens are unknown."""
        return unread_shares([text], self._reading_dir)[0] if self._reading_dir else 0.0

    @computed_once
    def _reading_dir(self) -> str:
        """The folder of the tokenizer of the store's model, "" if it is unknown."""
        return str(reading_dir(self.snapshot.space.model, self.snapshot.space.revision) or "")

    @property
    def language(self) -> str:
        """The language of the stems in the keyword index."""
        return self.snapshot.keywords.language

    def rows(self, ids: Sequence[str]) -> dict[str, ChunkRow]:
        """Return chunks by id."""
        rows = from_table(self._chunks.rows("chunk_id", ids), ChunkRow)
        return {row.chunk_id: row for row in rows}

    def shown(self, ids: Sequence[str]) -> dict[str, ShownChunk]:
        """Return the parts of chunks that hits show, by id."""
        rows = from_table(self._chunks.rows("chunk_id", ids, _SHOWN), ShownChunk)
        return {row.chunk_id: row for row in rows}

    def chunks_of(self, document: str) -> list[ChunkRow]:
        """Return the chunks of a document in their order."""
        rows: list[ChunkRow] = from_table(self._chunks.rows("document_id", [document]), ChunkRow)
        return sorted(rows, key=lambda row: row.ordinal)

    def columns_of(self, document: str, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return columns of the chunks of a document in order; `names` must include `ordinal`."""
        table = self._chunks.rows("document_id", [document], ("document_id", *names))
        rows: list[dict[str, Any]] = table.drop_columns("document_id").sort_by("ordinal").to_pylist()
        return rows

    def documents(self, ids: Sequence[str]) -> list[DocumentRow]:
        """Return documents by their ids, in no order."""
        return from_table(self._documents.rows("document_id", ids), DocumentRow)

    def pieces(self, document: str) -> list[ChunkPiece]:
        """Return the chunks of a document."""
        names = ("chunk_id", "start_char", "end_char", "tokens", "strategy", "role", "depth", "about_end")
        table = self._chunks.rows("document_id", [document], ("document_id", *names))
        rows = zip(*(table.column(name).to_pylist() for name in names), strict=True)
        return [
            ChunkPiece(key, start, end, tokens, (*kind,), summed > 0) for key, start, end, tokens, *kind, summed in rows
        ]

    def vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of chunks, (dim,) of unit L2 norm; for a chunk with parts, the mean of their vectors.

        Vectors of phrasings do not count. Chunks whose vectors are pending are left out.
        """
        rows = self.rows([*self._vectors.held(ids)] if self.snapshot.pending else ids)
        keys = {key: keys_of_text(row.embedding_key, row.part_keys, row.parts) for key, row in rows.items()}
        if not keys:
            return {}
        packs = self._packs("embeddings")
        distinct = sorted(set(chain.from_iterable(keys.values())))
        flat = packs.take(distinct).column("vector").combine_chunks().flatten()
        matrix = np.asarray(flat, np.float32).reshape(len(distinct), -1)
        found = dict(zip(distinct, matrix, strict=True))
        return {key: _mean([found[one] for one in own]) for key, own in keys.items()}

    def part_vectors(self, ids: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of each chunk, (n, dim): those of its parts in order, then those of its phrasings.

        Chunks without vectors are left out.
        """
        return self._vectors.vectors_of(ids)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of texts as the model of the store counts them; raises `StoreError` if it is missing."""
        space = self.snapshot.space
        try:
            return token_counts(texts, str(tokenizer_dir(space.model, space.revision)))
        except ConfigError as error:
            raise StoreError(f"passages are counted in tokens of {space.model}; {error}") from error

    def source_urls(self, documents: Collection[str]) -> dict[str, str]:
        """Return the URLs of the originals of documents, by document id; files on a disk may be left out."""
        some = self._documents.filled("source_url", documents)
        table = self._documents.rows("document_id", some, ("document_id", "source_url"))
        return dict(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def texts(self, documents: Collection[str]) -> Mapping[str, str]:
        """Return the canonical texts of documents by their ids."""
        table = read_table(self.stored, "documents", ["document_id", "text_key"])
        table = table.filter(pc.is_in(table.column("document_id"), value_set=pa.array(list(documents), pa.string())))
        ids, keys = (column.to_pylist() for column in table.columns)
        return {
            key: decode_parsed(row).text for key, row in zip(ids, self.text_packs.take(keys).to_pylist(), strict=True)
        }

    @computed_once
    def text_packs(self) -> Packs:
        """The packs of the canonical texts. Their keys stay in memory: reading these takes longer than a text."""
        return self._packs("texts")

    @computed_once
    def figure_packs(self) -> Packs:
        """The packs of the pictures of figures."""
        return self._packs("figures")

    @computed_once
    def pictures(self) -> "PictureIndex | None":
        """The vectors of the pictures; None if the snapshot has none."""
        if not (packs := self.stored.ensure_packs(PICTURE_VECTORS)):
            return None
        from docmill.storage.search.pictures.picture_index import PictureIndex  # few stores need it

        return PictureIndex(self.stored, packs)

    @computed_once
    def learned_terms(self) -> "LearnedTerms | None":
        """The learned terms of the chunks; None if the snapshot has none."""
        if not (packs := self.stored.ensure_packs(SPARSE_VECTORS)):
            return None
        from docmill.storage.search.rank.candidates.learned_terms import LearnedTerms  # few stores need it

        return LearnedTerms(self.stored, packs)

    def _packs(self, artifact: str) -> Packs:
        return Packs(self.stored.ensure_packs(artifact))

    @computed_once
    def tokens(self) -> TokenMemory:
        """The token vectors of the store's texts, made by its encoder."""
        return TokenMemory(self.encoder.encode_tokens)

    @computed_once
    def _vectors(self) -> VectorIndex | FlatIndex:
        return open_vectors(self.stored)

    @computed_once
    def _chunks(self) -> OpenedTable:
        return OpenedTable(self.stored, "chunks")

    @computed_once
    def _documents(self) -> OpenedTable:
        return OpenedTable(self.stored, "documents")

    @computed_once
    def _keywords(self) -> KeywordIndex:
        try:
            return KeywordIndex(self.stored.root, self.snapshot.keywords, _SCORING)
        except StoreError:
            if self.snapshot.number == snapshots.numbers(self.stored.root)[-1]:
                raise
            # A repair skips the postings of old snapshots, so if they are lost or outdated, rebuild them here.
            with TemporaryDirectory(prefix="docmill-keywords-") as folder:  # mapped files stay readable after it
                state = rebuild(Path(folder), stored_rows(self.stored), self.snapshot.keywords.language)
                return KeywordIndex(Path(folder), state, _SCORING)


def _mean(vectors: Sequence[Vector]) -> Vector:
    if len(vectors) == 1:
        return vectors[0]
    total = np.sum(vectors, axis=0)
    unit: Vector = total / np.linalg.norm(total)
    return unit
