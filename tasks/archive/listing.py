"""Listing: everything that a container holds, to any depth, as paths and content hashes.

This runs in a worker process: nothing of an archive is read anywhere else.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.storage.keys import hash_bytes
from docmill.tasks.archive.archive_options import Account, ArchiveOptions, OverLimit, OverRatio, Share
from docmill.tasks.archive.kinds import may_hold
from docmill.tasks.archive.members import Member, joined
from docmill.tasks.archive.names import inner_path, shown
from docmill.tasks.archive.opening import Container, Opened, opened

VERSION = 1  # raise it when what is found in a container, or how it is named, changes
_MAX_MESSAGE = 300

Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One file in a container.

    `place` is its number in the container, after those of the containers between; `name` its path,
    `parent` that of the container between, or empty. `reason` says why it cannot be used; with
    `skipped` it is nothing that could be a document, and only told.
    """

    place: Place
    name: str
    parent: str = ""
    size: int = 0
    content_hash: str = ""
    reason: str = ""
    message: str = ""
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds. `kind` is "archive", "compressed" (one file), "mail", or empty for what holds nothing."""

    kind: str
    entries: tuple[Entry, ...] = ()
    reason: str = ""
    message: str = ""


def list_contents(path: Path, name: str, options: ArchiveOptions) -> Contents:
    """Return what a file called `name` holds; what went wrong is in it."""
    return _list(Container(name, path), 1, Account(options))


def _list(container: Container, depth: int, account: Account) -> Contents:
    try:
        with opened(container, Share(account, container.size)) as found:
            if found is None:
                return Contents("")
            if depth > account.options.depth:
                return _too_deep(found, account.options.depth)
            return _judged(found.kind, _last_of_each_name(_entries(found, depth, account)))
    except Exception as error:
        if isinstance(error, OverLimit) and depth > 1:
            raise
        return _failed(container, explained(error))


def _failed(container: Container, why: Rejected) -> Contents:
    """Refuse an archive; a mail stands, and is told to hold what cannot be listed."""
    if may_hold(container.name, container.head()) != "mail":
        return Contents("archive", (), why.reason, why.message)
    return Contents("mail", (Entry((0,), "attachments", "", 0, "", why.reason, why.message, skipped=True),))


def _too_deep(found: Opened, depth: int) -> Contents:
    """Refuse an archive; of a mail, which is a document all the same, refuse what is attached."""
    message = f"nested in more than {depth} levels (archives.max_depth)"
    if found.kind != "mail":
        return Contents(found.kind, (), "too_large", message)
    refused = (Entry((i,), member.name, "", 0, "", "too_large", message) for i, member in enumerate(found.members))
    return Contents("mail", tuple(refused))


def _judged(kind: str, entries: tuple[Entry, ...]) -> Contents:
    files = [entry for entry in entries if not entry.skipped]
    if kind != "mail" and not files:
        return Contents(kind, entries, "empty", "the archive holds no file")
    if files and all(entry.reason == "encrypted" for entry in files):
        return Contents(kind, (), "encrypted", files[0].message)
    return Contents(kind, entries)


def _last_of_each_name(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Keep what unpacking would leave: of several files of one name the last."""
    kept: dict[str, Entry] = {}
    told = []
    for entry in entries:
        if before := kept.pop(entry.name, None):
            told.append(replace(before, reason="duplicate", message="another file of this name follows", skipped=True))
        kept[entry.name] = entry
    return (*kept.values(), *told)


def _entries(found: Opened, depth: int, account: Account) -> Iterator[Entry]:
    for number, member in enumerate(found.members):
        account.member()
        if member.skip:
            yield Entry((number,), shown(member.name), reason="special", message=member.skip, skipped=True)
            continue
        try:
            name = inner_path(member.name)
            data = joined(member.read(), account.options.member_bytes)
        except Exception as error:
            if isinstance(error, OverLimit | OverRatio) or not (found.apart or isinstance(error, Rejected)):
                raise
            why = explained(error)
            yield Entry((number,), shown(member.name), reason=why.reason, message=why.message)
        else:
            yield from _with_inner(Entry((number,), name, "", len(data), hash_bytes(data)), data, depth, account)


def _with_inner(entry: Entry, data: bytes, depth: int, account: Account) -> Iterator[Entry]:
    """Yield a file, or what it holds where it is an archive itself, or both where it is a mail."""
    inner = _list(Container(entry.name, data), depth + 1, account)
    if inner.reason:
        yield replace(entry, reason=inner.reason, message=inner.message)
    elif inner.kind in ("", "mail"):
        yield entry
    for one in inner.entries:
        yield replace(
            one,
            place=entry.place + one.place,
            name=f"{entry.name}/{one.name}",
            parent=f"{entry.name}/{one.parent}" if one.parent else entry.name,
        )


def explained(error: Exception) -> Rejected:
    """Return what a library's failure to read an archive means."""
    if isinstance(error, Rejected):
        return error
    if isinstance(error, MemoryError):
        return Rejected("memory", "unpacking needs more memory than allowed")
    if isinstance(error, NotImplementedError):
        return Rejected("unsupported", f"packed in a way that cannot be read: {_said(error)}")
    if isinstance(error, FileNotFoundError | PermissionError):
        return Rejected("unreadable", error.strerror or str(error))
    return Rejected("corrupt", f"the archive is damaged: {_said(error)}")


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_MESSAGE]


def extract(path: Path, name: str, wanted: Mapping[Place, Path], options: ArchiveOptions) -> None:
    """Write the members at the wanted places into the files named for them; raise Rejected where that fails."""
    account = Account(options)
    try:
        _extract(Container(name, path), wanted, account)
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
            if not by_member:
                return


def _lay(member: Member, here: dict[Place, Path], account: Account) -> None:
    data = joined(member.read(), account.options.member_bytes)
    if target := here.pop((), None):
        target.write_bytes(data)
    if here:
        _extract(Container(inner_path(member.name), data), here, account)
