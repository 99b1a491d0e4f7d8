"""Token file: the tokens of a server's clients, and in whose name each of them asks, or who signs such tokens."""

import json
import logging
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from docmill.flows.config.configuration import TOKENS_VARIABLE
from docmill.flows.serving.open_stores import SEES_ALL
from docmill.flows.serving.signed_tokens import SignedTokens, keys_of, settings_of
from docmill.storage.access.principals import check_principals
from docmill.storage.errors import ConfigError, QueryError

SHORTEST = 16
"""Characters of a token: one of hexadecimal digits then has 64 bits, which nobody guesses over a network."""
_DIGEST = "sha256:"
_SIGNED = "jwt"
"""The table of the file that says who signs tokens; it is too short for a token."""
_LOG = logging.getLogger("docmill.serving")


Marks = tuple[tuple[Path, int, int], ...]
"""Files, each with what changes with it."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The principals of tokens by their digests, what checks signed tokens, and the files that say so, as read."""

    by_digest: Mapping[str, frozenset[str]] = field(default_factory=dict)
    signed: SignedTokens | None = None
    marks: Marks = ()


@dataclass
class TokenFile:
    """A TOML or JSON file of tokens with their principals. A change of the file takes effect with the next request.

    Instead of a token, the file may have `sha256:` and the SHA-256 of the token in hexadecimal digits. The principals
    `["*"]` see everything. The table `[jwt]` takes tokens that a login service has signed. If a change makes the file,
    or that of the keys, unreadable, no token is taken until it is mended.

    Raises:
        docmill.errors.ConfigError: The file cannot be read when the server starts.
    """

    path: Path
    _rights: Rights = field(default_factory=Rights, init=False, repr=False)
    _problem: str = field(default="", init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self._rights = _read(self.path)

    def principals_of(self, token: str) -> frozenset[str] | None:
        """Return the principals of a token, or None if it is not to be taken."""
        rights = self._current()
        # Looked up by its digest, which a client cannot choose: the time of a look-up tells nothing of the token.
        found = rights.by_digest.get(_digest(token))
        return rights.signed.principals_of(token) if found is None and rights.signed else found

    def _current(self) -> Rights:
        with self._lock:
            marks = self._rights.marks
            if not marks or tuple(_mark(path) for path, *_ in marks) != marks:
                self._rights = self._read_again()
            return self._rights

    def _read_again(self) -> Rights:
        try:
            found, problem = _read(self.path), ""
        except ConfigError as error:
            found, problem = Rights(), str(error)  # without marks: the next request reads it again
        if problem and problem != self._problem:
            _LOG.error("no token is taken: %s", problem)
        self._problem = problem
        return found


def _mark(path: Path) -> tuple[Path, int, int]:
    try:
        status = path.stat()
    except OSError:
        return path, -1, -1
    return path, status.st_mtime_ns, status.st_size


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _read(path: Path) -> Rights:
    mark = _mark(path)  # before it is read: a change meanwhile shows
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{TOKENS_VARIABLE}: {path} cannot be read: {error}") from None
    if not isinstance(found, dict) or not found:
        raise ConfigError(f'{TOKENS_VARIABLE}: {path} needs a line for each token: "TOKEN" = ["sales", "all"]')
    signed, marks = _signed(path, found.pop(_SIGNED, None))
    return Rights(dict(_entry(path, *one) for one in found.items()), signed, (mark, *marks))


def _signed(path: Path, table: Any) -> tuple[SignedTokens | None, Marks]:
    """Return what checks signed tokens, and the mark of its keys, if the file has a table for them."""
    if table is None:
        return None, ()
    try:
        settings = settings_of(table)
        keys = path.parent / settings.keys
        mark = _mark(keys)
        return SignedTokens(settings, keys_of(keys, settings)), (mark,)
    except ConfigError as error:
        raise ConfigError(f"{TOKENS_VARIABLE}: {path}: {error}") from None


def _entry(path: Path, token: str, principals: Any) -> tuple[str, frozenset[str]]:
    """Return the digest of a token and its principals; errors do not show the token."""
    shown = f"{TOKENS_VARIABLE}: {path}: the token {token[:4]}…"
    try:
        if not isinstance(principals, list):
            raise QueryError("its principals must be a list")
        own = check_principals(principals)
        own = SEES_ALL if own >= SEES_ALL else own
    except QueryError as error:
        raise ConfigError(f"{shown}: {error}") from None
    if token.startswith(_DIGEST):
        return token.removeprefix(_DIGEST).lower(), own
    if len(token) < SHORTEST:
        raise ConfigError(f"{shown} must have at least {SHORTEST} characters, got {len(token)}")
    return _digest(token), own
