"""Kept rows: the folders of row files next to the snapshots, which `verify` looks at and `repair` mends."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from docmill.storage.snapshots.history import judgements, learned_settings, measurements, query_log


class KeptRows(NamedTuple):
    """A folder of row files: the kind of its findings, what one file is, what to do without it, and the damaged ones.

    A damaged file is set aside, not removed: nothing can make its rows again.
    """

    kind: str
    what: str
    remedy: str
    damaged: Callable[[Path], list[Path]]


KEPT_ROWS = (
    KeptRows("evaluations", "the results of an evaluation", "; repeat the evaluation", measurements.damaged),
    KeptRows("judgements", "a judgement", "; judge again", judgements.FILES.damaged),
    KeptRows("queries", "logged queries", "", query_log.FILES.damaged),
    KeptRows("learned", "a learned setting", "", learned_settings.FILES.damaged),
)
