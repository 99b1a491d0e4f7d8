"""Audit: log who asked what: one line of JSON for each question, with the uris of the answer, but never a text."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from docmill.flows.serving.json_text import json_text
from docmill.storage.errors import ConfigError
from docmill.storage.process.cancellation import Asker, current_asker

_MOST_URIS = 100  # the most uris in a line; `hits` counts all
_OWNER_ONLY = 0o600


@dataclass
class AuditLog:
    """A file of JSON lines that only its owner can read. Lines are appended; several processes may share it.

    Raises:
        docmill.errors.ConfigError: The file cannot be opened.
    """

    path: Path
    _file: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
            os.fchmod(self._file, _OWNER_ONLY)
        except OSError as error:
            raise ConfigError(f"the audit log {self.path} cannot be written: {error.strerror}") from None

    def note(self, verb: str, asker: Asker, failed: str = "") -> None:
        """Append a line about an answer to an asker; `failed` says why there was no answer."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "client": asker.client,
            "principals": sorted(asker.principals or ()),
            "verb": verb,
            "hits": asker.shown,
            "uris": [*asker.shown_uris][:_MOST_URIS],
            **({"failed": failed} if failed else {}),
        }
        os.write(self._file, f"{json_text(line)}\n".encode())  # the whole line in one call


def show(answer: Any) -> None:
    """Record the number of rows and the uris of an answer in the current asker, for the audit log."""
    if isinstance(answer, Mapping):
        uris = [*_uris(answer)]
        current_asker().show(len(uris) or len(answer.get("rows", ())), uris)


def _uris(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the uris of an answer's hits and documents, or of its subject, but not of SQL rows, which may be texts."""
    for name in ("hits", "documents", "document", "chunk"):
        value = answer.get(name)
        for row in [value] if isinstance(value, Mapping) else value if isinstance(value, list) else ():
            if "uri" in row:  # the report of a run counts its `documents`
                yield str(row["uri"])
    if isinstance(answer.get("uri"), str):
        yield answer["uri"]
