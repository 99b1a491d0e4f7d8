"""Providers: the client of each, behind a circuit breaker.

`openai` is a model behind OpenAI's chat completions, on their servers or any compatible server; `anthropic` is one
behind Anthropic's API, where the shared prefix of prompts is marked for caching.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from docmill.storage.errors import ConfigError, Transient
from docmill.storage.process.client_errors import RETRIES, explained
from docmill.storage.process.extras import extra
from docmill.storage.search.encode.api.api_address import asked_at
from docmill.tasks.model.completion import Model, ModelOptions, Reply, SentPicture, Usage

FAILURES = 3
"""Failures in a row before calls pause: the client has retried each, so three are no accident."""


PAUSE_S = 60.0
"""Seconds without a call: providers count their limits by the minute.

With a longer pause, a short outage would cost more answers.
"""


class Breaker:
    """A `Model` around another one; after too many failures, calls fail at once until a pause is over."""

    def __init__(self, model: Model, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._reason = ""

    def complete(self, parts: Sequence[str], max_tokens: int, picture: SentPicture | None = None) -> Reply:
        """Return the model's reply; during a pause, raise `Transient` at once, with the reason for the pause."""
        if self._clock() < self._until:
            raise Transient(self._reason)
        try:
            reply = self._model.complete(parts, max_tokens, picture)
        except Transient as error:
            self._count(str(error))
            raise
        with self._lock:
            self._failures = 0
        return reply

    def _count(self, reason: str) -> None:
        with self._lock:
            self._failures += 1
            self._reason = reason
            if self._failures >= FAILURES:
                self._until = self._clock() + PAUSE_S


OPENAI_KEY = "OPENAI_API_KEY"


class Chat:
    """A `Model` using the official `openai` client; your own server (`base_url`) needs no key."""

    def __init__(self, options: ModelOptions) -> None:
        with extra("openai", "[model] provider openai"):
            import openai
        self._url = asked_at(options.base_url)
        key = os.environ.get(OPENAI_KEY) or ("none" if self._url else "")
        if not key:
            raise ConfigError(f"[model] provider openai needs a key in the environment variable {OPENAI_KEY}")
        self._errors = openai
        self._options = options
        self._client = openai.OpenAI(
            api_key=key, base_url=self._url or None, timeout=options.timeout_s, max_retries=RETRIES
        )

    def complete(self, parts: Sequence[str], max_tokens: int, picture: SentPicture | None = None) -> Reply:
        """Return the reply; the parts are sent as one message, so that servers can cache a common prefix."""
        text = "\n\n".join(parts)
        content: Any = text if picture is None else [_as_url(picture), {"type": "text", "text": text}]
        most = max_tokens + self._options.thinking_tokens
        limit = {"max_tokens" if self._url else "max_completion_tokens": most}
        with explained(self._errors, self._errors.OpenAIError, OPENAI_KEY):
            answer = self._client.chat.completions.create(
                model=self._options.model,
                messages=[{"role": "user", "content": content}],
                extra_body=limit,
            )
            return _completed(answer)


def _completed(answer: Any) -> Reply:
    if not answer.choices:
        return Reply("", Usage(), False, ending="no choices")
    choice, used = answer.choices[0], answer.usage
    ending, usage = choice.finish_reason, Usage()
    if used:
        cached = getattr(used.prompt_tokens_details, "cached_tokens", 0)
        usage = Usage(used.prompt_tokens or 0, cached or 0, used.completion_tokens or 0)
    return Reply(choice.message.content or "", usage, ending == "stop", ending == "length", ending or "")


def _as_url(picture: SentPicture) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{picture.media_type};base64,{picture.encoded}"}}


ANTHROPIC_KEY = "ANTHROPIC_API_KEY"


class Messages:
    """A `Model` using the official `anthropic` client."""

    def __init__(self, options: ModelOptions) -> None:
        with extra("anthropic", "[model] provider anthropic"):
            import anthropic
        key = os.environ.get(ANTHROPIC_KEY)
        if not key:
            raise ConfigError(f"[model] provider anthropic needs a key in the environment variable {ANTHROPIC_KEY}")
        self._errors = anthropic
        self._options = options
        self._client = anthropic.Anthropic(
            api_key=key, base_url=options.base_url or None, timeout=options.timeout_s, max_retries=RETRIES
        )

    def complete(self, parts: Sequence[str], max_tokens: int, picture: SentPicture | None = None) -> Reply:
        """Return the reply; every part but the last is a block, and is cached up to the last such block."""
        blocks: list[Any] = [{"type": "text", "text": part} for part in parts]
        if len(blocks) > 1:
            blocks[-2]["cache_control"] = {"type": "ephemeral"}
        if picture is not None:
            blocks.insert(0, _as_source(picture))
        with explained(self._errors, self._errors.AnthropicError, ANTHROPIC_KEY):
            answer = self._client.messages.create(
                model=self._options.model,
                max_tokens=max_tokens + self._options.thinking_tokens,
                messages=[{"role": "user", "content": blocks}],
            )
            text = "".join(block.text for block in answer.content if block.type == "text")
            used = answer.usage
            cached = used.cache_read_input_tokens or 0
            written = used.cache_creation_input_tokens or 0
            usage = Usage(used.input_tokens + cached + written, cached, used.output_tokens, written)
            ending = answer.stop_reason
            return Reply(text, usage, ending == "end_turn", ending == "max_tokens", ending or "")


def _as_source(picture: SentPicture) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": picture.media_type, "data": picture.encoded}}


_CLIENTS: dict[str, type[Chat | Messages]] = {"openai": Chat, "anthropic": Messages}


def load_model(options: ModelOptions) -> Model:
    """Return the model; raise `ConfigError` if its client is not installed or its key is not set."""
    return Breaker(_CLIENTS[options.provider](options))
