"""The exceptions of docmill; `DocmillError` is the base class of all.

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
