"""Failures: what the official clients raise, told as this project's errors; both name theirs alike."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from docmill.storage.errors import ConfigError, Terminal, Transient


@contextmanager
def explained(client: ModuleType, all_of_them: type[Exception], key: str) -> Iterator[None]:
    """Raise what a call raises as `Model.complete` says; `key` is the variable that holds the client's key."""
    try:
        yield
    except (client.AuthenticationError, client.PermissionDeniedError):
        raise ConfigError(f"[model] the key in {key} was refused") from None
    except (client.APIConnectionError, client.RateLimitError, client.InternalServerError) as error:
        raise Transient(f"the model did not answer: {type(error).__name__}") from None
    except all_of_them as error:
        raise Terminal(f"the model did not take the prompt: {type(error).__name__}") from None
