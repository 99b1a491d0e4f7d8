"""Orders: what a step is to do, as a file, so that a step takes a path wherever it runs."""

import pickle
from pathlib import Path
from typing import Any


def save_order(order: Any, path: Path) -> Path:
    """Write an order to a file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(order))
    return path


def load_order(path: Path) -> Any:
    """Read an order that this run has written."""
    return pickle.loads(path.read_bytes())
