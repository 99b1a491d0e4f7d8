"""docmill: files in, one snapshot of chunks, vectors and BM25 out.

    import docmill

    report = docmill.ingest("docs", store="store")
    with docmill.open_store("store") as store:
        for hit in store.search("how do I undo a commit?", k=3):
            print(hit.uri, hit.start_char, hit.text)

The names in `__all__` are public, and so are those of `docmill.plugins` and `docmill.testing`, for authors of plugins,
and of `docmill.adapters`, for LangChain, LlamaIndex, Haystack and Prefect: they keep their meaning within a minor
version, and the changelog says when one changes. Everything else, `docmill.flows`, `docmill.tasks` and
`docmill.storage` included, is private and may change in any release. The two Prefect flows,
`docmill.flows.ingest.ingest` and `docmill.flows.evaluate.evaluate`, are entry points of deployments and keep their
names and parameters.

`import docmill` imports nothing heavy. Each name loads what it needs when it is first used. It sets the environment
variables that stop the libraries below it from reporting their use to their makers, unless you set them.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docmill.moved import MovedModules
from docmill.storage.argument_types import checked
from docmill.storage.process.no_telemetry import switch_telemetry_off

if TYPE_CHECKING:
    from docmill import errors
    from docmill.flows.config.settings import Settings
    from docmill.flows.runs.phases import Phase
    from docmill.flows.runs.report import Report
    from docmill.storage.exports.export import Exported
    from docmill.storage.schema import KeptPicture
    from docmill.storage.search.rank.candidates.hit import Hit
    from docmill.storage.search.rank.candidates.search_options import Mode, SearchArguments
    from docmill.storage.snapshots.history.judgements import Judgement
    from docmill.storage.snapshots.read.document import Document, Figure
    from docmill.storage.snapshots.read.judging import JudgedPassage
    from docmill.storage.snapshots.read.outline import Section
    from docmill.storage.snapshots.read.query_analysis import ContentGap, FrequentQuery
    from docmill.storage.snapshots.read.replay import ReplayedQuery
    from docmill.storage.snapshots.read.store import Store, open_store

    __version__: str

__all__ = [
    "ContentGap",
    "Document",
    "Exported",
    "Figure",
    "FrequentQuery",
    "Hit",
    "JudgedPassage",
    "Judgement",
    "KeptPicture",
    "Mode",
    "Phase",
    "ReplayedQuery",
    "Report",
    "SearchArguments",
    "Section",
    "Settings",
    "Store",
    "__version__",
    "errors",
    "ingest",
    "open_store",
    "plan",
]

switch_telemetry_off()  # before any of these libraries is imported
sys.meta_path.append(MovedModules())

_HOMES = {
    "ContentGap": "docmill.storage.snapshots.read.query_analysis",
    "Document": "docmill.storage.snapshots.read.document",
    "Exported": "docmill.storage.exports.export",
    "Figure": "docmill.storage.snapshots.read.document",
    "FrequentQuery": "docmill.storage.snapshots.read.query_analysis",
    "Hit": "docmill.storage.search.rank.candidates.hit",
    "JudgedPassage": "docmill.storage.snapshots.read.judging",
    "Judgement": "docmill.storage.snapshots.history.judgements",
    "KeptPicture": "docmill.storage.schema",
    "Mode": "docmill.storage.search.rank.candidates.search_options",
    "Phase": "docmill.flows.runs.phases",
    "ReplayedQuery": "docmill.storage.snapshots.read.replay",
    "Report": "docmill.flows.runs.report",
    "SearchArguments": "docmill.storage.search.rank.candidates.search_options",
    "Section": "docmill.storage.snapshots.read.outline",
    "Settings": "docmill.flows.config.settings",
    "Store": "docmill.storage.snapshots.read.store",
    "open_store": "docmill.storage.snapshots.read.store",
}


@checked
def ingest(
    sources: str | Path | Sequence[str | Path] = (),
    *,
    store: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    settings: "Settings | None" = None,
    config: str | Path | None = None,
    allow_delete: bool = False,
    retry: bool = False,
    refresh_contexts: bool = False,
    progress: "Callable[[Phase], None] | None" = None,
) -> "Report":
    """Bring a store up to date with its sources in one snapshot, as the command `docmill ingest` does.

    Documents that did not change cost no work. Where nothing changed, nothing is committed.

    Args:
        sources: Folders, globs, files, `s3://BUCKET/PREFIX`, or `NAME=PATH`. None takes `sources` of the settings.
        store: The folder that keeps everything, or `s3://BUCKET/PREFIX`. None takes `store` of the settings.
        options: Settings by their key in docmill.toml, such as `{"parse.workers": 2}`. They win over the environment,
            which wins over the file.
        settings: Complete settings. With these, neither the environment nor a docmill.toml is read.
        config: The docmill.toml to read. None takes the file of the working folder or of a folder above it.
        allow_delete: Accept that a source lost many of its documents.
        retry: Try documents again that were rejected before.
        refresh_contexts: Ask the language model again where a context is stale or could not be used.
        progress: A function that is called with a `Phase`, in this thread, each time that a part of the run is done,
            and every 5 seconds while it waits for one. It should return at once; an exception in it ends the run. The
            Prefect engine does not call it: there, Prefect shows the progress.

    Returns:
        What the run did: counts of documents and chunks, seconds by step, and `exit_status`, which is 0 only if the
        store has the current version of every document.

    Raises:
        docmill.errors.ConfigError: A setting or an argument is wrong.
        docmill.errors.SourceError: A source is missing, or it would lose too many documents.
        docmill.errors.StoreError: The store is damaged, or of another format or embedding model.
        docmill.errors.Locked: Another writer, in this or another process, holds the store.
        docmill.errors.Transient: The disk is full, or a server does not answer.

    Examples:
        >>> report = docmill.ingest("docs", store="store")
        >>> report.snapshot, report.documents.added, report.exit_status
        (1, 3, 0)
    """
    from docmill.flows.prefect.run_on_engine import start_run
    from docmill.flows.runs.run_options import RunOptions

    loaded = _settings(store, options, settings, config)
    return start_run(loaded, _listed(sources), RunOptions(False, allow_delete, retry, refresh_contexts), progress)


@checked
def plan(
    sources: str | Path | Sequence[str | Path] = (),
    *,
    store: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    settings: "Settings | None" = None,
    config: str | Path | None = None,
    allow_delete: bool = False,
    retry: bool = False,
    refresh_contexts: bool = False,
    progress: "Callable[[Phase], None] | None" = None,
) -> "Report":
    """Return the report of what `ingest` would do. The store stays as it is.

    New and changed documents are parsed and split to count chunks and tokens; nothing is embedded. Arguments and
    errors are those of `ingest`.

    Examples:
        >>> docmill.plan("docs", store="store").embedded  # texts that a run would embed
        0
    """
    from docmill.flows.prefect.run_on_engine import start_run
    from docmill.flows.runs.run_options import RunOptions

    loaded = _settings(store, options, settings, config)
    return start_run(loaded, _listed(sources), RunOptions(True, allow_delete, retry, refresh_contexts), progress)


def _listed(sources: str | Path | Sequence[str | Path]) -> list[str]:
    if not isinstance(sources, str | Path | Iterable):
        from docmill.storage.errors import SourceError

        raise SourceError(f"sources must be a path, an address or a list of them, got {sources!r}")
    return [str(sources)] if isinstance(sources, str | Path) else [str(source) for source in sources]


def _settings(
    store: str | Path | None,
    options: Mapping[str, Any] | None,
    settings: "Settings | None",
    config: str | Path | None,
) -> "Settings":
    """Return complete settings; given ones read neither the environment nor a file."""
    from docmill.flows.config.configuration import load, with_values

    values = {tuple(key.split(".")): value for key, value in (options or {}).items()}
    if store is not None:
        values["store",] = str(store)
    if settings is not None:
        return with_values(settings, values)
    return load(values, Path(config) if config is not None else None, as_flags=False)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("docmill")
    if name == "errors":
        return import_module("docmill.errors")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'docmill' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
