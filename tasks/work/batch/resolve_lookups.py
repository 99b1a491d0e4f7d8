"""Resolve look-ups: between two passes of the workers, get the model answers that splitters need, each only once.

The vectors go into the same packs as those of chunks and are addressed by content. So a second run finds all of them,
and after an edit only new sentences are embedded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from docmill.storage.files import TEMPORARY
from docmill.storage.keys import embedding_key
from docmill.storage.schema import KeptPicture
from docmill.storage.search.encode.model_spaces import describe_model, tokenizer_dir
from docmill.storage.snapshots.artifacts.packs import Packs, pack_embeddings, picture_of, write_pack
from docmill.tasks.counting.counter import counter_of
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.model.client import ModelAccess, shared_client
from docmill.tasks.model.embedding_costs import Payment
from docmill.tasks.model.prompt import Answer, Prompt
from docmill.tasks.split.parts.model_lookup import Lookup, Vector
from docmill.tasks.work.batch.embed import HERE, Embedding, Encoding
from docmill.tasks.work.batch.figure_reader import FigureReading, shared_reader

ASKED = "embeddings-asked-"
"""Prefix of the packs with vectors that splitters asked for."""
_TOKENS = b"tokens"


@dataclass(frozen=True, slots=True)
class LookupSources:
    """The packs with existing vectors, the pack to write, the embedding model, the language model, and who pays.

    `figures` are the packs with the store's pictures. `reading` says how OCR reads them; None if it does not.
    """

    packs: tuple[Path, ...]
    target: Path
    model: str
    revision: str
    asking: ModelAccess | None = None
    payment: Payment | None = None
    figures: tuple[Path, ...] = ()
    reading: FigureReading | None = None

    def takes(self, prompt: Prompt) -> bool:
        """Return whether a prompt can be answered, by the language model or by OCR."""
        return (self.reading if prompt.by_ocr else self.asking) is not None

    @property
    def counts(self) -> bool:
        """Return whether questions are only counted."""
        return bool((self.asking and not self.asking.calls) or (self.reading and self.reading.counts))


class ModelQuestions(NamedTuple):
    """What splitters ask of models: vectors of texts, and replies to prompts. `pictures` are new pictures by key."""

    texts: Sequence[str]
    prompts: Sequence[Prompt] = ()
    pictures: Mapping[str, KeptPicture] = MappingProxyType({})


def answer(asked: ModelQuestions, task: LookupSources, encoding: Encoding = HERE) -> Lookup:
    """Return the vectors of the texts, and a reply for each prompt that got one."""
    texts, prompts, new = asked
    vectors = vectors_of(texts, task, encoding) if texts else {}
    stored = Packs(task.figures)

    def picture(key: str) -> KeptPicture | None:
        if key in new or stored.missing([key]):
            return new.get(key)
        return picture_of(stored.take([key]).to_pylist()[0])

    answers = dict[Prompt, Answer]()
    to_read, to_ask = ([one for one in prompts if one.by_ocr is by_ocr] for by_ocr in (True, False))
    if to_read and task.reading:
        answers |= shared_reader(task.reading).read(to_read, picture)
    if to_ask and task.asking:
        answers |= shared_client(task.asking).ask(to_ask, picture)
    return Lookup(vectors, {prompt.identity: answer for prompt, answer in answers.items()})


def vectors_of(texts: Sequence[str], task: LookupSources, encoding: Encoding = HERE) -> dict[str, Vector]:
    """Return the vector of each distinct text, (dim,) of unit L2 norm; write the new ones to a pack."""
    distinct = list(dict.fromkeys(texts))
    space = describe_model(task.model, task.revision)
    keys = [embedding_key(text, space.id) for text in distinct]
    packs = (*task.packs, *sorted(task.target.parent.glob("embeddings-*.parquet")))
    missing = Packs(packs).missing(keys)
    fresh = [(key, text) for key, text in zip(keys, distinct, strict=True) if key in missing]
    if fresh:
        encoder = encoding.paid(task.model, task.revision, 0, task.payment)
        table = pack_embeddings([key for key, _ in fresh], encoder.encode([text for _, text in fresh]))
        counter = counter_of(load_tokenizer(str(tokenizer_dir(task.model, task.revision))))
        # Kept in the pack itself, so that a run which is killed and resumed still counts them.
        tokens = sum(counter.counts([text for _, text in fresh])) + counter.special * len(fresh)
        target = _free(task.target)
        draft = target.with_name(TEMPORARY + target.name)
        write_pack(draft, table.replace_schema_metadata({_TOKENS: str(tokens)}), "embeddings")
        draft.replace(target)
        packs = (*packs, target)
    rows = Packs(packs).take(keys)
    flat = rows.column("vector").combine_chunks().flatten()
    return dict(zip(distinct, np.asarray(flat, np.float32).reshape(len(distinct), -1), strict=True))


def _free(path: Path) -> Path:
    """Return the path, or a numbered one next to it if it is taken, for example by an earlier try."""
    taken = len(list(path.parent.glob(f"{path.stem}*")))
    return path.with_stem(f"{path.stem}-{taken}") if taken else path


def asked_texts(folder: Path) -> Embedding:
    """Count the texts that a run embedded because splitters asked for them."""
    found = [pq.read_metadata(path) for path in folder.glob(f"{ASKED}*.parquet")]
    return Embedding(sum(one.num_rows for one in found), sum(int(one.metadata[_TOKENS]) for one in found))
