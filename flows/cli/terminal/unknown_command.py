"""Unknown command: the command that a person meant by the name that other tools give it."""

from collections.abc import Collection

_MEANT = {
    "list": ("ls", "dir", "documents", "docs", "files"),
    "show": ("cat", "get", "view", "info", "describe", "inspect", "open"),
    "search": ("query", "ask", "find", "grep", "retrieve", "lookup"),
    "ingest": ("add", "index", "load", "import", "build", "run", "sync", "update", "upload", "insert", "embed"),
    "remove": ("rm", "delete", "del", "forget", "drop"),
    "sql": ("select", "duckdb"),
    "serve": ("server", "web", "ui", "api", "start", "up"),
    "status": ("stats", "stat", "count"),
    "history": ("log", "snapshots", "versions"),
    "restore": ("rollback", "revert", "checkout", "reset"),
    "verify": ("check", "fsck", "validate"),
    "repair": ("fix", "mend"),
    "vacuum": ("gc", "clean", "prune", "purge"),
    "rejects": ("errors", "failures", "failed"),
    "settings": ("config", "configure", "options"),
    "evaluate": ("eval", "benchmark"),
    "--help": ("help",),
    "--version": ("version",),
}
"""Our name of a command, and those of other tools for the same."""
_OURS = {name: command for command, names in _MEANT.items() for name in names}


def meant_by(name: str, commands: Collection[str]) -> str:
    """Return the command or the option that a person meant by a name, or "" if none is known."""
    ours = _OURS.get(name.lower(), "")
    return ours if ours in commands or ours.startswith("--") else ""
