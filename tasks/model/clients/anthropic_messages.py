"""Anthropic messages: a model behind Anthropic's API; the shared prefix of prompts is marked for caching."""

import os
from collections.abc import Sequence
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.storage.process.client_errors import RETRIES, explained
from docmill.storage.process.extras import extra
from docmill.tasks.model.clients.completion import ModelOptions, Reply, SentPicture, Usage

KEY = "ANTHROPIC_API_KEY"


class Messages:
    """A `Model` by the official `anthropic` client."""

    def __init__(self, options: ModelOptions) -> None:
        with extra("anthropic", "[model] provider anthropic"):
            import anthropic
        key = os.environ.get(KEY)
        if not key:
            raise ConfigError(f"[model] provider anthropic needs a key in the environment variable {KEY}")
        self._errors = anthropic
        self._options = options
        self._client = anthropic.Anthropic(
            api_key=key, base_url=options.base_url or None, timeout=options.timeout_s, max_retries=RETRIES
        )

    def complete(self, parts: Sequence[str], max_tokens: int, picture: SentPicture | None = None) -> Reply:
        """Return the reply; every part but the last is a block, cached up to the last such block."""
        blocks: list[Any] = [{"type": "text", "text": part} for part in parts]
        if len(blocks) > 1:
            blocks[-2]["cache_control"] = {"type": "ephemeral"}
        if picture is not None:
            blocks.insert(0, _shown(picture))
        with explained(self._errors, self._errors.AnthropicError, KEY):
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


def _shown(picture: SentPicture) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": picture.media_type, "data": picture.encoded}}
