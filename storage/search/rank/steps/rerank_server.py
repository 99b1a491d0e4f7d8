"""Rerank server: let a server score pairs of a question and a text, which are sent to it.

`https://HOST/PATH?model=NAME` is asked with the protocol of Cohere, Jina, Voyage, vLLM and Infinity
(https://docs.cohere.com/reference/rerank). Without a model, the protocol is that of text-embeddings-inference
(https://huggingface.github.io/text-embeddings-inference), which has one model and other field names.
"""

import json
import math
import os
import time
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.process.client_errors import RETRIES
from docmill.storage.process.loopback import is_loopback

KEY = "DOCMILL_RERANK_KEY"
"""The environment variable with the key of the server; if it is not set, requests have no key."""
_TIMEOUT_S = 30.0
"""Seconds that a search waits for the server, for all tries together; nobody waits longer for a search."""
_FIRST_WAIT_S = 0.25
"""Seconds before the first retry; each further one waits twice as long, or as `retry-after` says."""
_BUSY = (408, 429, 500, 502, 503, 504)
_MOST_BYTES = 1 << 22
"""The most bytes of an answer: 20 scores need 2,000, and servers may repeat the texts."""


def is_server(name: str) -> bool:
    """Return whether the name of a reranker is the address of a server."""
    return name.startswith(("https://", "http://"))


class RerankServer:
    """A server that scores texts; each thread uses its own connection.

    Args:
        address: The endpoint, with the name of the model as the option `model`.

    Raises:
        ConfigError: The address has no host, or a key would be sent in the clear.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query))
        self._model = options.pop("model", "")
        self._url = parts._replace(query=urlencode(options), fragment="").geturl()
        self._key = os.environ.get(KEY, "")
        host = parts.hostname or ""
        if not host:
            raise ConfigError(f"search.rerank: {address!r} names no host")
        if self._key and parts.scheme == "http" and not is_loopback(host):
            raise ConfigError(f"search.rerank: {KEY} would be sent to {host} in the clear; use https://")
        self.name = self._model or host

    def score(self, question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return how well each text answers a question, float64 (n,), in their order.

        Raises `ConfigError` for a refused key, and `QueryError` if the server gives no scores. Neither contains a text.
        """
        found = np.full(len(texts), np.nan)
        if not len(found):
            return found
        for place, score in _results(self._ask(self._body(question, texts))):
            if 0 <= place < len(texts):
                found[place] = score
        if not np.isfinite(found).all():
            raise self._failed(f"gave {np.isfinite(found).sum()} scores for {len(texts)} texts")
        return found

    def _body(self, question: str, texts: Sequence[str]) -> dict[str, Any]:
        if self._model:
            return {"model": self._model, "query": question, "documents": list(texts)}
        return {"query": question, "texts": list(texts), "truncate": True}

    def _ask(self, body: dict[str, Any]) -> Any:
        """Return the answer as JSON; retry while the server is busy or cannot be reached."""
        import httpx

        ends, said = time.monotonic() + _TIMEOUT_S, ""
        for attempt in range(RETRIES + 1):
            wait = _FIRST_WAIT_S * 2**attempt
            try:
                status, after, data = self._post(body, ends)
            except httpx.HTTPError as error:
                said = f"did not answer ({type(error).__name__})"
            except (httpx.InvalidURL, ValueError):
                raise ConfigError(f"search.rerank: {self._url!r} is no address") from None
            else:
                if status not in _BUSY:
                    return self._read(status, data)
                said, wait = f"is busy ({status})", _stated_wait(after, wait)
            if time.monotonic() + wait >= ends:
                break
            time.sleep(wait)
        raise self._failed(said)

    def _post(self, body: dict[str, Any], ends: float) -> tuple[int, str, bytes]:
        """Return the status, the `retry-after` and the data of an answer."""
        import httpx

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        data, left = bytearray(), max(0.1, ends - time.monotonic())
        with httpx.stream("POST", self._url, json=body, headers=headers, timeout=left, trust_env=False) as answer:
            for piece in answer.iter_bytes():
                data += piece
                if len(data) > _MOST_BYTES:
                    raise self._failed(f"gave an answer of more than {_MOST_BYTES:,} bytes")
                if time.monotonic() > ends:
                    raise self._failed(f"did not end its answer within {_TIMEOUT_S:.0f} s")
            return answer.status_code, answer.headers.get("retry-after", ""), bytes(data)

    def _read(self, status: int, data: bytes) -> Any:
        if status in (401, 403):
            raise ConfigError(f"search.rerank: {self.name} refused the key in {KEY} ({status})")
        if status != 200:
            raise self._failed(f"refused the request ({status})")
        try:
            return json.loads(data)
        except ValueError:
            raise self._failed("gave an answer that is no JSON") from None

    def _failed(self, said: str) -> QueryError:
        return QueryError(f"the rerank server {self.name} {said}; search.rerank names it")


def _results(answer: Any) -> Iterable[tuple[int, float]]:
    """Return the places and scores in an answer: `results` (Cohere, Jina), `data` (Voyage), or the list itself."""
    listed = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and isinstance(place := one.get("index"), int):
            score = one.get("relevance_score", one.get("score"))
            if isinstance(score, int | float):
                yield place, float(score)


def _stated_wait(text: str, otherwise: float) -> float:
    """Return the seconds of a `retry-after`, but at least `otherwise`."""
    try:
        return max(otherwise, seconds) if math.isfinite(seconds := float(text)) else otherwise
    except ValueError:
        return otherwise
