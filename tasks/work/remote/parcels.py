"""Parcels: the messages to a worker and its answers. Documents travel as freight, never in a message."""

import os
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from docmill.storage.files import hash_file
from docmill.storage.search.encode.matryoshka import shorten, split
from docmill.storage.search.encode.model_spaces import describe_model, late_space, tokenizer_dir
from docmill.storage.search.encode.plugin_encoder import ENCODERS
from docmill.storage.search.encode.space import FLOAT32
from docmill.tasks.context.contextualizers import CONTEXTUALIZERS
from docmill.tasks.parse.dispatch.parsers import PARSERS
from docmill.tasks.split.strategies import SPLITTERS
from docmill.tasks.split.syntax.grammars import absent
from docmill.tasks.work.batch.embed import Embedding
from docmill.tasks.work.document.process import PhaseSeconds
from docmill.tasks.work.document.recipe import installed


@dataclass(frozen=True, slots=True)
class ModelName:
    """An embedding model by its name and the hash of its files, and the settings that decide how it is used."""

    model: str
    revision: str
    light: int
    late: bool
    dtype: str = FLOAT32


@dataclass(frozen=True, slots=True)
class Terms:
    """What two machines must have in common to make equal rows; the worker may have more `programs`."""

    docmill: str
    space: str
    tokenizer: str
    plugins: tuple[str, ...]
    grammars_absent: tuple[str, ...]
    programs: tuple[str, ...]

    def lacks(self, other: "Terms") -> list[str]:
        """Return how another machine differs, in words."""
        names = ("docmill", "space", "tokenizer", "plugins", "grammars_absent")
        found = [
            f"{name.replace('_', ' ')}: {getattr(other, name) or 'none'} there, {getattr(self, name) or 'none'} here"
            for name in names
            if getattr(self, name) != getattr(other, name)
        ]
        missing = [one for one in self.programs if one not in other.programs]
        return found + ([f"not installed there: {', '.join(missing)}"] if missing else [])


@dataclass(frozen=True, slots=True)
class Parcel:
    """A step to carry out: where its freight is, and which model to use."""

    freight: str
    store: str
    run: str
    name: str
    key: str
    content_hash: str
    model: ModelName
    terms: Terms
    sizes_by: str = ""
    asking: bool = False
    passwords: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a step, as in `BatchDone`; `buckets` is the number of rewritten table buckets."""

    answering: float = 0.0
    spent: PhaseSeconds = field(default_factory=PhaseSeconds)
    documents: int = 0
    rejected: int = 0
    regions: int = 0
    chunks: int = 0
    contexts: int = 0
    embedded: Embedding = field(default_factory=lambda: Embedding(0, 0))
    buckets: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a step. `outcome` is "done", "asks", "refused", "transient" or "failed".

    A worker refuses if its terms differ. It "asks" for what only the driver has: a batch asks if a document needs a
    model's answer, a rewrite if the worker cannot read the store. `began` is in seconds since 1970, `seconds` is
    wall-clock time, `cpu` is the CPU time of the worker's process.
    """

    outcome: str
    worker: str
    message: str = ""
    key: str = ""
    content_hash: str = ""
    bytes: int = 0
    began: float = 0.0
    seconds: float = 0.0
    cpu: float = 0.0
    counts: Counts = field(default_factory=Counts)


@lru_cache(maxsize=8)
def terms_of(model: ModelName) -> Terms:
    """Return the terms of this machine; raise as `describe_model` does if the model here is not the named one."""
    own = replace(model, model=model_here(model.model))
    space = describe_model(own.model, own.revision)
    plugins = [str(one) for registry in (PARSERS, SPLITTERS, CONTEXTUALIZERS, ENCODERS) for one in registry.origins]
    return Terms(
        version("docmill"),
        (late_space(space) if model.late else space).id,
        hash_file(tokenizer_dir(own.model, own.revision) / "tokenizer.json"),
        tuple(sorted(plugins)),
        absent(),
        tuple(installed()),
    )


VARIABLE = "DOCMILL_MODELS"


def model_here(model: str) -> str:
    """Return the folder of that name below `DOCMILL_MODELS` if it exists, else the name unchanged."""
    above = os.environ.get(VARIABLE)
    name, dimensions = split(model)
    own = Path(above) / PurePosixPath(name).name if above else None
    return shorten(str(own), dimensions) if own and own.is_dir() else model
