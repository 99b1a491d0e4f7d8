"""Listing: the members of a container, at any depth, as paths and content hashes.

This runs in worker processes, the only place where archives are read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.storage.keys import hash_bytes
from docmill.tasks.archive.archive_kinds import KEPT, may_hold
from docmill.tasks.archive.archive_options import Account, ArchiveOptions, OverLimit, OverRatio, Share
from docmill.tasks.archive.contents import ContainedFile, Contents, Place, unlisted
from docmill.tasks.archive.member_names import inner_path, shown
from docmill.tasks.archive.members import Member, joined
from docmill.tasks.archive.open_archives import Container, Opened, opened
from docmill.tasks.paths.local_file import LocalFile

_MAX_MESSAGE = 300  # characters of a library's message: its sentence fits, long quoted bytes do not


def list_contents(file: LocalFile, name: str, options: ArchiveOptions) -> Contents:
    """Return the contents of a file called `name`; a failure is part of the result, not an exception."""
    return _list(Container(name, file), 1, Account(options))


def _list(container: Container, depth: int, account: Account) -> Contents:
    kind = ""
    try:
        with opened(container, Share(account, container.size)) as found:
            if found is None:
                return Contents("")
            kind = found.kind
            if depth > account.options.depth:
                return _too_deep(found, account.options.depth)
            return _judged(found.kind, _last_of_each_name(_entries(found, depth, account)))
    except Exception as error:
        if isinstance(error, OverLimit) and depth > 1:
            raise  # a limit of the outermost archive rejects that archive
        return _failed(kind or may_hold(container.name, container.head()), explained(error))


def _failed(kind: str, why: Rejected) -> Contents:
    """Reject an archive; keep a document, with one entry that says why its attachments cannot be listed."""
    return unlisted(kind, why) if kind in KEPT else Contents("archive", (), why.reason, why.message)


def _too_deep(found: Opened, depth: int) -> Contents:
    """Reject an archive; of a mail or another document, reject only the attachments."""
    message = f"nested in more than {depth} levels (archives.max_depth)"
    if found.kind not in KEPT:
        return Contents(found.kind, (), "too_large", message)
    refused = (
        ContainedFile((i,), member.name, "", 0, "", "too_large", message) for i, member in enumerate(found.members)
    )
    return Contents(found.kind, tuple(refused))


def _judged(kind: str, entries: tuple[ContainedFile, ...]) -> Contents:
    files = [entry for entry in entries if not entry.skipped]
    if kind not in KEPT and not files:
        return Contents(kind, entries, "empty", "the archive holds no file")
    # One reject that asks for the password, instead of one for each file.
    if files and all(entry.reason == "encrypted" for entry in files):
        return Contents(kind, (), "encrypted", files[0].message)
    return Contents(kind, entries)


def _last_of_each_name(entries: Iterable[ContainedFile]) -> tuple[ContainedFile, ...]:
    """Keep what unpacking would leave: the last of several files with the same name."""
    kept: dict[str, ContainedFile] = {}
    told = []
    for entry in entries:
        if entry.skipped:  # for example reported by an inner archive, which keeps the last file of that name
            told.append(entry)
            continue
        if before := kept.pop(entry.name, None):
            told.append(replace(before, reason="duplicate", message="another file of this name follows", skipped=True))
        kept[entry.name] = entry
    return (*kept.values(), *told)


def _entries(found: Opened, depth: int, account: Account) -> Iterator[ContainedFile]:
    for number, member in enumerate(found.members):
        # Skipped members count, too: listing a million links takes as long as listing a million files.
        account.member()
        if member.skip:
            yield ContainedFile((number,), shown(member.name), reason="special", message=member.skip, skipped=True)
            continue
        try:
            name = inner_path(member.name)
            data = joined(member.read(), account.options.member_bytes)
        except Exception as error:
            if _ends_listing(error, found):
                raise
            why = explained(error)
            yield ContainedFile((number,), shown(member.name), reason=why.reason, message=why.message)
        else:
            entry = ContainedFile((number,), name, "", len(data), hash_bytes(data))
            yield from _with_inner(entry, data, depth, account)


def _ends_listing(error: Exception, found: Opened) -> bool:
    """Return whether an error in one member affects its whole archive."""
    if isinstance(error, OverLimit | OverRatio):
        return True
    # If members are compressed together, as in tar.gz, nothing after the damage can be read.
    return not found.apart and not isinstance(error, Rejected)


def _with_inner(entry: ContainedFile, data: bytes, depth: int, account: Account) -> Iterator[ContainedFile]:
    """Yield a file, or its members if it is an archive, or both if it is a document."""
    # One account for all depths: a bomb is one whether its parts are side by side or nested.
    inner = _list(Container(entry.name, data), depth + 1, account)
    if inner.reason:
        yield replace(entry, reason=inner.reason, message=inner.message)
    elif inner.kind in ("", *KEPT):
        yield entry
    for one in inner.entries:
        yield replace(
            one,
            place=entry.place + one.place,
            name=f"{entry.name}/{one.name}",
            parent=f"{entry.name}/{one.parent}" if one.parent else entry.name,
        )


def explained(error: Exception) -> Rejected:
    """Return an error as the reason to reject the archive."""
    if isinstance(error, Rejected):
        return error
    if isinstance(error, MemoryError):
        return Rejected("memory", "unpacking needs more memory than allowed")
    if isinstance(error, NotImplementedError):
        return Rejected("unsupported", f"unsupported compression: {_said(error)}")
    if isinstance(error, OSError) and error.errno:  # from the system; errors for bad data have no number
        return Rejected("unreadable", error.strerror or str(error))
    return Rejected("corrupt", f"the archive is damaged: {_said(error)}")


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_MESSAGE]


def extract(file: LocalFile, name: str, wanted: Mapping[Place, Path], options: ArchiveOptions) -> None:
    """Write the members at the wanted places to the given paths; raise Rejected if that fails."""
    account = Account(options)
    try:
        _extract(Container(name, file), wanted, account)
    except Exception as error:
        raise explained(error) from error


def _extract(container: Container, wanted: Mapping[Place, Path], account: Account) -> None:
    by_member: dict[int, dict[Place, Path]] = {}
    for place, target in wanted.items():
        by_member.setdefault(place[0], {})[place[1:]] = target
    with opened(container, Share(account, container.size)) as found:
        for number, member in enumerate(found.members if found else ()):
            if here := by_member.pop(number, None):
                _lay(member, here, account)
            if not by_member:  # the rest of a large archive need not be read
                return


def _lay(member: Member, here: dict[Place, Path], account: Account) -> None:
    data = joined(member.read(), account.options.member_bytes)
    if target := here.pop((), None):
        target.write_bytes(data)
    if here:
        _extract(Container(inner_path(member.name), data), here, account)
