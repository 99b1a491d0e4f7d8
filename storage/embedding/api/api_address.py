"""API address: a model behind an API as one text, `openai:NAME?base_url=URL&dimensions=256`, and who may be asked.

The text is what a store, an order and a worker know of the model. It never holds a key.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.keys import key_of
from docmill.storage.process.loopback import is_loopback

PREFIX = "openai:"
"""The beginning of the names of models by API: the protocol that the server speaks."""
OWN_LIMIT, OTHER_LIMIT = 8191, 512
"""The token limits if none is set: that of OpenAI's embedding models, and the least of common models elsewhere."""
OPENAI = "https://api.openai.com/v1"  # for messages: the client itself knows its server
_SERVER = "DOCMILL_EMBEDDING__BASE_URL"
_PLAIN = ":/ ,"
_OPERATION = ("base_url", "token_limit", "batch_texts", "max_concurrency", "timeout_s")


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """A model, what it is asked with each text, and how; the names are those of the settings `[embedding]`.

    Without `base_url`, the server is OpenAI's. With `dimensions` 0, the model decides. `revision` is a word of the user
    for a model that has changed under its name. The types are sent as `input_type`. A `token_limit` of 0 is `OWN_LIMIT`
    for OpenAI, `OTHER_LIMIT` elsewhere.
    """

    model: str
    base_url: str = ""
    dimensions: int = 0
    revision: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    query_type: str = ""
    document_type: str = ""
    token_limit: int = 0
    batch_texts: int = 32
    max_concurrency: int = 4
    timeout_s: float = 60.0

    @property
    def name(self) -> str:
        """Return the name of the model, with the protocol and without any option."""
        return PREFIX + self.model

    @property
    def server(self) -> str:
        """Return the server for messages."""
        return self.base_url or "OpenAI's server"

    @property
    def limit(self) -> int:
        """Return the greatest number of tokens of a text, prefixes included."""
        return self.token_limit or (OTHER_LIMIT if self.base_url else OWN_LIMIT)

    @property
    def identity(self) -> str:
        """Return the key of all that decides a vector; the same model on another server has the same."""
        # Without what is not set, so that an option that is added later changes no store.
        return key_of("api", self.name, {name: value for name, value in self._set().items() if name not in _OPERATION})

    @property
    def cached_as(self) -> str:
        """Return the key of what is kept of the model: two servers may have two models of one name."""
        return key_of("kept", self.identity, self.base_url)

    def _set(self) -> dict[str, Any]:
        return {one.name: value for one in fields(self)[1:] if (value := getattr(self, one.name)) != one.default}

    def __str__(self) -> str:
        own = self._set()
        return self.name + ("?" + urlencode(own, safe=_PLAIN) if own else "")


def is_api(model: str) -> bool:
    """Return whether a model is one behind an API."""
    return model.startswith(PREFIX)


def parse_address(model: str) -> ApiAddress:
    """Return the address that a text spells; raise `ConfigError` for an option that does not exist."""
    name, _, options = model.removeprefix(PREFIX).partition("?")
    if not name:
        raise ConfigError(f"{model!r} names no model; give one, such as {PREFIX}text-embedding-3-small")
    types: dict[str, Any] = {one.name: type(one.default) for one in fields(ApiAddress)[1:]}
    given: dict[str, Any] = {}
    for key, value in parse_qsl(options, keep_blank_values=True):
        if key not in types:
            raise ConfigError(f"{model}: there is no option {key}; there are {', '.join(types)}")
        try:
            given[key] = types[key](value)
        except ValueError:
            raise ConfigError(f"{model}: {key} must be a number, got {value!r}") from None
    return ApiAddress(name, **given)


def spell(model: str, options: Mapping[str, Any]) -> str:
    """Return a model by API with its options as one text; one that has options keeps its own."""
    return model if "?" in model else str(replace(parse_address(model), **options))


_NAMED: dict[str, ApiAddress] = {}


def name_server(address: ApiAddress) -> None:
    """Let this process send texts to a server, because its user has named it."""
    _NAMED[address.identity] = address


def allowed(address: ApiAddress) -> ApiAddress:
    """Return the address with the server to ask: the one that this process has named, else the store's.

    Raises:
        StoreError: The server is known from a store alone. A store that somebody else has made must not decide to whom
            questions and a key are sent.
    """
    if (named := _NAMED.get(address.identity)) is not None:
        return named
    if server := os.environ.get(_SERVER):
        return replace(address, base_url=server)
    if is_loopback(urlsplit(address.base_url).hostname or ""):
        return address
    server = address.base_url or OPENAI
    raise StoreError(
        f"the store names the server {server} for {address.name}; to let docmill send texts there, set"
        f" [embedding] model and base_url, or the environment variable {_SERVER}={server}"
    )
