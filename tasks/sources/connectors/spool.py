"""Spool: bytes that a listing had to read, kept until they are fetched."""

import os
from io import BufferedRandom
from threading import Lock
from weakref import finalize

from docmill.tasks.work.pool.temporary_folder import folder_of


class Spool:
    """Bytes by name, one after another in a file that is removed when nothing refers to the spool any more.

    Creating and removing a file for each item would take as long as reading a row from a database.
    """

    def __init__(self) -> None:
        self._file: BufferedRandom | None = None
        self._places: dict[str, tuple[int, int]] = {}
        self._writing = Lock()

    def put(self, name: str, data: bytes) -> None:
        """Store the bytes of an item."""
        with self._writing:
            if self._file is None:
                self._file = (folder_of(self) / "bytes").open("w+b")
                finalize(self, self._file.close)
            begin = self._file.seek(0, os.SEEK_END)
            self._file.write(data)
            self._file.flush()
            self._places[name] = begin, len(data)

    def get(self, name: str) -> bytes | None:
        """Return the bytes of an item, or None if there are none. Several threads may call this at once."""
        place = self._places.get(name)
        if place is None or self._file is None:
            return None
        begin, size = place
        return os.pread(self._file.fileno(), size, begin)

    def clear(self) -> None:
        """Forget everything."""
        with self._writing:
            self._places.clear()
            if self._file is not None:
                self._file.truncate(0)
