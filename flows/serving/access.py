"""Access: who may ask a server over HTTP, judged by the address, the token, and the headers Host and Origin."""

import ipaddress
import os
import socket
from dataclasses import dataclass
from secrets import compare_digest

from docmill.flows.config.configuration import TOKEN_VARIABLE
from docmill.storage.errors import ConfigError

_SHORTEST = 16
"""Characters of a token: one of hexadecimal digits then has 64 bits, which nobody guesses over a network."""
_BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Access:
    """Where a server listens, and whom it answers.

    Attributes:
        host: The address to listen on.
        port: The port, or 0 for a free one.
        token: What a client must send as `Authorization: Bearer TOKEN`; "" asks for nothing.
        hosts: Names that clients may call the server by, besides addresses, `localhost` and the name of the machine.
        origins: Web sites whose pages may ask, such as `https://wiki.example.org`.

    Raises:
        docmill.errors.ConfigError: Others can reach the address and there is no token, or the token is too short.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    token: str = ""
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.token and not is_loopback(self.host):
            make = 'python -c "import secrets; print(secrets.token_hex(32))"'
            raise ConfigError(f"{self.host} can be reached by others: set {TOKEN_VARIABLE}; one is made by: {make}")
        if self.token and len(self.token) < _SHORTEST:
            raise ConfigError(f"{TOKEN_VARIABLE} must have at least {_SHORTEST} characters, got {len(self.token)}")

    def takes_host(self, header: str) -> bool:
        """Return whether a client may call the server by this name.

        A page on the internet can give its own name the address of this machine (DNS rebinding), and would then read
        the answers. It cannot do so with an address in place of the name.
        """
        name = _name_of(header)
        return name in {"localhost", socket.gethostname().lower(), *self.hosts} or _is_ip(name)

    def takes_origin(self, origin: str | None, host: str) -> bool:
        """Return whether the page that asks is of this server, or of a site that may ask; programs send no origin."""
        return origin is None or origin in {f"http://{host}", f"https://{host}", *self.origins}

    def takes_token(self, authorization: str) -> bool:
        """Return whether the header `Authorization` has the token. The time that it takes tells nothing about it."""
        given = authorization[len(_BEARER) :] if authorization.lower().startswith(_BEARER) else ""
        return not self.token or compare_digest(given.strip().encode(), self.token.encode())


def token() -> str:
    """Return the token of the environment, or ""."""
    return os.environ.get(TOKEN_VARIABLE, "").strip()


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address."""
    return host == "localhost" or (_is_ip(host) and ipaddress.ip_address(host).is_loopback)


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
