"""Add documents: with `--allow-ingest`, people can add files, a folder or an address on the page, and follow the run.

Files arrive in pieces, and go into the folder that the settings name.
"""

import os
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from docmill.flows.config.settings import Settings
from docmill.flows.prefect.run_on_engine import sources_of, start_run
from docmill.flows.runs.phases import Phase
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.serving.json_response import as_json
from docmill.flows.serving.open_stores import SEES_ALL, OpenStores
from docmill.storage.errors import ConfigError, DocmillError, Locked, QueryError, StoreError
from docmill.storage.files import explain_full_disk
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import is_sidecar

_MOST_OPEN = 16
"""Files that are received at once. The page sends one file after another, so this many people can send at once."""
_IDLE_S = 120.0  # after this time without a piece, an upload is dropped and must begin again
_LONGEST = 200  # bytes of a name: file systems take 255, and the name of the draft is 30 bytes longer
_DRAFT = ".docmill-upload-"
"""The prefix of incomplete files; runs do not read files whose names begin with a dot."""
_FORBIDDEN = frozenset('/\\:*?"<>|')
"""Characters that could lead to another folder, or that some file systems do not allow, as folders may be copied."""


@dataclass(slots=True)
class Upload:
    """A file that is being received: its name, its size in bytes, and how many bytes have arrived."""

    name: str
    size: int
    draft: Path
    received: int
    touched: float


class Uploads:
    """The files that are being received into a folder; thread-safe."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self._open: dict[str, Upload] = {}
        self._lock = threading.Lock()

    def begin(self, name: str, size: int) -> str:
        """Return the id of a new upload; an existing file of this name is replaced once the new one is complete.

        Raises `QueryError` for a forbidden name, a file that is too large, or too many uploads at once.
        """
        check_name(name)
        if not 0 < size <= self.most_bytes:
            raise QueryError(f"{name} has {size:,} bytes; a file must have 1 to {self.most_bytes:,} (max_file_bytes)")
        if (self.folder / name).is_dir():
            raise QueryError(f"{name} is the name of a folder here; rename the file")
        with self._lock:
            self._forget_idle()
            if len(self._open) >= _MOST_OPEN:
                raise QueryError(f"{_MOST_OPEN} files are being received; try again later")
            key = token_hex(16)
            self._open[key] = Upload(name, size, self.folder / f"{_DRAFT}{key}", 0, time.monotonic())
        return key

    def add(self, key: str, offset: int, piece: bytes) -> Upload:
        """Add a piece at an offset, which must be the end of the piece before; the last piece completes the file.

        Raises `QueryError` for an upload that is not open, or a piece that does not fit, and `StoreError` if the folder
        cannot be written.
        """
        with self._lock:
            found = self._open.get(key)
            if found is None or found.received != offset or offset + len(piece) > found.size:
                raise QueryError("this piece belongs to no file that is being received; send the file again")
            found.received, found.touched = found.received + len(piece), time.monotonic()
            try:
                self._write(found, piece)
            except OSError as error:
                self._forget(key)
                raise StoreError(f"{found.name} cannot be written: {error.strerror}") from error
            if found.received == found.size:
                del self._open[key]
            return found

    def _write(self, found: Upload, piece: bytes) -> None:
        with explain_full_disk(self.folder):
            flags = (
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            )  # does not follow a symbolic link that somebody may have put there
            with os.fdopen(os.open(found.draft, flags, 0o666), "ab") as file:
                file.write(piece)
            if found.received == found.size:
                found.draft.replace(self.folder / found.name)

    def close(self) -> None:
        """Remove incomplete files."""
        with self._lock:
            for key in [*self._open]:
                self._forget(key)

    def _forget_idle(self) -> None:
        limit = time.monotonic() - _IDLE_S
        for key in [key for key, one in self._open.items() if one.touched < limit]:
            self._forget(key)

    def _forget(self, key: str) -> None:
        with suppress(OSError):
            self._open.pop(key).draft.unlink(missing_ok=True)


def check_name(name: str) -> None:
    """Raise `QueryError` for a name that is a path, hidden, deceptive, or that of a file describing others."""
    for is_wrong, why in _WRONG:
        if is_wrong(name):
            raise QueryError(f"the name {name[:_LONGEST]!r} is refused: {why}; rename the file")


_WRONG: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda name: name.strip(" .") != name or not name, "it is empty, hidden, or has blanks or dots around it"),
    (lambda name: name.startswith("~"), "it begins with a tilde, which means a person's folder"),
    (lambda name: not _FORBIDDEN.isdisjoint(name), "it has a slash, or a sign that some file systems do not take"),
    (lambda name: any(map(_is_unseen, name)), "it has an invisible character"),
    (lambda name: len(name.encode()) > _LONGEST, f"it has more than {_LONGEST} bytes"),
    (
        lambda name: is_sidecar(unicodedata.normalize("NFKC", name).casefold()),
        "such a file describes others, and may say who sees them",
    ),
)
"""The checks that a name must not meet, each with its reason, in order."""


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def upload_folder(uploads: str, sources: Sequence[str]) -> Path | None:
    """Return the folder for uploads, creating it if necessary, or None if the settings name none.

    Raises `ConfigError` if it is not in a folder of `sources`, because runs would not read it.
    """
    if not uploads:
        return None
    folder = Path(uploads).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    own = folder.resolve()
    if not any(own.is_relative_to(one) for one in _folders(sources)):
        raise ConfigError(f"uploads = {uploads!r} is in no folder of `sources`: name it there, too")
    return own


def _folders(sources: Sequence[str]) -> list[Path]:
    opened = (open_source(one) for one in sources if "://" not in one)
    return [one.folder.resolve() for one in opened if one.folder is not None]


_MOST_TOLD = 20  # problems of a run that the page shows; `docmill rejects` and Health show all


class NewFile(BaseModel):
    """A file that somebody wants to send."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=1000)
    size: int = Field(ge=0)


