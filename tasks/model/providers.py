"""Providers: the client of each, behind a breaker."""

from docmill.tasks.model.breaker import Breaker
from docmill.tasks.model.chat import Chat
from docmill.tasks.model.completion import Model, ModelOptions
from docmill.tasks.model.messages import Messages

_CLIENTS: dict[str, type[Chat | Messages]] = {"openai": Chat, "anthropic": Messages}


def load_model(options: ModelOptions) -> Model:
    """Return the model; raise `ConfigError` where its client is not installed or its key is not set."""
    return Breaker(_CLIENTS[options.provider](options))
