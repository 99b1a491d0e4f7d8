"""Access: decide who may ask a server over HTTP, by address, token, and the headers that browsers set.

A file lists the tokens with the principals of each, and says who may sign tokens.
"""

import ipaddress
import json
import logging
import os
import socket
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import compare_digest, token_hex
from typing import Any

from docmill.flows.config.configuration import TOKEN_VARIABLE, TOKENS_VARIABLE
from docmill.flows.serving.open_stores import SEES_ALL
from docmill.flows.serving.signed_tokens import SignedTokens, keys_of, settings_of
from docmill.storage.access.principals import check_principals
from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.process.loopback import is_loopback

SHORTEST = 16
"""The least characters of a token: with hexadecimal digits, it has 64 bits, which nobody can guess over a network."""
_DIGEST = "sha256:"
_SIGNED = "jwt"
"""The table of the file that says who signs tokens; the name is too short to be a token."""
_LOG = logging.getLogger("docmill.serving")


Marks = tuple[tuple[Path, int, int], ...]
"""Files, each with its modification time and size."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The principals by digest of their token, the checker of signed tokens, and the state of the files when read."""

    by_digest: Mapping[str, frozenset[str]] = field(default_factory=dict)
    signed: SignedTokens | None = None
    marks: Marks = ()


@dataclass
class TokenFile:
    """A TOML or JSON file of tokens with their principals. A change to the file takes effect with the next request.

    Instead of a token, the file may have `sha256:` and the SHA-256 of the token in hexadecimal digits. The principals
    `["*"]` see everything. The table `[jwt]` accepts tokens that a login service has signed. If a change makes the file
    or the file of the keys unreadable, no token is accepted until it is repaired.

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
        """Return the principals of a token, or None if it is not accepted."""
        rights = self._current()
        # Looked up by digest, which a client cannot choose, so the time of a look-up reveals nothing about the token.
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
            found, problem = Rights(), str(error)  # without marks, so that the next request reads it again
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
    mark = _mark(path)  # before reading, so that a change in the meantime is noticed
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
    """Return the checker of signed tokens and the mark of its key file, if the file has a table for them."""
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


_MADE_BYTES = 16  # random bytes of a token that a server makes when it starts
_BEARER = "bearer "
_OWN_SITES = frozenset({"", "same-origin", "none"})
"""Values of `Sec-Fetch-Site` that no foreign page causes: programs send no header, and "none" means a typed address."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How many seconds a server waits for the headers of a request, and then for its body.

    Headers fit into one packet, and a body of the largest size takes 30 s at 280 kbit/s.
    """

    head_s: float = 10.0
    body_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Access:
    """Where a server listens, whom it answers, and how long it waits.

    Attributes:
        host: The address to listen on.
        port: The port, or 0 for a free one.
        token: What a client must send as `Authorization: Bearer TOKEN`; "" means no token is needed.
        hosts: Host names that clients may use for the server, besides `localhost` and, with a token, all IP addresses
            and the name of the machine.
        origins: Web sites whose pages may ask, such as `https://wiki.example.org`.
        patience: How long it waits for requests.
        tokens: The tokens of several clients, each with its principals, instead of `token`.

    Raises:
        docmill.errors.ConfigError: Others can reach the address and there is no token, or the token is too short.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    token: str = ""
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    patience: Patience = Patience()
    tokens: TokenFile | None = None

    def __post_init__(self) -> None:
        if not self.has_token and not is_loopback(self.host):
            raise ConfigError(f"{self.host} can be reached by others and needs a token: leave out --no-token")
        if self.token and len(self.token) < SHORTEST:
            raise ConfigError(f"{TOKEN_VARIABLE} must have at least {SHORTEST} characters, got {len(self.token)}")

    @property
    def has_token(self) -> bool:
        """Whether clients must send a token."""
        return bool(self.token or self.tokens)

    @property
    def without_asker(self) -> frozenset[str]:
        """The principals of the server's own threads: none if clients have different rights."""
        return frozenset() if self.tokens else SEES_ALL

    def takes_host(self, header: str) -> bool:
        """Return whether a client may use this host name for the server.

        A page on the internet could point its own host name to the address of this machine (DNS rebinding) and read the
        answers. It cannot do so with an IP address. Without a token, the server relies on headers of browsers, which
        browsers send only to names that they know to be loopback.
        """
        name = _name_of(header)
        if name in {"localhost", *self.hosts}:
            return True
        return name == socket.gethostname().lower() or _is_ip(name) if self.has_token else is_loopback(name)

    def takes_site(self, site: str, origin: str | None) -> bool:
        """Return whether a request comes from no foreign page, or from a page of an allowed site.

        `site` is the header `Sec-Fetch-Site`. Pages of another port of this machine are foreign, too.
        """
        return site in _OWN_SITES or origin in self.origins

    def takes_origin(self, origin: str | None, host: str) -> bool:
        """Return whether the requesting page is from this server or an allowed site; programs send no origin."""
        return origin is None or origin in {f"http://{host}", f"https://{host}", *self.origins}

    def principals_of(self, authorization: str) -> frozenset[str] | None:
        """Return the principals of a client, given the header `Authorization`; None if it has no valid token.

        The time that this takes reveals nothing about the token.
        """
        given = authorization[len(_BEARER) :] if authorization.lower().startswith(_BEARER) else ""
        if self.tokens is not None:
            return self.tokens.principals_of(given.strip())
        return SEES_ALL if not self.token or compare_digest(given.strip().encode(), self.token.encode()) else None


def given_token() -> str:
    """Return the token from the environment, or ""."""
    return os.environ.get(TOKEN_VARIABLE, "").strip()


def given_tokens() -> TokenFile | None:
    """Return the token file that the environment names, or None.

    Raises:
        docmill.errors.ConfigError: The file cannot be read, or the environment has a token as well.
    """
    path = os.environ.get(TOKENS_VARIABLE, "").strip()
    if path and given_token():
        raise ConfigError(f"{TOKENS_VARIABLE} and {TOKEN_VARIABLE} are both set: put that token into the file")
    return TokenFile(Path(path)) if path else None


def chosen_token(no_token: bool) -> str:
    """Return the token from the environment, or else a new random one, or "" with `no_token`.

    Raises:
        docmill.errors.ConfigError: The environment has a token although `no_token` is set.
    """
    if no_token and given_token():
        raise ConfigError(f"{TOKEN_VARIABLE} is set, so the server has a token: unset it, or leave out --no-token")
    return "" if no_token else given_token() or token_hex(_MADE_BYTES)


def _name_of(header: str) -> str:
    """Return the name or the address in a header `Host`, without the port and the brackets of IPv6."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0].lower() if ":" in header else header.lower()


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
