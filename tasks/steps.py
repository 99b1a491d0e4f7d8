"""Steps as Prefect tasks: names, retries and limits around the plain functions."""

from collections.abc import Callable
from functools import cache
from typing import Any

from prefect import Task, task
from prefect.cache_policies import NO_CACHE

from docmill.storage.errors import Transient
from docmill.tasks.publishing.embed_pending import embed_pending
from docmill.tasks.work.batch.batch import process_batch
from docmill.tasks.work.batch.embed import embed_batches

RETRIED = (process_batch, embed_batches, embed_pending)  # not the commit, which reports its own outcome
RETRY_DELAYS_S = (1.0, 10.0)


@cache
def as_task(step: Callable[..., Any]) -> Task[..., Any]:
    """Return the Prefect task of a step, named after the step; who submits a run names it.

    Steps are idempotent by content, so Prefect caches and stores no result. Only transient failures are retried.
    """
    wrap = task(
        name=step.__name__.replace("_", " "),
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=len(RETRY_DELAYS_S) if getattr(step, "__wrapped__", step) in RETRIED else 0,
        retry_delay_seconds=list(RETRY_DELAYS_S),
        retry_condition_fn=is_transient,
    )
    return wrap(step)


def is_transient(task: Any, run: Any, state: Any) -> bool:
    """Return whether a failed task run may succeed when retried."""
    del task, run
    return isinstance(state.data, Transient)
