"""Split trial: split a stored document with another strategy or other settings, without storing the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, islice
from typing import Any

from docmill.flows.config.from_settings import recipe_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import QueryError, Rejected
from docmill.storage.process.library_threads import one_blas_thread
from docmill.storage.schema import Draft, Parsed, indexed_text, part_readings
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.formats import FileType
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.split.strategies import SPLITTERS
from docmill.tasks.work.document.preview import Resplitting, resplit
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool, shared_pool

_TIMEOUT_S = 30.0  # for one split, because a person waits
_WORKERS = 2  # for the two sides of a comparison
_MOST_ASKED = 1000  # chunks that a question is compared with: some ten seconds of CPU time
_MOST_TEXTS = 5000
"""The most sentences that a trial embeds for a strategy: a book of 300 pages, half a minute of CPU time."""


@dataclass(frozen=True, slots=True)
class AskedTrial:
    """A document, and how to split it: a strategy with its options, or "" for the settings of the server."""

    uri: str
    strategy: str
    options: Mapping[str, Any]


class SplitTrials:
    """Splits stored documents again without storing the result. Language models cost money and are not asked."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limits = Limits(_WORKERS, min(_TIMEOUT_S, settings.parse.timeout_s), settings.parse.memory_mb)

    def split(self, store: Store, asked: AskedTrial) -> list[Draft]:
        """Return the chunks that a trial makes.

        Raises:
            docmill.errors.QueryError: There is no such document, or it cannot be split in this way.
            docmill.errors.ConfigError: There is no such strategy, or one of its options is wrong.
        """
        space = store.snapshot.space
        options = {**self._settings.split.get(asked.strategy, {}), **asked.options}
        route = Route(asked.strategy, options) if asked.strategy else None
        document = store.document(asked.uri)
        row = document.row
        task = Resplitting(
            row.uri,
            FileType(row.format, row.language),
            Parsed(document.text, document.elements, document.title, document.metadata),
            recipe_of(self._with_model(space.model, space.revision), space),
            route,
        )
        pool = shared_pool(self._limits)
        drafts, wanted = _split(pool, task)
        if not wanted:
            return drafts
        if len(wanted) > _MOST_TEXTS:
            raise QueryError(f"{asked.strategy} needs the vectors of {len(wanted)} texts; a trial takes {_MOST_TEXTS}")
        vectors = load_encoder(space.model, space.revision, space.light).encode(wanted)
        return _split(pool, replace(task, lookup=Lookup(dict(zip(wanted, vectors, strict=True)))))[0]

    def nearness(self, store: Store, drafts: Sequence[Draft], query: str) -> list[float]:
        """Return the cosine between a question and each chunk, or the chunk's best part if it has parts.

        Raises:
            docmill.errors.QueryError: There are too many chunks to embed while a person waits.
        """
        texts = [_indexed_texts(one) for one in drafts]
        if sum(map(len, texts)) > _MOST_ASKED:
            raise QueryError(f"a question needs the vectors of {len(drafts)} chunks; a trial takes {_MOST_ASKED}")
        space = store.snapshot.space
        encoder = load_encoder(space.model, space.revision, space.light)
        vectors, asked = encoder.encode([*chain.from_iterable(texts)]), encoder.encode_query(query)
        with one_blas_thread():
            cosines = iter((vectors @ asked).tolist())
        return [max(islice(cosines, len(own))) for own in texts]

    def _with_model(self, model: str, revision: str) -> Settings:
        """Return the settings with the model of the store, whose tokenizer counts the tokens of the chunks."""
        own = self._settings.embedding.model_copy(update={"model": model, "revision": revision})
        return self._settings.model_copy(update={"embedding": own})


def _indexed_texts(draft: Draft) -> list[str]:
    """Return the texts of a chunk that each get a vector."""
    readings = part_readings(draft.text, draft.parts, draft.unread)
    return [indexed_text(draft.context, one) for one in readings]


def _split(pool: Pool, task: Resplitting) -> tuple[list[Draft], tuple[str, ...]]:
    (found,) = pool.map(resplit, [task])
    if isinstance(found, Rejected):
        raise QueryError(f"{task.uri}: {found}")
    return found


def strategies() -> list[dict[str, Any]]:
    """Return the strategies by name, with the names and meanings of their options."""
    return [
        {
            "name": name,
            "options": [
                {"name": each.name, "meaning": stated.meaning, "unit": stated.unit, "default": _shown(each.default)}
                for each in fields(SPLITTERS[name].options)
                if (stated := each.metadata.get("stated")) is not None
            ],
        }
        for name in sorted(SPLITTERS)
    ]


def _shown(default: object) -> str | int | float | None:
    """Return a default value if it can be shown in one line, else None."""
    return default if isinstance(default, str | int | float) else None
