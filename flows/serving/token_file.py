"""Token file: the tokens of a server's clients, and in whose name each of them asks."""

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
from docmill.storage.access.principals import check_principals
from docmill.storage.errors import ConfigError, QueryError

SHORTEST = 16
"""Characters of a token: one of hexadecimal digits then has 64 bits, which nobody guesses over a network."""
_DIGEST = "sha256:"
_LOG = logging.getLogger("docmill.serving")
Rights = Mapping[str, frozenset[str]]


@dataclass
class TokenFile:
    """A TOML or JSON file of tokens with their principals. A change of the file takes effect with the next request.

    Instead of a token, the file may have `sha256:` and the SHA-256 of the token in hexadecimal digits. The principals
    `["*"]` see everything. If a change makes the file unreadable, no token is taken until it is mended.

    Raises:
        docmill.errors.ConfigError: The file cannot be read when the server starts.
    """

    path: Path
    _rights: Rights = field(default_factory=dict, init=False, repr=False)
    _mark: tuple[int, int] = field(default=(0, 0), init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self._rights, self._mark = _read(self.path), self._mark_now()

    def principals_of(self, token: str) -> frozenset[str] | None:
        """Return the principals of a token, or None if the file does not have it."""
        # Looked up by its digest, which a client cannot choose: the time of a look-up tells nothing of the token.
        return self._current().get(_digest(token))

    def _current(self) -> Rights:
        mark = self._mark_now()
        with self._lock:
            if mark != self._mark:
                try:
                    self._rights = _read(self.path)
                except ConfigError as error:
                    _LOG.error("no token is taken: %s", error)
                    self._rights = {}
                self._mark = mark
            return self._rights

    def _mark_now(self) -> tuple[int, int]:
        try:
            status = self.path.stat()
        except OSError:
            return (-1, -1)
        return status.st_mtime_ns, status.st_size


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _read(path: Path) -> Rights:
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{TOKENS_VARIABLE}: {path} cannot be read: {error}") from None
    if not isinstance(found, dict) or not found:
        raise ConfigError(f'{TOKENS_VARIABLE}: {path} needs a line for each token: "TOKEN" = ["sales", "all"]')
    return dict(_entry(path, *one) for one in found.items())


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
