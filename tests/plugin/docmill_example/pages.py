"""A source: the pages in an SQLite database, of which each change has a revision."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docmill.plugins import Rejected, SourceItem, SourceListing, SourceSettings, Transient


class PagesSettings(SourceSettings):
    """`database` is a file with the table `pages`; `url` is the beginning of the links to its pages."""

    database: Path
    url: str = ""


@dataclass(frozen=True)
class Database:
    """One database. Its checkpoint is the latest revision."""

    settings: PagesSettings

    def list(self, checkpoint: str) -> SourceListing:
        """Return the pages of later revisions, and which of them are deleted."""
        since = int(checkpoint or 0)
        found = rows(self.settings.database, "SELECT name, revision, deleted FROM pages WHERE revision > ?", since)
        items = [SourceItem(name, str(revision)) for name, revision, deleted in found if not deleted]
        gone = [name for name, _, deleted in found if deleted]
        latest = max([since, *(revision for _, revision, _ in found)])
        return SourceListing(items, str(latest), gone if checkpoint else None)

    def fetch(self, item: SourceItem) -> bytes:
        """Return the text of a page."""
        found = rows(self.settings.database, "SELECT text FROM pages WHERE name = ? AND NOT deleted", item.name)
        if not found:
            raise Rejected("unreadable", "the page is gone")
        return str(found[0][0]).encode()

    def link(self, item: SourceItem) -> str:
        """Return where the page is shown, if the settings say so."""
        return self.settings.url and self.settings.url + quote(item.name)


def rows(database: Path, statement: str, value: object) -> list[tuple[Any, ...]]:
    """Return what a database answers; raise `Transient` if it cannot be opened now."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True)) as opened:
            return opened.execute(statement, [value]).fetchall()
    except sqlite3.OperationalError as error:
        raise Transient(f"{database}: {error}") from error


class Pages:
    """The source `pages`."""

    version = 1
    settings = PagesSettings

    def open(self, settings: PagesSettings) -> Database:
        """Return a database that is opened by each call, as several threads call at once."""
        return Database(settings)
