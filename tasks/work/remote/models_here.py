"""Models here: the folder that a model has on this machine, given the name that it has on another."""

import os
from pathlib import Path, PurePosixPath

from docmill.storage.search.encode.shortened import shorten, split

VARIABLE = "DOCMILL_MODELS"


def model_here(model: str) -> str:
    """Return the folder of that name below `DOCMILL_MODELS` if there is one, else the name as it is."""
    above = os.environ.get(VARIABLE)
    name, dimensions = split(model)
    own = Path(above) / PurePosixPath(name).name if above else None
    return shorten(str(own), dimensions) if own and own.is_dir() else model
