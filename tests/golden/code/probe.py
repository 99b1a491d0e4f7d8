"""Read a probe."""


def read(port: str) -> float:
    """Return the value in volts."""
    return float(port)
