"""Export: what Notion, Confluence, Slack, Teams or Google let people download of a wiki, a chat or an account."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from docmill.storage.errors import Rejected, SourceError
from docmill.storage.files import hash_file
from docmill.storage.keys import hash_bytes
from docmill.tasks.sources.connectors.contract import OwnConnector, SourceItem, SourceListing
from docmill.tasks.sources.connectors.source_settings import WATCH_S, SourceSettings
from docmill.tasks.sources.connectors.spool import Spool
from docmill.tasks.sources.exports.confluence import (
    is_confluence_pages,
    is_confluence_space,
    read_confluence_pages,
    read_confluence_space,
)
from docmill.tasks.sources.exports.export_document import ExportDocument
from docmill.tasks.sources.exports.export_files import ExportFiles, state_of
from docmill.tasks.sources.exports.notion import is_notion, read_notion
from docmill.tasks.sources.exports.slack import is_slack_export, read_slack
from docmill.tasks.sources.exports.takeout import is_takeout, read_takeout
from docmill.tasks.sources.exports.teams import is_teams, read_teams


@dataclass(frozen=True, slots=True)
class ExportKind:
    """A kind of export: how to recognise it by file names, and how to read its documents, given the pages' address."""

    fits: Callable[[Iterable[str]], bool]
    read: Callable[[ExportFiles, str], Iterator[ExportDocument]]


EXPORT_KINDS = {
    "slack": ExportKind(is_slack_export, read_slack),
    "confluence-xml": ExportKind(is_confluence_space, read_confluence_space),
    "confluence": ExportKind(is_confluence_pages, read_confluence_pages),
    "takeout": ExportKind(is_takeout, read_takeout),
    "notion": ExportKind(is_notion, read_notion),
    "teams": ExportKind(is_teams, read_teams),
}
"""The kinds by name, those with the clearest signs first."""


KindName = Literal["auto", "notion", "confluence", "confluence-xml", "slack", "teams", "takeout"]


class ExportSettings(SourceSettings):
    """An export of a wiki, a chat or an account. After a newer export under the same path, only changes are read."""

    path: str = Field(description="The archive (zip, tar), or the folder with the files or with several archives.")
    kind: KindName = Field(
        default="auto", description="What made the export; auto detects it by the names of its files."
    )
    link: str = Field(
        default="",
        description="Where the pages are opened: the address of the Slack workspace or of the Confluence server.",
    )
    unpacked_bytes: int = Field(default=50_000_000_000, ge=1, description="Maximum size of the export, unpacked.")
    watch_s: float = Field(default=0.0, ge=0, description=WATCH_S)

    @field_validator("link")
    @classmethod
    def _check_link(cls, link: str) -> str:
        if link and not link.startswith(("https://", "http://")):
            raise ValueError("write https://HOST")
        return link


class ExportReader:
    """Reads an export. A changed export is unpacked once, and its documents are compared by content."""

    def __init__(self, settings: ExportSettings) -> None:
        self._settings = settings
        self._spool = Spool()
        self._files: ExportFiles | None = None
        self._documents: dict[str, ExportDocument] = {}
        self._links: dict[str, str] = {}

    def list(self, checkpoint: str) -> SourceListing:
        """Return all documents, or that nothing has changed; the checkpoint has the files' state, and the links."""
        state, known = self.mark(), json.loads(checkpoint or "{}")
        if state == known.get("state"):
            self._links = known["links"]
            return SourceListing((), checkpoint, gone=())
        return SourceListing(self._items(), lambda: json.dumps({"state": state, "links": self._links}))

    def fetch(self, item: SourceItem) -> bytes:
        """Return the bytes of a document."""
        if item.name not in self._documents:  # an earlier run listed it
            for _ in self._items():
                pass
        found = self._documents.get(item.name)
        if found is None:
            raise Rejected("unreadable", "the export has no such document")
        if callable(found.data):
            return found.data()
        return found.data.read_bytes() if isinstance(found.data, Path) else self._spool.get(item.name) or b""

    def link(self, item: SourceItem) -> str:
        """Return where a person opens the document, if the settings or the export say so."""
        return self._links.get(item.name, "")

    def mark(self) -> str:
        """Return a text that changes with the files."""
        return state_of(Path(self._settings.path))

    def _items(self) -> Iterator[SourceItem]:
        self._spool.clear()
        self._documents, self._links = {}, {}
        self._files = ExportFiles(Path(self._settings.path), self._settings.unpacked_bytes)
        for one in EXPORT_KINDS[self._kind(self._files)].read(self._files, self._settings.link):
            if one.name in self._documents:
                continue
            data, version, size = one.data, one.version, one.size
            if isinstance(data, bytes):
                version, size = hash_bytes(data), len(data)
                self._spool.put(one.name, data)
            elif isinstance(data, Path):
                version, size = hash_file(data), data.stat().st_size
            self._documents[one.name] = replace(one, data=b"" if isinstance(data, bytes) else data)
            self._links |= {one.name: one.link} if one.link else {}
            yield SourceItem(one.name, version, size, one.modified_ns, one.metadata)

    def _kind(self, files: ExportFiles) -> str:
        if self._settings.kind != "auto":
            return self._settings.kind
        found = next((name for name, kind in EXPORT_KINDS.items() if kind.fits(files)), None)
        if found is None:
            known = ", ".join(EXPORT_KINDS)
            raise SourceError(f"{self._settings.path} is no export that is known by its files; set `kind`: {known}")
        return found


CONNECTOR = OwnConnector(ExportSettings, ExportReader)
