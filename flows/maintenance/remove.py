"""Remove: remove the documents of sources from the store, and the addresses of these sources."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

from docmill.flows.config.from_settings import retention_of
from docmill.flows.config.settings import Settings
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.change.removal import Removed, commit_without, counted
from docmill.storage.snapshots.history.source_log import forget_sources
from docmill.storage.snapshots.write.current_folder import writing
from docmill.tasks.sources.discover import name_of
from docmill.tasks.sources.fetch_files import give_up_places


def remove(settings: Settings, sources: Sequence[str], dry_run: bool = False) -> Removed:
    """Commit a snapshot without the documents of some sources, given by name; a dry run only counts.

    Raises `QueryError` for a name that the store does not know, before anything is changed.
    """
    sources = list(dict.fromkeys(sources))
    folder = open_folder(settings.store, settings.mirrors).existing()
    with nullcontext() if dry_run else writing(folder, settings.wait_s):
        folder.complete()
        newest = folder.read()
        found = counted(newest, sources)
        if dry_run:
            return found
        # First, because no command could remove a claim that outlived its documents.
        give_up_places(folder.root, sources)
        forget_sources(folder.root, sources)
        return replace(found, snapshot=commit_without(newest, sources, retention_of(settings)))


def still_named(settings: Settings, sources: Sequence[str]) -> Iterator[str]:
    """Yield the entries of the setting `sources` that name one of these sources."""
    return (one for one in settings.sources if name_of(one, settings.source) in sources)
