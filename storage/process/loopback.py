"""Loopback: whether a host is this machine, so that nobody else can read what is sent to it."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a name or an address without brackets and port."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
