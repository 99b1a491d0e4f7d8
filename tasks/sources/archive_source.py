"""Archive source: an archive as a source, and the opener of archives, wherever they are found."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath

from docmill.storage.errors import Rejected
from docmill.storage.keys import key_of
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.tasks.archive.archive_kinds import HEAD_BYTES, KEPT, may_hold
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.contents import LISTING_VERSION, ContainedFile, Contents
from docmill.tasks.archive.member_names import UNSAFE_PATH, uncompressed
from docmill.tasks.sources.checkpoints import Checkpoint, Checkpoints
from docmill.tasks.sources.connectors.contract import SourceItem
from docmill.tasks.sources.fingerprint import SETTLED_NS
from docmill.tasks.sources.listings import decode_contents, encode_contents
from docmill.tasks.sources.source import (
    DiscoverOptions,
    Listing,
    Passing,
    PathRules,
    Skipped,
    Source,
    SourceFile,
    is_sidecar,
)
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import shared_pool


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens archives in worker processes, within limits; no worker starts before there is something to open."""

    options: ArchiveOptions
    limits: Limits

    def look(self, files: Sequence[SourceFile]) -> Iterator[Contents | Rejected]:
        """Yield the contents of each file, or why no worker could list them."""
        if not files:
            return
        from docmill.tasks.work.document.open_archive import FileListing, look

        # The name from the uri, because the file may have been fetched under a name with another suffix.
        jobs = [FileListing(file.local, PurePosixPath(file.uri).name, self.options) for file in files]
        yield from shared_pool(self.limits).map(look, jobs)

    def fetch(self, member: SourceFile, path: Path, most_bytes: int) -> None:
        """Write the bytes of a member to `path`; raise `Rejected` if that is impossible."""
        from docmill.tasks.work.document.open_archive import FileListing, MemberCopy, copy_member

        options = replace(self.options, member_bytes=min(most_bytes, self.options.member_bytes))
        archive = FileListing(member.local, PurePosixPath(member.path).name, options)
        (result,) = shared_pool(self.limits).map(copy_member, [MemberCopy(archive, member.place, str(path))])
        if isinstance(result, Rejected):
            raise result


@dataclass(frozen=True)
class ArchiveSource(Source):
    """An archive on this machine that is named as a source; `holder` is the source of this one file.

    Its files are the members, at any depth, and the version of each is the hash of its bytes. Their uris are the same
    as when the archive is found in a folder. A document that begins like an archive, such as a Word file, is listed as
    it is; so is an archive that cannot be opened, to be rejected with the reason.
    """

    holder: Source
    opener: Opener

    kind = "an archive"
    origin = ""

    def list(self, options: DiscoverOptions, checkpoints: Checkpoints, passing: Passing = iter) -> Listing:
        """List the members; an unchanged archive is not opened again. Raise as the holder does."""
        listing = self.holder.list(options, checkpoints, passing)
        holders = [file for file in listing.found if not is_sidecar(PurePosixPath(file.uri).name)]
        opened = {file.uri: self._contents(file, checkpoints) for file in holders}
        # Mails, and what cannot be opened, are left to the step that opens the archives found in any source.
        return opened_up(listing, {uri: one for uri, one in opened.items() if _is_folder(one)}, self.prefix)

    def fetch(self, file: SourceFile, path: Path, most_bytes: int) -> None:
        """Write the bytes of a member to `path`; raise `Rejected` if it is missing or too large."""
        (self.opener if file.place else self.holder).fetch(file, path, most_bytes)

    def link(self, file: SourceFile) -> str:
        """Return the link of the archive."""
        return self.holder.link(file)

    def _contents(self, file: SourceFile, checkpoints: Checkpoints) -> Contents:
        """Return the contents of the archive, from the checkpoint if it has not changed since."""
        known_as = f"archive-{key_of(file.path)}"
        key = key_of(
            "archive", LISTING_VERSION, asdict(self.opener.options), file.uri, file.size, file.mtime_ns, file.inode
        )
        if before := checkpoints.of(known_as, key).state:
            return decode_contents(before)
        now = time.time_ns()
        (found,) = self.opener.look([file])
        contents = found if isinstance(found, Contents) else Contents("archive", (), found.reason, found.message)
        # Failures are tried again. A file written within the last clock tick may still change without a new time.
        if not failed(contents) and now - file.mtime_ns > SETTLED_NS:
            checkpoints.note(known_as, Checkpoint(key, encode_contents(contents)))
        return contents


