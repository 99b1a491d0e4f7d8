"""Kept rows: the folders of row files next to the snapshots, which `verify` checks and `repair` repairs."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from docmill.storage.snapshots.history import judgements, learned_settings, measurements, query_log


class KeptRows(NamedTuple):
    """A folder of row files: the kind of its findings, what a file contains, the remedy for its loss, damaged files.

    A damaged file is set aside, not removed, because its rows cannot be rebuilt.
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
