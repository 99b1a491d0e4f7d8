"""Known files: find the files of documents on this machine by what the last runs of a store saw here."""

from collections import defaultdict
from functools import cached_property
from pathlib import Path

from docmill.tasks.sources.fingerprint import known_hashes


class KnownFiles:
    """The files that the runs of a store have read on this machine; they are looked up on first use."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def of(self, uri: str, content_hash: str) -> Path | None:
        """Return the file of a document, or None if it is in an archive, on an object store, gone, or not known here.

        A uri is the path within the source, after the name of the source where that was given. Several files that fit
        count as none: a link to the wrong one would be worse than no link.
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