def begins_as_archive(path: Path) -> bool:
    """Return whether a path is a file that begins as archives do; some documents do as well."""
    try:
        with path.open("rb") as file:
            return may_hold(path.name, file.read(HEAD_BYTES)) == "archive"
    except OSError:
        return False


def failed(contents: Contents) -> bool:
    """Return whether a container, or something in it, could not be opened."""
    return bool(contents.reason) or any(entry.reason for entry in contents.entries)


def opened_up(listing: Listing, opened: Mapping[str, Contents], prefix: str) -> Listing:
    """Return a listing in which members replace their archive, and attachments are added after their mail.

    `opened` has the contents of each container, by uri. Patterns are matched against paths without the source's
    `prefix`.
    """
    files, closed = listing.found, None
    if isinstance(files, RowColumns):  # of the many files in a folder, only those to open up become objects
        closed, files = files.parted("uri", opened)
    found: list[SourceFile] = []
    skipped = list(listing.skipped)
    for file in files:
        contents = opened.get(file.uri)
        found += _itself(file, contents)
        for entry in _wanted(file, contents, listing.rules, prefix) if contents else ():
            member = _member(file, entry)
            if entry.skipped:
                skipped.append(Skipped(member.uri, entry.reason, entry.message))
            else:
                found.append(member)
    return Listing(found if closed is None else closed.beside(found), skipped, listing.rules)


def _itself(file: SourceFile, contents: Contents | None) -> list[SourceFile]:
    """Return a file if it is a document, or if it must be rejected as an archive that cannot be opened."""
    if contents is None or contents.kind in KEPT:
        return [file]
    return [replace(file, reason=contents.reason, message=contents.message)] if contents.reason else []


def _is_folder(contents: Contents) -> bool:
    return contents.kind in ("archive", "compressed") and not contents.reason


def _wanted(file: SourceFile, contents: Contents, rules: PathRules | None, prefix: str) -> Iterator[ContainedFile]:
    path = file.uri.removeprefix(prefix)
    for entry in contents.entries:
        named = _named(entry, uncompressed(file.uri)) if contents.kind == "compressed" else entry
        # A name that leads out of the archive is not a path that a pattern could be meant for: `..` is not a hidden
        # folder.
        if named.reason == UNSAFE_PATH or rules is None or not rules.drop_inner(path, named.name):
            yield named


def _named(entry: ContainedFile, name: str) -> ContainedFile:
    """Return the entry of a compressed file under the file's current name."""
    _, *rest = entry.name.split("/")
    parent = "/".join([name, *entry.parent.split("/")[1:]]) if entry.parent else ""
    return replace(entry, name="/".join([name, *rest]), parent=parent)


def _member(file: SourceFile, entry: ContainedFile) -> SourceFile:
    # Not the time in the archive, which has no time zone and is often the build time.
    item = SourceItem(entry.name, entry.content_hash, entry.size, file.mtime_ns)
    return SourceFile(
        uri=f"{file.uri}/{entry.name}",
        path=file.path,
        source=file.source,
        size=entry.size,
        mtime_ns=file.mtime_ns,
        place=entry.place,
        parent=f"{file.uri}/{entry.parent}" if entry.parent else file.uri,
        reason=entry.reason,
        message=entry.message,
        link=file.link,
        item=item,
        content_hash=entry.content_hash,
        described=file.described,
        reach=file.reach,
    )
