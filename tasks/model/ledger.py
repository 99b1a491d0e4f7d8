"""Ledger: the cost of language models since the last commit, until the table `costs` has it."""

import json
from collections.abc import Sequence
from pathlib import Path

from docmill.storage.files import remove
from docmill.storage.schema import CostRow
from docmill.tasks.model.journal import COSTS, recover


def pending(root: Path) -> list[Path]:
    """Return the notes of costs that are in no snapshot; first fold the journals of killed runs."""
    recover(root)
    return sorted((root / COSTS).glob("[!.]*.json"))


def read(notes: Sequence[Path]) -> tuple[CostRow, ...]:
    """Return the rows of notes."""
    return tuple(CostRow(**row) for note in notes for row in json.loads(note.read_bytes()))


def clear(notes: Sequence[Path]) -> None:
    """Remove notes whose rows are in a snapshot."""
    for note in notes:
        remove(note)
