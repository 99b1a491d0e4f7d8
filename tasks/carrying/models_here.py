"""Models here: the folder that a model has on this machine, given the name that it has on another."""

import os
from pathlib import Path, PurePosixPath

VARIABLE = "DOCMILL_MODELS"


def model_here(model: str) -> str:
    """Return the folder of that name below `DOCMILL_MODELS` if there is one, else the name as it is."""
    above = os.environ.get(VARIABLE)
    own = Path(above) / PurePosixPath(model).name if above else None
    return str(own) if own and own.is_dir() else model
