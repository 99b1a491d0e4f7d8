"""Completion: what docmill asks of a language model, whoever provides it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from docmill.storage.errors import ConfigError

PROVIDERS = ("openai", "anthropic")
"""Whose protocols are spoken, see `tasks/model/clients/providers.py`."""

RETRIES = 4
"""How often a client tries again after 408, 409, 429, 5xx or no answer; it waits as `retry-after` says, or longer."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Which model is asked, and how. Keys come from the environment and are part of nothing that is kept.

    `base_url` is that of a server that speaks the provider's protocol; empty is the provider's own.
    `thinking_tokens` come on top of the most that an answer may have, for models that think before they answer.
    """

    provider: str
    model: str
    base_url: str = ""
    timeout_s: float = 60.0
    max_concurrency: int = 4
    thinking_tokens: int = 0

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise ConfigError(f"[model] provider must be one of {', '.join(PROVIDERS)}, got {self.provider!r}")
        if not self.model:
            raise ConfigError(f"[model] provider is {self.provider!r}, but model is empty; name one")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were paid for; of the input, `cached` are those that the provider had from before.

    `written` are those of the input that it took into its cache, which some ask more for.
    """

    input: int = 0
    cached: int = 0
    output: int = 0
    written: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        sums = (self.input + other.input, self.cached + other.cached, self.output + other.output)
        return Usage(*sums, self.written + other.written)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said; `whole` is False where it refused or the token limit cut it off, which `cut` tells."""

    text: str
    usage: Usage
    whole: bool
    cut: bool = False


class Model(Protocol):
    """A model that can be asked from several threads."""

    def complete(self, parts: Sequence[str], max_tokens: int) -> Reply:
        """Return the reply to a prompt; all parts but the last stay the same over many calls, and come first.

        Raises `Transient` when it may go better later, `ConfigError` for a key or a model that is wrong,
        `Terminal` for a prompt that is refused as such. No message holds a key or the prompt.
        """
        ...
