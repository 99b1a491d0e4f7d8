"""Own connectors: docmill's connectors by the schemes of their addresses, each imported only when a source needs it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from docmill.tasks.sources.connectors.contract import SourcePlugin

_UNNAMED = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 64
"""Characters of a source's name."""


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector: its name for `docmill init --source`, its module, what it reads, and how an address names a source.

    With `takes`, the address itself is the source and the value of this key, and `called` makes its name. Otherwise the
    address is `SCHEME://NAME`, and `[source.NAME]` has the settings.
    """

    kind: str
    place: str
    reads: str
    takes: str = ""
    called: Callable[[str], str] = str

    def load(self) -> SourcePlugin:
        """Import the connector."""
        made: SourcePlugin = import_module(f"docmill.tasks.sources.{self.place}").CONNECTOR
        return made


def _repository(where: str) -> str:
    """Return the name of a repository: the last part of its address, without `@REF` and `.git`."""
    _, _, path = where.partition("://")[2].partition("/")
    return path.partition("@")[0].rstrip("/").rpartition("/")[2].removesuffix(".git")


def _host(where: str) -> str:
    return where.partition("://")[2].partition("/")[0].partition(":")[0]


_PAGES = "pages of a web site, one by one, by its sitemap or by links"
CONNECTORS: dict[str, Connector] = {
    **{way: Connector("web", "web.web", _PAGES, "url", _host) for way in ("https", "http")},
    "web": Connector("web", "web.web", _PAGES),
    "feed": Connector("feed", "web.feed", "the entries of an RSS or Atom feed"),
    "sql": Connector(
        "sql",
        "databases.rows",
        "rows of PostgreSQL, MySQL, SQLite, DuckDB, and of Parquet, CSV and JSON files",
    ),
    **{
        f"git+{way}": Connector("git", "connectors.git", "the files of a git repository", "url", _repository)
        for way in ("https", "ssh", "file", "http")
    },
    **{
        f"dav+{way}": Connector("webdav", "web.webdav", "the files of a WebDAV server", "url", _host)
        for way in ("https", "http")
    },
    "mail": Connector("mail", "mail.mailbox", "the mails of an IMAP account, a Maildir or an mbox file"),
    "export": Connector("export", "exports.export", "exports of Notion, Confluence, Slack, Teams and Google Takeout"),
    "loader": Connector(
        "loader", "connectors.library_loaders", "any LangChain loader, LlamaIndex reader or dlt resource"
    ),
}
"""The connectors by scheme."""


def name_by(where: str) -> str:
    """Return the name that an address gives its source, or "" if no connector accepts addresses of this scheme."""
    connector = CONNECTORS.get(where.partition("://")[0])
    return _UNNAMED.sub("-", connector.called(where))[:_LONGEST] if connector and connector.takes else ""
