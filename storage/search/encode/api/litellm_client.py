"""LiteLLM client: request vectors from the providers that `litellm` knows; the only module that imports it."""

import logging
import os
import random
import re
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.storage.process.client_errors import RETRIES
from docmill.storage.process.extras import extra
from docmill.storage.search.encode.api.api_address import ApiAddress

_FIRST_S, _LONGEST_S = 0.5, 60.0
"""Seconds before the first retry, doubled for each further one, and the longest wait that a server may ask for; the
values are those of `openai`."""
_BY_ROLE = ("azure", "bedrock", "sagemaker", "vertex_ai")
"""Providers that accept credentials of the machine or of a login, so no key is needed in the environment."""
_UNCOUNTED = ("gemini",)
"""Providers that do not count tokens. litellm estimates them, too low for a cost limit."""
_INSTALL = re.compile(r"pip install '?(litellm\[\w+\]|google-cloud-aiplatform|google-auth|boto3)")
"""Matches the package that a provider needs on this machine; the rest of an error may quote a server."""


class LitellmClient:
    """A model of a provider. The errors of litellm are those of `openai` or subclasses of them."""

    def __init__(self, address: ApiAddress) -> None:
        whose = f"[embedding] model {address.name}"
        with extra("litellm", whose):
            self._litellm = _loaded()
        import openai

        try:
            self._litellm.get_llm_provider(address.model)
        except openai.BadRequestError:
            raise ConfigError(
                f"[embedding] model {address.name}: litellm knows no provider {address.provider}"
            ) from None
        missing = self._litellm.validate_environment(address.model)["missing_keys"]
        if missing and not address.base_url and address.provider not in _BY_ROLE:
            raise ConfigError(
                f"[embedding] model {address.name} needs a key in the environment: {' or '.join(missing)}"
            )
        self.key = " or ".join(missing) or f"the environment for {address.provider}"
        self._address = address

    def ask(self, texts: Sequence[str], input_type: str) -> tuple[list[list[float]], int]:
        """Return the vectors of texts, and the tokens that the server counted, or 0."""
        import openai

        passing = (openai.APIConnectionError, openai.RateLimitError, openai.InternalServerError)
        for left in range(RETRIES, -1, -1):
            try:
                return self._asked(list(texts), input_type)
            except passing as error:
                if lacking := _INSTALL.search(str(error)):
                    name = self._address.name
                    raise ConfigError(f"[embedding] model {name} needs: pip install '{lacking[1]}'") from None
                if not left:
                    raise
                time.sleep(_pause(error, RETRIES - left))
        raise AssertionError("the last try returns or raises")

    def _asked(self, texts: list[str], input_type: str) -> tuple[list[list[float]], int]:
        address = self._address
        given = {"dimensions": address.dimensions, "input_type": input_type, "api_base": address.base_url}
        more: dict[str, Any] = {name: value for name, value in given.items() if value}
        answer = self._litellm.embedding(
            model=address.model, input=texts, timeout=address.timeout_s, num_retries=0, max_retries=0, **more
        )
        rows = sorted(answer.data, key=lambda one: one["index"])
        counted = answer.usage and address.provider not in _UNCOUNTED
        return [one["embedding"] for one in rows], answer.usage.prompt_tokens if counted else 0


def _pause(error: Exception, tried: int) -> float:
    """Return the seconds before the next try: what the server asks for, or else longer each time."""
    told = getattr(error, "litellm_response_headers", None) or {}
    with suppress(ValueError):
        return min(_LONGEST_S, float(told.get("retry-after", "")))
    return _FIRST_S * 2.0**tried * random.uniform(0.75, 1.0)


def _loaded() -> Any:
    """Return the package, set up so that it reads no `.env` file, prints no advice, and logs no tracebacks."""
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    warnings.filterwarnings("ignore", ".* on TypedDict class .* `ReadOnly` qualifier", UserWarning)
    import litellm

    litellm.suppress_debug_info = True
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    return litellm
