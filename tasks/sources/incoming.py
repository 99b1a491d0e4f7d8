"""Incoming: the files of sources that are not on this machine, fetched only if they are new or changed."""

import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath

from docmill.storage.errors import Rejected
from docmill.storage.files import remove, temporary
from docmill.storage.keys import key_of
from docmill.storage.name_grammar import fault
from docmill.tasks.sources.checkpoints import Checkpoints, SourceItem
from docmill.tasks.sources.source import OBJECTS, DiscoverOptions, Listing, PathRules, Skipped, Source, SourceFile

_AT_ONCE = 16
"""Concurrent downloads: each waits for the source, so fewer leave the line idle; more only share it."""
_NAME_CHARACTERS = 50  # of at most 4 bytes each: a key may be longer than a file name


class Incoming:
    """The fetched files of a run's sources, in a folder until the run ends."""

    def __init__(self, folder: Path, most_bytes: int = sys.maxsize, checkpoints: Checkpoints | None = None) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._offered: dict[str, tuple[Source, SourceFile]] = {}
        self.checkpoints = checkpoints or Checkpoints()

    def discover(self, source: Source, options: DiscoverOptions) -> Listing:
        """List a source, and give each file that is elsewhere its future path. Raises as `Source.list` does."""
        listing = source.list(options, self.checkpoints)
        if not source.origin:
            return listing
        return replace(listing, found=[self._offer(source, file) for file in listing.found])

    def bring(self, paths: Iterable[str]) -> dict[str, Rejected]:
        """Fetch files, given their future paths, and return why some cannot be had.

        Paths that are those of local files, and of files that are here already, are skipped.
        """
        lacking = [path for path in dict.fromkeys(paths) if path in self._offered and not Path(path).exists()]
        with ThreadPoolExecutor(_AT_ONCE, "docmill-incoming") as pool:
            refused = zip(lacking, pool.map(self._fetch, lacking), strict=True)
            return {path: why for path, why in refused if why}

    def address_of(self, path: str) -> str:
        """Return the `s3://` address of an object, given its future path here; "" for any other file."""
        source, file = self._offered.get(path, (None, None))
        return file.link if source and file and source.kind == OBJECTS else ""

    def remove(self) -> None:
        """Remove what was fetched: what a later run needs of it is in the store."""
        remove(self._folder)

    def _offer(self, source: Source, file: SourceFile) -> SourceFile:
        if not file.origin:
            return file
        # The end of the name, because the suffix tells the type.
        path = str(self._folder / key_of(file.origin) / PurePosixPath(file.uri).name[-_NAME_CHARACTERS:])
        placed = replace(file, path=path)
        self._offered[path] = (source, placed)
        return placed

    def _fetch(self, path: str) -> Rejected | None:
        source, file = self._offered[path]
        try:
            with temporary(self._folder) as draft:
                source.fetch(file, draft, self._most_bytes)
                Path(path).parent.mkdir(exist_ok=True)
                draft.replace(path)
        except Rejected as why:
            return why
        return None


def admitted(source: Source, items: Iterable[SourceItem], rules: PathRules, reader: str = "") -> Listing:
    """Return the items of a source as files to fetch: those that the patterns select and that have a safe name.

    `reader` is the version of what reads them, where another version may read other bytes.
    """
    found, skipped = list[SourceFile](), list[Skipped]()
    for item in items:
        uri = source.prefix + item.name
        if not source.covers(uri) or rules.drop_item(item.name):
            continue
        if why := fault(item.name):
            skipped.append(Skipped(uri, "unsafe_path", f"a key {why}"))
        else:
            found.append(_file(source, uri, item, reader))
    return Listing(sorted(found, key=lambda file: file.uri), skipped, rules)


def _file(source: Source, uri: str, item: SourceItem, reader: str) -> SourceFile:
    origin = " ".join(filter(None, (f"{source.origin}{item.name}", item.version, reader)))
    file = SourceFile(uri, "", source.name, item.size, item.modified_ns, origin=origin, item=item)
    return replace(file, link=source.link(file))
