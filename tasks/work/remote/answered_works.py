"""Answered works: documents to split again, with the answers of models that the driver has got, as plain values."""

from dataclasses import dataclass

import numpy as np

from docmill.storage.schema import Parsed
from docmill.tasks.model.prompt import Answer
from docmill.tasks.split.parts.lookup import Lookup
from docmill.tasks.work.document.process import WorkRequest
from docmill.tasks.work.document.recipe import Recipe
from docmill.tasks.work.document.work_item import WorkItem


@dataclass(frozen=True, slots=True)
class AnsweredWork:
    """A document, its parsed text, and its look-up: vectors by text, and answers by the identity of their prompt."""

    work: WorkItem
    stored: Parsed | None
    vectors: tuple[tuple[str, tuple[float, ...]], ...]
    answers: tuple[tuple[tuple[str, ...], Answer], ...]

    def request(self, recipe: Recipe) -> WorkRequest:
        """Return the request for a pool of this machine."""
        vectors = {text: np.array(vector, np.float32) for text, vector in self.vectors}
        return WorkRequest(self.work, recipe, self.stored, Lookup(vectors, dict(self.answers)))


@dataclass(frozen=True, slots=True)
class AnsweredBatch:
    """Documents to split again, and the recipe for all of them."""

    recipe: Recipe
    works: tuple[AnsweredWork, ...]


def answered(job: WorkRequest) -> AnsweredWork:
    """Return a request as plain values. Its file stays where it is: the document is parsed."""
    vectors = tuple((text, tuple(vector.tolist())) for text, vector in job.lookup.vectors.items())
    return AnsweredWork(job.work, job.stored, vectors, tuple(job.lookup.answers.items()))
