"""Client errors: translate the exceptions of the official API clients, which have the same names, to docmill's."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from docmill.storage.errors import ConfigError, Terminal, Transient

RETRIES = 4
"""How often a client retries after 408, 409, 429, 5xx or no answer; it waits as long as `retry-after` says, or longer.
"""


@contextmanager
def explained(
    client: ModuleType, all_of_them: type[Exception], key: str, table: str = "[model]", who: str = "the model"
) -> Iterator[None]:
    """Translate the exceptions of a call, and of reading its answer, to `Transient`, `ConfigError` or `Terminal`.

    The clients do not check answers. Those of a server with another protocol may lack something or be an HTML page.
    `key` is the environment variable of the key, `table` the table in the settings, and `who` names the server.
    """
    try:
        yield
    except (client.AuthenticationError, client.PermissionDeniedError):
        raise ConfigError(f"{table} the key in {key} was refused") from None
    except (client.APIConnectionError, client.RateLimitError, client.InternalServerError) as error:
        raise Transient(f"{who} did not answer: {_named(error)}") from None
    except all_of_them as error:
        raise Terminal(f"{who} refused the {'prompt' if table == '[model]' else 'texts'}: {_named(error)}") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Terminal(
            f"{table} {who} does not answer as servers of this protocol do; check base_url, which mostly ends in /v1,"
            " and the log of the server"
        ) from None


def _named(error: Exception) -> str:
    """Return the HTTP status of an answer, if any, and the kind of the error; its text may quote a prompt."""
    return " ".join(map(str, filter(None, (getattr(error, "status_code", None), type(error).__name__))))
