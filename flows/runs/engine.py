"""Engines: run steps on threads of this process or as Prefect tasks (`docmill.flows.ingest`), and choose one."""

import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from docmill.flows.runs.phases import Phase

if TYPE_CHECKING:
    from docmill.storage.search.encode.space import EmbeddingSpace
    from docmill.storage.snapshots.history.folder import StoreFolder

T = TypeVar("T")
EngineName = Literal["local", "prefect"]
SPARE_THREADS = 2  # threads besides the ones that wait for batches: one to embed, one to commit
THREADS = 8  # batches in flight, and one thread to embed finished batches


@dataclass(frozen=True, slots=True)
class Node:
    """A step in the graph of a run.

    `key` is unique in a run. `about` counts the input of the step, for people. `after` are the keys of the steps before
    it; None means all steps that have no successor yet. `inside` is the key of the step that this one is part of.
    """

    key: str
    about: str = ""
    after: tuple[str, ...] | None = None
    inside: str = ""

    @property
    def name(self) -> str:
        """The name shown to people."""
        return f"{self.key} ({self.about})" if self.about else self.key


@dataclass(frozen=True, slots=True)
class RunSite:
    """The information about a run that its steps need.

    Attributes:
        store: The folder of the store.
        folder: The staging folder of the run.
        space: The embedding space of the run.
        sizes_by: The setting `[chunk] tokenizer`.
        passwords: The passwords of encrypted files.
        address_of: Returns the `s3://` address of the object that a file is a copy of, given its path, or "".
    """

    store: "StoreFolder"
    folder: Path
    space: "EmbeddingSpace"
    sizes_by: str
    passwords: tuple[str, ...]
    address_of: Callable[[str], str]


class Engine:
    """Runs plain step functions somewhere; what an engine does not override is not needed there.

    Attributes:
        name: The name of the engine in the table of runs.
        reads_objects: Whether workers read the objects of `s3://` sources themselves.
    """

    name = ""
    reads_objects = False

    @property
    def slots(self) -> int:
        """How many batches to process at a time, at least 2. With fewer, workers would be idle."""
        return THREADS

    @property
    def embedders(self) -> int:
        """How many workers embed in parallel."""
        return 1

    def attend(self, site: RunSite) -> AbstractContextManager[None]:  # noqa: ARG002
        """Prepare for the steps of a run, which run inside the block, and clean up after them."""
        return nullcontext()

    def fingerprints(self, addresses: Sequence[str]) -> dict[str, tuple[str, str]]:  # noqa: ARG002
        """Return, by address, the content hash of each object that workers have read, and what it may contain."""
        return {}

    def submit(self, step: Callable[..., T], *args: Any, node: Node | None = None) -> Future[T]:
        """Start `step(*args)`; `.result()` returns its result or raises its exception. `node` is its graph node."""
        raise NotImplementedError

    def record(self, node: Node, began: float, seconds: float, message: str) -> None:
        """Add a finished step to the graph, if the engine keeps one; `began` is in seconds since 1970."""

    def progress(self, phase: Phase) -> None:
        """Report the progress of the run."""

    def log(self, message: str) -> None:
        """Add a line to the log of the run, if the engine keeps one."""

    def table(self, name: str, rows: Sequence[dict[str, Any]], description: str) -> None:
        """Attach a table to the run, if the engine keeps tables; `name` is that of the table in the store."""

    def tell(self, message: str) -> None:
        """Tell the user what the run has done so far, in one line."""


class LocalEngine(Engine):
    """Runs steps on threads of this process. As a context manager, it drops unstarted steps when the block ends.

    The report of a run says what other engines record and log.
    """

    name = "local"

    def __init__(
        self,
        progress: Callable[[Phase], None] | None = None,
        tell: Callable[[str], None] | None = None,
        threads: int = THREADS,
    ) -> None:
        self._threads = ThreadPoolExecutor(threads, "docmill")
        self._progress = progress
        self._tell = tell

    def submit(self, step: Callable[..., T], *args: Any, node: Node | None = None) -> Future[T]:
        del node
        return self._threads.submit(step, *args)

    def progress(self, phase: Phase) -> None:
        if self._progress is not None:
            self._progress(phase)

    def tell(self, message: str) -> None:
        if self._tell is not None:
            self._tell(message)

    def __enter__(self) -> "LocalEngine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)


def choose_engine(wanted: str) -> EngineName:
    """Return the engine for a setting; "auto" and "dask" choose Prefect if an API is configured, else threads."""
    if wanted in ("local", "prefect"):
        return "prefect" if wanted == "prefect" else "local"
    return "prefect" if configured_api() else "local"


def configured_api() -> str | None:
    """Return the URL of the Prefect API configured by this user, without importing Prefect.

    Looks in the same places and order as Prefect: environment, prefect.toml, pyproject.toml, active profile.
    """
    if "prefect" in sys.modules:
        from prefect.settings import get_current_settings

        return get_current_settings().api.url
    places = (_environment, _prefect_toml, _pyproject, _profile)
    return next((url for place in places if (url := place())), None)


def _environment() -> str | None:
    return os.environ.get("PREFECT_API_URL")


def _prefect_toml() -> str | None:
    return _dig(_read(Path("prefect.toml")), "api", "url")


def _pyproject() -> str | None:
    return _dig(_read(Path("pyproject.toml")), "tool", "prefect", "api", "url")


def _profile() -> str | None:
    home = Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
    profiles = _read(Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml").expanduser())
    active = os.environ.get("PREFECT_PROFILE") or _dig(profiles, "active")
    return _dig(profiles, "profiles", active or "", "PREFECT_API_URL")


def _read(path: Path) -> dict[str, Any]:
    """Return a parsed TOML file; empty if it is missing or damaged, as in Prefect."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _dig(values: Any, *keys: str) -> str | None:
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values if isinstance(values, str) and values else None
