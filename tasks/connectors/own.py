"""Own: docmill's own connectors by the schemes of their addresses, each imported when a source needs it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from docmill.tasks.connectors.contract import SourcePlugin


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector: its word for `docmill init --source`, where it is, what it reads, and how an address names a source.

    With `takes`, an address is the source itself, and the value of this key; `called` makes a name of it. Otherwise
    the address is `SCHEME://NAME`, and `[source.NAME]` has the settings.
    """

    kind: str
    place: str
    reads: str
    takes: str = ""
    called: Callable[[str], str] = str

    def load(self) -> SourcePlugin:
        """Import the connector."""
        module, _, name = self.place.partition(":")
        made: SourcePlugin = getattr(import_module(f"docmill.tasks.connectors.{module}"), name)()
        return made


CONNECTORS: dict[str, Connector] = {
    "loader": Connector("loader", "loader:Loaders", "any LangChain loader, LlamaIndex reader or dlt resource"),
    "sql": Connector(
        "sql", "rows:RowConnector", "rows of PostgreSQL, SQLite, DuckDB, and of Parquet, CSV and JSON files"
    ),
}
"""The connectors by scheme."""


def name_by(where: str) -> str:
    """Return the name that an address gives its source, or "" if no connector takes addresses of this scheme."""
    connector = CONNECTORS.get(where.partition("://")[0])
    return connector.called(where) if connector and connector.takes else ""
