"""Embedding server: request vectors through OpenAI's protocol or `litellm`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError, Terminal
from docmill.storage.process.client_errors import RETRIES, explained
from docmill.storage.process.computed_once import computed_once
from docmill.storage.process.extras import extra
from docmill.storage.search.encode.api.api_address import LITELLM, ApiAddress

if TYPE_CHECKING:
    from docmill.storage.search.encode.api.litellm_client import LitellmClient


KEY = "OPENAI_API_KEY"
_REFUSALS = (400, 413, 422)
"""Statuses of a request with too many or too long texts, or an unknown dimension; text-embeddings-inference has 413."""


class Payer(Protocol):
    """The budget and the cost records of a run; thread-safe."""

    def admit(self, tokens: int) -> None:
        """Reserve the cost of a request of at most `tokens`; raise `BudgetReached` if it exceeds the budget."""
        ...

    def settle(self, reserved: int, used: int) -> None:
        """Record an answered request: the tokens that were reserved, and the tokens that the server counted."""
        ...


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of a request, float32 (n, dim), and the tokens that the server counted."""

    vectors: npt.NDArray[np.float32]
    tokens: int


class EmbeddingServer:
    """An embedding server, asked by a client that retries with pauses, as for language models; thread-safe."""

    def __init__(self, address: ApiAddress) -> None:
        self._address = address

    @computed_once
    def _client(self) -> "_OpenAIClient | LitellmClient":
        if self._address.client == LITELLM:
            from docmill.storage.search.encode.api.litellm_client import LitellmClient

            return LitellmClient(self._address)
        return _OpenAIClient(self._address)

    def embed(self, texts: Sequence[str], input_type: str = "") -> Embedded:
        """Return the vectors of texts in their order; norms are arbitrary.

        Raises `Transient` if a retry may help, `ConfigError` for a wrong key, model or dimension, and `Terminal` for
        texts that the server refuses. No message contains a key or a text.
        """
        client, address = self._client, self._address
        import openai

        with explained(openai, openai.OpenAIError, client.key, "[embedding]", address.server):
            try:
                rows, tokens = client.ask(texts, input_type)
            except openai.NotFoundError:
                raise ConfigError(f"[embedding] {address.server} has no model {address.model!r}") from None
            except openai.APIStatusError as error:
                if error.status_code not in _REFUSALS:
                    raise
                raise self._refused(error.status_code, texts) from None
            return Embedded(self._matrix(rows, len(texts)), tokens)

    def embed_picture(self, data: str) -> Embedded:
        """Return the vector of the picture in a `data:` address, from a server that takes chat messages as input.

        Raises the errors of `embed`; `Terminal` means that the server refuses the picture.
        """
        address, client = self._address, self._client
        if not isinstance(client, _OpenAIClient):
            raise ConfigError(f"[embedding] pictures = {address.name!r}: only openai:NAME takes pictures")
        import openai

        with explained(openai, openai.OpenAIError, client.key, "[embedding] pictures", address.server):
            try:
                rows, tokens = client.see(data)
            except openai.NotFoundError:
                raise ConfigError(f"[embedding] pictures: {address.server} has no model {address.model!r}") from None
            return Embedded(self._matrix(rows, 1), tokens)

    def _refused(self, status: int, texts: Sequence[str]) -> Terminal:
        address = self._address
        if address.dimensions:
            hint = f"does the model take dimensions = {address.dimensions}"
        else:
            hint = f"does it take {len(texts)} texts (batch_texts) of up to {address.limit} tokens (token_limit)"
        return Terminal(f"[embedding] {address.server} refused a request for {address.name} ({status}): {hint}?")

    def _matrix(self, rows: list[list[float]], count: int) -> npt.NDArray[np.float32]:
        address, widths = self._address, {*map(len, rows)}
        if len(rows) == count and len(widths) > 1:
            shown = " and ".join(map(str, sorted(widths)))
            raise Terminal(f"[embedding] {address.server} gave vectors of {shown} dimensions for {address.name}")
        if len(rows) != count or 0 in widths:
            raise Terminal(f"[embedding] {address.server} gave {len(rows)} vectors for {count} texts of {address.name}")
        with np.errstate(over="ignore"):
            vectors = np.array(rows, np.float32)
        if not np.isfinite(vectors).all():
            raise Terminal(f"[embedding] {address.server} gave vectors of {address.name} that are no numbers")
        if address.dimensions and address.dimensions != vectors.shape[1]:
            raise ConfigError(
                f"[embedding] {address.server} gave vectors of {vectors.shape[1]} dimensions for {address.name}, but"
                f" dimensions is {address.dimensions}; set what the model has"
            )
        return vectors


class _OpenAIClient:
    """The official client, for OpenAI and for servers that speak its protocol."""

    key = KEY

    def __init__(self, address: ApiAddress) -> None:
        with extra("openai", f"[embedding] model {address.name}"):
            import openai
        key = os.environ.get(KEY) or ("none" if address.asked else "")
        if not key:
            raise ConfigError(f"[embedding] model {address.name} needs a key in the environment variable {KEY}")
        self._address = address
        self._client = openai.OpenAI(
            api_key=key, base_url=address.asked or None, timeout=address.timeout_s, max_retries=RETRIES
        )

    def ask(self, texts: Sequence[str], input_type: str) -> tuple[list[list[float]], int]:
        """Return the vectors of texts, and the tokens that the server counted, or 0."""
        dimensions = self._address.dimensions
        more: dict[str, Any] = {"dimensions": dimensions} if dimensions else {}
        extra_body = {"input_type": input_type} if input_type else None
        # As numbers, because not every server supports base64.
        answer = self._client.embeddings.create(
            model=self._address.model, input=list(texts), encoding_format="float", extra_body=extra_body, **more
        )
        rows = sorted(answer.data, key=lambda one: one.index or 0)  # not every server sends an index
        return [one.embedding for one in rows], answer.usage.prompt_tokens if answer.usage else 0

    def see(self, data: str) -> tuple[list[list[float]], int]:
        """Return the vector of the picture in a `data:` address, and its tokens, or 0."""
        import openai

        shown = {"type": "image_url", "image_url": {"url": data}}
        body: dict[str, Any] = {"model": self._address.model, "messages": [{"role": "user", "content": [shown]}]}
        body |= {"dimensions": self._address.dimensions} if self._address.dimensions else {}
        told = openai.types.CreateEmbeddingResponse
        answer = self._client.post("/embeddings", body=body | {"encoding_format": "float"}, cast_to=told)
        return [one.embedding for one in answer.data], answer.usage.prompt_tokens if answer.usage else 0
