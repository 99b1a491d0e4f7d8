"""Remote answers: get the answers that a batch asks of models, and let workers split its documents again with them.

The driver alone asks models by API: one budget, one journal, one key. Other vectors are made by workers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.flows.cluster.sender import Sender
from docmill.storage.files import temporary
from docmill.storage.search.encode.api.api_address import is_api
from docmill.storage.search.encode.encoder import Window, load_encoder
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.tasks.work.batch.batch import BatchDone, FirstPass, Order, answer_all, finish, jobs_of
from docmill.tasks.work.batch.embed import Encoding
from docmill.tasks.work.document.process import WorkResult
from docmill.tasks.work.document.recipe import Recipe
from docmill.tasks.work.pool.plain_json import Readers, decode
from docmill.tasks.work.remote.parcels import Receipt
from docmill.tasks.work.remote.perform import AGAIN, AnsweredBatch, answered


@dataclass(frozen=True, slots=True)
class RemoteEncoder:
    """A `DocumentEncoder` whose model is on the workers; each call goes to one of them."""

    sender: Sender

    @property
    def space(self) -> EmbeddingSpace:
        return self.sender.space

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32 (n, dim), rows of unit L2 norm, in the order of `texts`."""
        return self.sender.embed(texts)

    def encode_late(self, windows: Sequence[Window]) -> npt.NDArray[np.float32]:
        """Return float32 (all spans, dim), rows of unit L2 norm."""
        return self.sender.embed((), windows)


def remote_encoding(sender: Sender, lanes: int = 1) -> Encoding:
    """Return the workers as the place where texts are encoded."""
    return Encoding(
        lambda model, *how: load_encoder(model, *how) if is_api(model) else RemoteEncoder(sender),
        lanes,
    )


@dataclass(frozen=True, slots=True)
class RemoteHands:
    """Split documents again on a worker; their parsed texts and their answers travel as freight."""

    sender: Sender
    recipe: Recipe

    def map(self, function: Callable[[Any], Any], items: Sequence[Any], light: bool = False) -> Iterable[Any]:
        """Return the result of each request."""
        del function, light  # the step calls `process_document`, and a worker has a pool of its own
        with temporary(self.sender.folder) as draft:
            self.sender.ask(AGAIN, AnsweredBatch(self.recipe, tuple(map(answered, items))), draft)
            results: list[WorkResult] = decode(draft.read_bytes(), Readers().of(list[WorkResult]))
        return results


def finish_asked(sender: Sender, task: Order, recipe: Recipe, asked: Receipt) -> BatchDone:
    """Write a batch that was processed once and asks for answers; `recipe` is its recipe without local paths."""
    with temporary(sender.folder) as draft:
        sender.fetch(asked, draft)
        results = decode(draft.read_bytes(), Readers().of(list[WorkResult]))
    sender.freight.drop([asked.key])
    first = FirstPass(jobs_of(task, task.recipe), results, asked.began)
    return finish(task, first, RemoteHands(sender, recipe), partial(answer_all, encoding=remote_encoding(sender)))
