"""Expand: list the members of archives and mails among the files of a source.

An archive is a folder: its members take its place. A mail is a document, and its attachments are further ones. A worker
process looks into an archive, once for each content.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from docmill.storage.errors import Rejected
from docmill.tasks.archive.listing import ContainedFile, Contents
from docmill.tasks.archive.names import uncompressed
from docmill.tasks.document.recipe import Recipe, suffix_of
from docmill.tasks.sources.fingerprint import Fingerprint
from docmill.tasks.sources.list_archive import FileListing, look
from docmill.tasks.sources.listings import Listings
from docmill.tasks.sources.source import Listing, Skipped, Source, SourceFile
from docmill.tasks.workers.pool import shared_pool

Listed = tuple[Source, Listing]


@dataclass(frozen=True, slots=True)
class Expansion:
    """The files of the sources, including members, and the content hash of each uri."""

    listings: list[Listed]
    hashes: dict[str, str]


def expand(
    listings: list[Listed],
    prints: Mapping[str, Fingerprint],
    seen: Listings,
    recipe: Recipe,
    retry: bool,
    bring: Callable[[Iterable[str]], object],
) -> Expansion:
    """Return the sources' files and their members; `retry` tries again to open archives that failed before.

    `bring` downloads the files to open that are not on this machine.
    """
    hashes = {uri: taken.hash for uri, taken in prints.items()}
    holders = _holders(listings, prints)
    # By content: a renamed or copied archive is not opened again.
    keys = {file.uri: seen.key(hashes[file.uri], suffix_of(file.uri)) for file in holders}
    known = _remembered(keys.values(), seen, retry)
    # Of files with equal content one is opened.
    fresh = {keys[file.uri]: file for file in holders if keys[file.uri] not in known}
    bring(file.path for file in fresh.values())
    for key, result in _looked(fresh, recipe):
        file = fresh[key]
        known[key] = _survived(result, prints[file.uri].holds)
        seen.put(key, file.known_as, known[key])
    opened = {uri: known[key] for uri, key in keys.items() if known[key].kind}
    return Expansion([(source, _expanded(source, listing, opened, hashes)) for source, listing in listings], hashes)


def _holders(listings: Iterable[Listed], prints: Mapping[str, Fingerprint]) -> list[SourceFile]:
    """Return the files that may hold others."""
    return [file for _, listing in listings for file in listing.found if prints[file.uri].holds]


def _remembered(keys: Iterable[str], seen: Listings, retry: bool) -> dict[str, Contents]:
    """Return the results of earlier runs, by key; with `retry`, without failures."""
    found = {key: seen.get(key) for key in keys}
    return {key: one for key, one in found.items() if one and not (retry and _failed(one))}


def _looked(fresh: Mapping[str, SourceFile], recipe: Recipe) -> Iterator[tuple[str, Contents | Rejected]]:
    """Yield the contents of files as found by workers, by key; no worker starts if there are no files."""
    jobs = [FileListing(file.path, PurePosixPath(file.uri).name, recipe.archives) for file in fresh.values()]
    if jobs:
        yield from zip(fresh, shared_pool(recipe.limits).map(look, jobs), strict=True)


def _failed(contents: Contents) -> bool:
    return bool(contents.reason) or any(entry.reason for entry in contents.entries)


def _survived(result: Contents | Rejected, holds: str) -> Contents:
    """Return the result of a worker, or what its failure means: a mail can still be read as a document."""
    if isinstance(result, Contents):
        return result
    if holds == "archive":
        return Contents("archive", (), result.reason, result.message)
    return Contents(
        "mail", (ContainedFile((0,), "attachments", "", 0, "", result.reason, result.message, skipped=True),)
    )


def _expanded(source: Source, listing: Listing, opened: Mapping[str, Contents], hashes: dict[str, str]) -> Listing:
    found: list[SourceFile] = []
    skipped = list(listing.skipped)
    for file in listing.found:
        contents = opened.get(file.uri)
        if contents is None:
            found.append(file)
            continue
        # It is a document itself; its attachments come beside it, and not in its place.
        if contents.kind == "mail":
            found.append(file)
        # An archive that cannot be opened stays in the list, to be rejected with this reason.
        elif contents.reason:
            found.append(replace(file, reason=contents.reason, message=contents.message))
        for entry in _wanted(file, contents, source, listing):
            member = _member(file, entry)
            if entry.skipped:
                skipped.append(Skipped(member.uri, entry.reason, entry.message))
            else:
                found.append(member)
                hashes[member.uri] = entry.content_hash
    return Listing(found, skipped, listing.rules)


def _wanted(file: SourceFile, contents: Contents, source: Source, listing: Listing) -> Iterator[ContainedFile]:
    path = file.uri.removeprefix(source.prefix)
    for entry in contents.entries:
        named = _named(entry, uncompressed(file.uri)) if contents.kind == "compressed" else entry
        if listing.rules is None or not listing.rules.drop_inner(path, named.name):
            yield named


def _named(entry: ContainedFile, name: str) -> ContainedFile:
    """Return the entry of a compressed file under the file's current name."""
    _, *rest = entry.name.split("/")
    parent = "/".join([name, *entry.parent.split("/")[1:]]) if entry.parent else ""
    return replace(entry, name="/".join([name, *rest]), parent=parent)


def _member(file: SourceFile, entry: ContainedFile) -> SourceFile:
    return SourceFile(
        uri=f"{file.uri}/{entry.name}",
        path=file.path,
        source=file.source,
        size=entry.size,
        # Not the time in the archive, which has no time zone and is often that of the build.
        mtime_ns=file.mtime_ns,
        place=entry.place,
        parent=f"{file.uri}/{entry.parent}" if entry.parent else file.uri,
        reason=entry.reason,
        message=entry.message,
        link=file.link,
    )
