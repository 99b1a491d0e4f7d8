"""Orders: what a step is to do, as a file, so that a step takes a path wherever it runs."""

import pickle
from pathlib import Path
from typing import Any


def save_order(order: Any, path: Path) -> Path:
    """Write an order to a file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        pickle.dump(order, file)
    return path


def load_order(path: Path) -> Any:
    """Read an order that this run has written."""
    with path.open("rb") as file:
        return pickle.load(file)
