"""Errors: every exception that docmill raises on purpose.

DocmillError
├── Terminal             no retry will help
│   ├── Rejected         one document cannot be used; becomes a row in `rejects`
│   ├── ConfigError      a setting or an argument is wrong
│   ├── SourceError      a source is missing, empty, or would lose too many documents
│   ├── StoreError       the store is damaged, of a newer format, or of another embedding space
│   └── QueryError       a search or an SQL statement cannot be answered
└── Transient            the same call may work later
    ├── Locked           another writer has locked the store
    └── BudgetReached    the run may cost no more; the next one continues

A message says what was wrong, the value, and what would be right.

    try:
        docmill.ingest("docs", store="store")
    except docmill.errors.Transient:
        ...  # try again later
    except docmill.errors.Terminal as error:
        print(error)  # change something first
"""


class DocmillError(Exception):
    """The base class of every failure that docmill explains."""


class Terminal(DocmillError):
    """A failure that a retry cannot mend."""


class Transient(DocmillError):
    """A failure that may be gone at the next try, such as a full disk or a server that does not answer."""


REASONS = {
    "corrupt": "damaged, truncated, or not what its name and first bytes say",
    "crashed": "its parser's process died, or the parser returned an invalid result; up to 0.2 also: a plugin failed",
    "empty": "no bytes, or none that mean anything; an archive without a file",
    "encrypted": "needs a password that is not in [parse.passwords]",
    "memory": "its parser needs more memory than [parse.memory_mb]",
    "misrouted": "its front matter names a strategy that does not exist, or options that are wrong",
    "no_text": "could be read, but contains no text, such as a scanned page",
    "not_installed": "needs a program that is not on this machine",
    "plugin_failed": "a plugin raised an exception, or returned what docmill cannot take",
    "timeout": "took longer than [parse.timeout_s]",
    "too_large": "over a limit of [discover], [parse] or [archives]",
    "undecodable": "named as a text file, but its bytes are text in no known encoding",
    "unreadable": "the file, or the folder, cannot be opened or read",
    "unsafe_path": "a name that is no path within its archive or source, as if it led out of it",
    "unsupported": "of a kind that has no parser",
}
"""Why a document cannot be used: every code that `rejects.reason` can hold."""
ALLOW_DELETE = "give --allow-delete (in Python and Prefect: allow_delete=True)"
"""What to do where a source is meant to lose its documents: a message does not know who reads it."""


class Rejected(Terminal):
    """One document cannot be used.

    `reason` is a key of `REASONS`; `message` gives the details. `parser` names the parser and its version, or is ""
    if the error has none.
    """

    def __init__(self, reason: str, message: str, parser: str = "") -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message
        self.parser = parser

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class ConfigError(Terminal):
    """A setting or an argument is wrong. Its arguments are the findings, one line each."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class SourceError(Terminal):
    """A source is missing, empty, or would lose too many documents."""


class StoreError(Terminal):
    """The store is damaged, of a newer format, or of another embedding space."""


class QueryError(Terminal):
    """A search or an SQL statement cannot be answered."""


class NoWordings(Transient):
    """A language model gave no other wording of a query; the search continues without it, and the message says why."""


class BudgetReached(Transient):
    """A request would cost more than is left of `max_cost`; what was paid for is kept, and the next run goes on."""


class Locked(Transient):
    """Another writer, in this or another process, holds the store or the target of an export."""
