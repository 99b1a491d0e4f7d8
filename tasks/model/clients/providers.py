"""Providers: the client of each, behind a breaker."""

from docmill.tasks.model.clients.anthropic_messages import Messages
from docmill.tasks.model.clients.circuit_breaker import Breaker
from docmill.tasks.model.clients.completion import Model, ModelOptions
from docmill.tasks.model.clients.openai_chat import Chat

_CLIENTS: dict[str, type[Chat | Messages]] = {"openai": Chat, "anthropic": Messages}


def load_model(options: ModelOptions) -> Model:
    """Return the model; raise `ConfigError` if its client is not installed or its key is not set."""
    return Breaker(_CLIENTS[options.provider](options))
