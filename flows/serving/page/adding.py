"""Adding: what `--allow-ingest` lets a person do on the page: add files, a folder or an address, and see the run."""

import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from docmill.flows.config.settings import Settings
from docmill.flows.prefect.run_on_engine import sources_of, start_run
from docmill.flows.runs.phases import Phase
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.serving.json_response import as_json
from docmill.flows.serving.open_stores import SEES_ALL, OpenStores
from docmill.flows.serving.page.uploads import Uploads, upload_folder
from docmill.storage.errors import DocmillError, Locked

_MOST_TOLD = 20  # problems of a run that the page shows; `docmill rejects` and Health have all


class NewFile(BaseModel):
    """A file that somebody wants to send."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=1000)
    size: int = Field(ge=0)


class NewRun(BaseModel):
    """A run over the sources of the settings, or over one other source, which a person names."""

    model_config = ConfigDict(extra="forbid")

    source: str = Field(default="", max_length=4000)


class Adding:
    """The files on their way, and one run at a time, in a thread of its own."""

    def __init__(self, settings: Settings, stores: OpenStores) -> None:
        """Raise `ConfigError` if the settings name no source, or a folder for uploads that no source has."""
        self._settings = settings
        self._sources = sources_of(settings, ())
        self._stores = stores
        folder = upload_folder(settings.uploads, self._sources)
        self.uploads = None if folder is None else Uploads(folder, settings.discover.max_file_bytes)
        self._state: dict[str, Any] = {"running": False, "number": 0}
        self._lock = threading.Lock()

    def told(self) -> dict[str, Any] | None:
        """Return what whoever asks may add, for the page; None if nothing."""
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
        """Begin a file; its pieces follow."""
        return as_json({"upload": self._own_uploads().begin(asked.name, asked.size)})

    def add(
        self,
        key: str,
        piece: Annotated[bytes, Body(media_type="application/octet-stream")],
        offset: Annotated[int, Query(ge=0)],
    ) -> Response:
        """Take a piece of a file."""
        found = self._own_uploads().add(key, offset, piece)
        return as_json({"name": found.name, "received": found.received, "size": found.size})

    def run(self, asked: NewRun) -> Response:
        """Begin a run; `progress` tells of it."""
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
        """Tell what the last run does or has done."""
        self._check()
        return as_json(self._state)

    def close(self) -> None:
        """Remove files that are not whole."""
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
