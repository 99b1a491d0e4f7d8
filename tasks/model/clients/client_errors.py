"""Client errors: translate the exceptions of the official clients, which share their names, to this project's."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from docmill.storage.errors import ConfigError, Terminal, Transient


@contextmanager
def explained(client: ModuleType, all_of_them: type[Exception], key: str) -> Iterator[None]:
    """Translate the exceptions of a call as `Model.complete` says; `key` is the environment variable of the key."""
    try:
        yield
    except (client.AuthenticationError, client.PermissionDeniedError):
        raise ConfigError(f"[model] the key in {key} was refused") from None
    except (client.APIConnectionError, client.RateLimitError, client.InternalServerError) as error:
        raise Transient(f"the model did not answer: {_named(error)}") from None
    except all_of_them as error:
        raise Terminal(f"the model refused the prompt: {_named(error)}") from None


def _named(error: Exception) -> str:
    """Return the HTTP status of an answer, if there was one, and the kind of the error; its text may hold a prompt."""
    return " ".join(map(str, filter(None, (getattr(error, "status_code", None), type(error).__name__))))
