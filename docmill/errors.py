"""What docmill raises on purpose; catch `DocmillError` for all of it.

See `docmill.storage.errors` for the tree and its meaning.
"""

from docmill.storage.errors import (
    REASONS,
    ConfigError,
    DocmillError,
    Locked,
    QueryError,
    Rejected,
    SourceError,
    StoreError,
    Terminal,
    Transient,
)

__all__ = [
    "REASONS",
    "ConfigError",
    "DocmillError",
    "Locked",
    "QueryError",
    "Rejected",
    "SourceError",
    "StoreError",
    "Terminal",
    "Transient",
]
