"""OpenAI chat: a model behind OpenAI's chat completions, on their servers or on any compatible server."""

import os
from collections.abc import Sequence
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.storage.process.client_errors import RETRIES, explained
from docmill.storage.process.extras import extra
from docmill.tasks.model.clients.completion import ModelOptions, Reply, SentPicture, Usage

KEY = "OPENAI_API_KEY"


class Chat:
    """A `Model` by the official `openai` client; your own server (`base_url`) needs no key."""

    def __init__(self, options: ModelOptions) -> None:
        with extra("openai", "[model] provider openai"):
            import openai
        key = os.environ.get(KEY) or ("none" if options.base_url else "")
        if not key:
            raise ConfigError(f"[model] provider openai needs a key in the environment variable {KEY}")
        self._errors = openai
        self._options = options
        self._client = openai.OpenAI(
            api_key=key, base_url=options.base_url or None, timeout=options.timeout_s, max_retries=RETRIES
        )

    def complete(self, parts: Sequence[str], max_tokens: int, picture: SentPicture | None = None) -> Reply:
        """Return the reply; the parts are sent as one message, so that servers can cache a common prefix."""
        text = "\n\n".join(parts)
        content: Any = text if picture is None else [_shown(picture), {"type": "text", "text": text}]
        most = max_tokens + self._options.thinking_tokens
        limit = {"max_tokens" if self._options.base_url else "max_completion_tokens": most}
        with explained(self._errors, self._errors.OpenAIError, KEY):
            answer = self._client.chat.completions.create(
                model=self._options.model,
                messages=[{"role": "user", "content": content}],
                extra_body=limit,
            )
        if not answer.choices:
            return Reply("", Usage(), False, ending="no choices")
        choice, used = answer.choices[0], answer.usage
        details = used.prompt_tokens_details if used else None
        usage = (
            Usage(used.prompt_tokens, (details.cached_tokens or 0) if details else 0, used.completion_tokens)
            if used
            else Usage()
        )
        ending = choice.finish_reason
        return Reply(choice.message.content or "", usage, ending == "stop", ending == "length", ending or "")


def _shown(picture: SentPicture) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{picture.media_type};base64,{picture.encoded}"}}
