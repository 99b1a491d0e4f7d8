"""Extras: packages that only some users need, with instructions to install them where they are needed."""

from collections.abc import Iterator
from contextlib import contextmanager

from docmill.storage.errors import ConfigError


@contextmanager
def extra(name: str, use: str) -> Iterator[None]:
    """Import the packages of an extra in the block; `use` names their purpose.

    Raises:
        ConfigError: A package is not installed. The message says what to type.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(f"{use} needs the package {error.name}: {command(name)}") from None


def command(name: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'docmill[{name}]'"
