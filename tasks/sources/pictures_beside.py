"""Pictures beside: find the source's picture files that its pages show, if everyone who sees the page may see them.

A page names them by paths, which are looked up among the files that the source has listed. So a path that leads out of
the source, to a link that is not followed, or to an excluded file finds nothing.
"""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow.compute as pc

from docmill.storage.schema import EVERYONE
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.tasks.archive.archive_kinds import pictures_held
from docmill.tasks.paths.content import PictureBeside
from docmill.tasks.sources.access_grants import access_of
from docmill.tasks.sources.source import Listing, Source, SourceFile

Listed = tuple[Source, Listing]


def pictured(listings: Sequence[Listed]) -> list[Listed]:
    """Return the listings, adding to each page the picture files that it shows."""
    return [(source, replace(listing, found=_pictured(listing.found))) for source, listing in listings]


def _pictured(files: Sequence[SourceFile]) -> Sequence[SourceFile]:
    left, pages = _parted(files)
    if not pages:
        return files
    shown = [_shown(page) for page in pages]
    pictures = _pictures(files, {uri for names in shown for uri in names.values()})
    made = [replace(page, pictures=_found(page, names, pictures)) for page, names in zip(pages, shown, strict=True)]
    return left.beside(made) if isinstance(left, RowColumns) else [*left, *made]


def _parted(files: Sequence[SourceFile]) -> tuple[Sequence[SourceFile], list[SourceFile]]:
    """Return the files that show no picture files, and the ones that do."""
    if not isinstance(files, RowColumns):
        pages = [file for file in files if pictures_held(file.holds)]
        return [file for file in files if not pictures_held(file.holds)], pages
    held = pc.unique(files.table.column("holds")).to_pylist()
    return files.parted("holds", {one for one in (*held, *(file.holds for file in files.others)) if pictures_held(one)})


def _pictures(files: Sequence[SourceFile], uris: set[str]) -> dict[str, SourceFile]:
    """Return the readable files with these uris."""
    found = files.having("uri", uris) if isinstance(files, RowColumns) else (one for one in files if one.uri in uris)
    return {one.uri: one for one in found if one.content_hash and not one.reason}


def _shown(page: SourceFile) -> dict[str, str]:
    """Return the uris of the pictures that a page shows, by path relative to the page."""
    folder = posixpath.dirname(page.uri)
    return {name: posixpath.normpath(posixpath.join(folder, name)) for name in pictures_held(page.holds)}


def _found(page: SourceFile, shown: Mapping[str, str], pictures: Mapping[str, SourceFile]) -> tuple[PictureBeside, ...]:
    """Return the pictures of a page that everyone who sees the page may see."""
    readers = {*access_of(page.described)}
    found = ((name, pictures[uri]) for name, uri in shown.items() if uri in pictures)
    return tuple(
        PictureBeside(name, one.content_hash, one.path, one.reach)
        for name, one in found
        if EVERYONE in (own := access_of(one.described)) or readers.issubset(own)
    )
