"""Loopback: whether a host is this machine, so that nobody else hears what is sent to it."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether a name or an address, without brackets and port, is reached by this machine alone."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