class NewRun(BaseModel):
    """A run over the sources of the settings, or over one source that a person names."""

    model_config = ConfigDict(extra="forbid")

    source: str = Field(default="", max_length=4000)


class Adding:
    """Uploads, and one run at a time, in its own thread."""

    def __init__(self, settings: Settings, stores: OpenStores) -> None:
        """Raise `ConfigError` if the settings name no source, or if the folder for uploads is in no source."""
        self._settings = settings
        self._sources = sources_of(settings, ())
        self._stores = stores
        folder = upload_folder(settings.uploads, self._sources)
        self.uploads = None if folder is None else Uploads(folder, settings.discover.max_file_bytes)
        self._state: dict[str, Any] = {"running": False, "number": 0}
        self._lock = threading.Lock()

    def told(self) -> dict[str, Any] | None:
        """Return what the current asker may add, for the page; None if nothing."""
        if self._stores.principals != SEES_ALL:
            return None
        return {"files": self.uploads is not None, "most_bytes": self.uploads.most_bytes if self.uploads else 0}

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(include_in_schema=False)
        router.add_api_route("/uploads", self.begin, methods=["POST"])
        router.add_api_route("/uploads/{key}", self.add, methods=["POST"])
        router.add_api_route("/runs", self.run, methods=["POST"])
        router.add_api_route("/runs", self.progress, methods=["GET"])
        return router

    def begin(self, asked: NewFile) -> Response:
        """Begin an upload; its pieces follow."""
        return as_json({"upload": self._own_uploads().begin(asked.name, asked.size)})

    def add(
        self,
        key: str,
        piece: Annotated[bytes, Body(media_type="application/octet-stream")],
        offset: Annotated[int, Query(ge=0)],
    ) -> Response:
        """Receive a piece of a file."""
        found = self._own_uploads().add(key, offset, piece)
        return as_json({"name": found.name, "received": found.received, "size": found.size})

    def run(self, asked: NewRun) -> Response:
        """Start a run; `progress` reports on it."""
        self._check()
        with self._lock:
            if self._state["running"]:
                raise Locked("a run is under way; wait for its end")
            self._state = {"running": True, "number": self._state["number"] + 1}
            number = self._state["number"]
        sources = [asked.source] if asked.source else self._sources
        threading.Thread(target=self._work, args=(sources,), name="docmill-adding", daemon=True).start()
        return as_json({"number": number})

    def progress(self) -> Response:
        """Report what the last run is doing or has done."""
        self._check()
        return as_json(self._state)

    def close(self) -> None:
        """Remove incomplete files."""
        if self.uploads is not None:
            self.uploads.close()

    def _work(self, sources: Sequence[str]) -> None:
        number = self._state["number"]

        def tell(phase: Phase) -> None:
            at = {**asdict(phase), "percent": phase.percent}
            self._state = {"running": True, "number": number, "phase": at}

        try:
            report = start_run(self._settings, sources, RunOptions(), tell)
            problems = [self._stores.without_folders(one) for one in report.problems[:_MOST_TOLD]]
            ended = {"said": report.as_line(), "problems": problems, "snapshot": report.snapshot}
        except DocmillError as error:
            ended = {"failed": self._stores.without_folders(str(error))}
        except BaseException:
            self._state = {"running": False, "number": number, "failed": "the run has a fault; the log says more"}
            raise
        self._state = {"running": False, "number": number, **ended}

    def _check(self) -> None:
        if self._stores.principals != SEES_ALL:
            raise HTTPException(403, "this token may not add documents")

    def _own_uploads(self) -> Uploads:
        self._check()
        if self.uploads is None:
            raise HTTPException(404, "the setting `uploads` names no folder for files")
        return self.uploads
