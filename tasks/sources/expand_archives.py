"""Expand archives: list the members of archives and mails among the files of a source.

An archive is like a folder: its members take its place. Mails, PDFs and Office documents stay, and their attachments
and embedded files are further documents. A worker process looks into each distinct content once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from docmill.storage.errors import Rejected
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.tasks.archive.contents import Contents, unlisted
from docmill.tasks.sources.archive_source import Opener, failed, opened_up
from docmill.tasks.sources.fingerprint import HOLDERS
from docmill.tasks.sources.listings import Listings
from docmill.tasks.sources.source import Listing, Source, SourceFile
from docmill.tasks.work.document.recipe import suffix_of

Listed = tuple[Source, Listing]


def expand(
    listings: list[Listed],
    seen: Listings,
    opener: Opener,
    retry: bool,
    bring: Callable[[Iterable[str]], object],
) -> list[Listed]:
    """Return the sources' files and their members; `retry` opens archives again that failed before.

    `bring` downloads files to open that are not on this machine.
    """
    holders = _holders(listings)
    # By content: a renamed or copied archive is not opened again.
    keys = {file.uri: seen.key(file.content_hash, suffix_of(file.uri)) for file in holders}
    known = _remembered(keys.values(), seen, retry)
    # Of files with equal content, only one is opened.
    fresh = {keys[file.uri]: file for file in holders if keys[file.uri] not in known}
    bring(file.path for file in fresh.values())
    for key, result in zip(fresh, opener.look([*fresh.values()]), strict=True):
        file = fresh[key]
        known[key] = _survived(result, file.holds)
        seen.put(key, file.known_as, known[key])
    opened = {uri: known[key] for uri, key in keys.items() if known[key].kind}
    return [(source, opened_up(listing, opened, source.prefix)) for source, listing in listings]


def _holders(listings: Iterable[Listed]) -> list[SourceFile]:
    """Return the files that may contain others."""
    return [file for _, listing in listings for file in _few(listing.found) if file.holds in HOLDERS]


def _few(files: Sequence[SourceFile]) -> Sequence[SourceFile]:
    """Return the files to look at, without making objects of the many in a folder that contain nothing."""
    return files.having("holds", HOLDERS) if isinstance(files, RowColumns) else files


def _remembered(keys: Iterable[str], seen: Listings, retry: bool) -> dict[str, Contents]:
    """Return the results of earlier runs by key; with `retry`, without failures."""
    found = {key: seen.get(key) for key in keys}
    return {key: one for key, one in found.items() if one and not (retry and failed(one))}


def _survived(result: Contents | Rejected, holds: str) -> Contents:
    """Return the result of a worker, or the contents to assume after a failure: a document can still be read."""
    if isinstance(result, Contents):
        return result
    if holds == "archive":
        return Contents("archive", (), result.reason, result.message)
    return unlisted(holds, result)


def without_files(sources: Iterable[Listed], held: Mapping[str, int]) -> Iterator[str]:
    """Yield a message for each source without files that has no documents in the store; `held` counts these by name."""
    for source, listing in sources:
        if not (listing.found or listing.unseen or held.get(source.name)):
            yield f"{source.name}: no files found; check the path, .docmillignore and [discover]"
