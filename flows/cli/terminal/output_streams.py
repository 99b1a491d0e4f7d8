"""Output streams: standard output and standard error of a command, which outlive their readers.

A command whose reader leaves early, such as `| head -1`, does its work and ends with the same status.
"""

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any, TextIO

_OUT, _ERROR = "standard output", "standard error"  # what messages call the streams


def outlive_readers() -> None:
    """Discard what standard output and standard error get after their reader has left.

    Otherwise the next line of a report, or of the progress of a run, would end the command with a failure.
    """
    sys.stdout, sys.stderr = (_outliving(sys.stdout, _OUT), _outliving(sys.stderr, _ERROR))


def end_if_full(error: OSError) -> None:
    """Raise `SystemExit` with a message if an error is of one of the streams, such as on a full disk."""
    if error.filename in (_OUT, _ERROR):
        sys.stdout = sys.stderr if error.filename == _OUT else None  # what is buffered would fail again at the exit
        raise SystemExit(f"docmill: {error.filename}: {error.strerror}") from None


def _outliving(stream: TextIO, name: str) -> TextIO:
    if not isinstance(stream, TextIOWrapper) or stream.isatty():
        return stream
    raw = _Stream(stream.fileno(), name)
    buffer: Any = raw if stream.write_through else BufferedWriter(raw)
    return TextIOWrapper(buffer, stream.encoding, stream.errors, None, stream.line_buffering, stream.write_through)


class _Stream(FileIO):
    """A stream that swallows what nobody reads. If it takes no more, such as on a full disk, its errors name it."""

    def __init__(self, handle: int, name: str) -> None:
        super().__init__(handle, "wb", closefd=False)
        self._name = name

    def write(self, data: Any) -> int:
        """Write bytes, or discard these and all later ones if the reader has left."""
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return memoryview(data).nbytes
        except OSError as error:
            error.filename = self._name
            raise
