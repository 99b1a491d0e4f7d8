"""Everything that docmill raises on purpose.

DocmillError
├── Terminal             no retry will help
│   ├── Rejected         one document cannot be used; becomes a row in `rejects`
│   ├── ConfigError      a setting or an argument is wrong
│   ├── SourceError      a source is missing, empty, or would lose too many documents
│   ├── StoreError       the store is damaged, of a newer format, or of another embedding space
│   └── QueryError       a search or an SQL statement cannot be answered
└── Transient            the same call may work later
    └── Locked           another process writes to the store

A message says what was wrong, the value, and what would be right.
"""


class DocmillError(Exception):
    """Any failure that docmill explains."""


class Terminal(DocmillError):
    """A failure that no retry will mend."""


class Transient(DocmillError):
    """A failure that another try may not meet."""


class Rejected(Terminal):
    """One document cannot be used.

    `reason` is a short code (`corrupt`, `encrypted`, `empty`, `no_text`, `timeout`, `memory`,
    `too_large`, `unsupported`, `undecodable`, `crashed`, `unreadable`, `not_installed`,
    `misrouted`), the message says the rest.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class ConfigError(Terminal):
    """A setting or an argument is wrong."""


class SourceError(Terminal):
    """A source is missing, empty, or would lose too many documents."""


class StoreError(Terminal):
    """The store is damaged, of a newer format, or of another embedding space."""


class QueryError(Terminal):
    """A search or an SQL statement cannot be answered."""


class Locked(Transient):
    """Another process writes to the store."""
