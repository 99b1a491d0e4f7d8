"""Spool: bytes that a listing had to read, kept until they are fetched."""

from pathlib import Path

from docmill.storage.keys import key_of
from docmill.tasks.work.pool.temporary_folder import folder_of


class Spool:
    """Bytes by name, in a temporary folder that goes when nobody holds the spool any more."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._files: dict[str, Path] = {}

    def put(self, name: str, data: bytes) -> None:
        """Keep the bytes of an item."""
        if self._folder is None:
            self._folder = folder_of(self)
        path = self._folder / key_of(name)
        path.write_bytes(data)
        self._files[name] = path

    def get(self, name: str) -> bytes | None:
        """Return the bytes of an item, or None if it was not kept."""
        path = self._files.get(name)
        return path.read_bytes() if path else None

    def clear(self) -> None:
        """Forget everything."""
        for path in self._files.values():
            path.unlink(missing_ok=True)
        self._files.clear()
