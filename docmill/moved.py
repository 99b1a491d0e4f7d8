"""Moved: internal folders under their names of 0.2, which can be imported with a DeprecationWarning until 0.4."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

FOLDERS = {
    "flows.hosting": "flows.prefect",
    "flows.records": "flows.prefect.records",
    "storage.artifacts": "storage.snapshots.artifacts",
    "storage.embedding": "storage.search.encode",
    "storage.history": "storage.snapshots.history",
    "storage.keywords": "storage.search.keywords",
    "storage.lance": "storage.search.vectors",
    "storage.mirror": "storage.remote.mirror",
    "storage.objects": "storage.remote.objects",
    "storage.pictures": "storage.search.pictures",
    "storage.reader": "storage.snapshots.read",
    "storage.retrieval": "storage.search.rank",
    "storage.sentences": "storage.search.sentences",
    "storage.tables": "storage.snapshots.tables",
    "storage.upkeep": "storage.snapshots.clean",
    "storage.versions": "storage.snapshots.change",
    "storage.writer": "storage.snapshots.write",
    "tasks.batch": "tasks.work.batch",
    "tasks.carrying": "tasks.work.remote",
    "tasks.document": "tasks.work.document",
    "tasks.model.clients": "tasks.model",
    "tasks.reading": "tasks.split.spans",
    "tasks.workers": "tasks.work.pool",
}
"""Folders by former name, below `docmill`."""


class MovedModules:
    """A finder and loader of modules by former name. A folder is an empty package, a module the same as the new one."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how to load a module that has moved, or None for any other."""
        del path, target
        place = new_name(name)
        if place is None:
            return None
        warnings.warn(f"{name} has moved to {place}", DeprecationWarning, stacklevel=2)
        return spec_from_loader(name, self, is_package=_is_folder(name))  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return an empty package, in which nothing but this finder finds modules."""
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Replace a module requested by a former name with the current one."""
        place = new_name(module.__name__)
        if place and not _is_folder(module.__name__):
            sys.modules[module.__name__] = import_module(place)


def new_name(name: str) -> str | None:
    """Return the current name of a module of docmill with a former name, or None; others have a `tasks.batch`, too."""
    package, _, inner = name.partition(".")
    former = next((one for one in FOLDERS if f"{inner}.".startswith(f"{one}.")), None)
    return f"docmill.{FOLDERS[former]}{inner.removeprefix(former)}" if former and package == "docmill" else None


def _is_folder(name: str) -> bool:
    return name.removeprefix("docmill.") in FOLDERS
