"""Known files: find the files of documents on this machine by what a store's last runs have seen here."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from docmill.storage.errors import Rejected
from docmill.tasks.sources.fingerprint import known_hashes
from docmill.tasks.sources.source import UNREADABLE

_MOVED = "its file was moved or deleted after it was read"
_CHANGED = "its file was changed after it was read"
_NEVER_READ = "no run of this store has read its file from a folder of this machine"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file on this machine, and the path of a member in it, or ""."""

    path: Path
    inner: str = ""


class KnownFiles:
    """The files on this machine that the runs of a store have read; they are looked up on first use."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def of(self, uri: str, content_hash: str) -> Path | None:
        """Return the file of a document, or None if it is in an archive, on an object store, gone, or unknown here.

        A uri is the path within the source, after the name of the source if that was given. If several files fit, none
        is returned, because a wrong link would be worse than no link.
        """
        for inner in (uri, uri.partition("/")[2]):
            fitting = [path for path in self._by_hash[content_hash] if _ends_with(path, inner)]
            if fitting:
                return fitting[0] if len(fitting) == 1 and fitting[0].is_file() else None
        return None

    @cached_property
    def _by_hash(self) -> dict[str, list[Path]]:
        paths: dict[str, list[Path]] = defaultdict(list)
        for name, content_hash in known_hashes(self._store).items():
            paths[content_hash].append(Path(name))
        return paths


def _ends_with(path: Path, inner: str) -> bool:
    steps = Path(inner).parts
    return bool(steps) and path.parts[-len(steps) :] == steps


def find_original(store: Path, uri: str, content_hash: str, in_archive: bool) -> FoundFile:
    """Return the file that a document was read from, or the archive that contains it.

    Raise Rejected `unreadable` with the reason if there is none. Whether the file still has the document's content
    shows only when it is read.
    """
    name, known = _outermost(store, uri) if in_archive else (uri, _known_as(store, uri))
    wanted = [path for path, digest in known.items() if in_archive or digest == content_hash]
    here = sorted(filter(Path.is_file, wanted))
    if not here:
        raise Rejected(UNREADABLE, _MOVED if wanted else _CHANGED if known else _NEVER_READ)
    return FoundFile(here[0], uri[len(name) + 1 :])


def _outermost(store: Path, uri: str) -> tuple[str, dict[Path, str]]:
    """Return the name of the file that contains a member, and the hashes of the known files with that name."""
    above = [str(folder) for folder in PurePosixPath(uri).parents if folder.name]
    found = ((name, _known_as(store, name)) for name in above)
    return next(((name, known) for name, known in found if known), (uri, {}))


def _known_as(store: Path, name: str) -> dict[Path, str]:
    """Return the hashes of the known files whose uri may be `name`, with or without the name of the source."""
    inner = name.partition("/")[2] or name
    found = {Path(path): digest for path, digest in known_hashes(store, inner).items()}
    whole = {path: digest for path, digest in found.items() if _ends_with(path, name)}
    return whole or {path: digest for path, digest in found.items() if _ends_with(path, inner)}
