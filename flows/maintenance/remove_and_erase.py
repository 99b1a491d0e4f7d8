"""Remove the documents of sources from a store, or erase documents for good and report copies elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

from docmill.flows.config.from_settings import retention_of
from docmill.flows.config.settings import Settings
from docmill.flows.runs.phases import first_of
from docmill.storage.address import is_address
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.encode.api.api_address import is_api
from docmill.storage.search.encode.api_encoder import forget_documents
from docmill.storage.snapshots.change.removal import Removed, commit_without, counted
from docmill.storage.snapshots.clean.erase import Erased, erase_held, found, same_elsewhere
from docmill.storage.snapshots.history import query_log, snapshots
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.storage.snapshots.history.source_log import forget_sources
from docmill.storage.snapshots.write.current_folder import writing
from docmill.tasks.model.journal import REPLIES
from docmill.tasks.sources import fingerprint, listings, sidecars
from docmill.tasks.sources.discover import name_of
from docmill.tasks.sources.fetch_files import give_up_places

_MOST_NAMED = 10  # copies of a document to name in a line


def erase(settings: Settings, uris: Sequence[str], unlisted: bool = False, dry_run: bool = False) -> Erased:
    """Remove every trace of some documents from a store; a dry run only counts.

    Raises `QueryError` for a uri that no kept snapshot lists, before anything is changed, unless `unlisted`.
    """
    folder = open_folder(settings.store, settings.mirrors).existing()
    with nullcontext() if dry_run else writing(folder, settings.wait_s):
        folder.complete(tables_of=snapshots.needed(folder.root))
        done = found(folder, list(dict.fromkeys(uris)), unlisted)
        alike = same_elsewhere(folder, done.uris)
        if not dry_run:
            fingerprint.forget(folder.root, done.uris)
            listings.forget(folder.root, done.uris)
            sidecars.forget(folder.root)
            forget_documents()
            done = erase_held(folder, done, retention_of(settings))
        return replace(done, remains=tuple(_remains(folder, done, alike)))


def _remains(folder: StoreFolder, done: Erased, alike: Sequence[str]) -> Iterator[str]:
    """Yield where copies may be that an erasure does not reach, with the way to remove them."""
    if alike:
        named = first_of(alike, _MOST_NAMED)
        yield f"the same content under other names, present or deleted: {named}: type docmill erase for these, too"
    if done.documents:
        yield "the files themselves: the next ingest adds what is still in its source"
    if any((folder.root / REPLIES).glob("*")):
        yield f"answers of a language model, which are not kept by document: remove {folder.root / REPLIES}"
    if any((folder.root / query_log.FOLDER).glob("*")):
        yield "logged queries, which may name what they ask for: docmill queries clear removes them all"
    newest = snapshots.newest(folder.root)
    if newest and is_api(newest.space.model):
        yield f"the server of {newest.space.model}, to which the texts were sent: ask its provider what it keeps"
    if is_address(folder.name):
        yield f"mirrors of other machines: type there docmill vacuum --store {folder.name}"
        yield "old versions of objects, if the bucket keeps them: remove them by the means of its provider"
    yield "exports: type the same docmill export again; a database keeps versions as it is set to"
    yield "copies and backups of the store: type docmill erase there, or delete them"


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
