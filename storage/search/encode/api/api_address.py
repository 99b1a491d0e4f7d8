"""API address: a model behind an API as one text, `openai:NAME?base_url=URL&dimensions=256`, and which server it uses.

`litellm:PROVIDER/NAME` is a model of another provider, reached through the package litellm.

Stores, orders and workers refer to the model by this text. It never contains a key.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.keys import key_of
from docmill.storage.process.loopback import is_loopback

OWN, LITELLM = "openai:", "litellm:"
"""The prefixes of the names of API models: which client asks the server, named like its package and extra."""
OWN_LIMIT, OTHER_LIMIT = 8191, 512
"""The default token limits: that of OpenAI's embedding models, and the lowest of common models elsewhere."""
OPENAI = "https://api.openai.com/v1"  # only for messages: the client itself knows its server
_URL = "OPENAI_BASE_URL"  # the variable from which the official client takes its server
_SERVER, _MODEL = "DOCMILL_EMBEDDING__BASE_URL", "DOCMILL_EMBEDDING__MODEL"
_PLAIN = ":/ ,"
_TYPES = {
    "bedrock/cohere.": ("search_query", "search_document"),
    "cohere/": ("search_query", "search_document"),
    "gemini/": ("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"),
    "nvidia_nim/": ("query", "passage"),
    "vertex_ai/": ("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"),
    "voyage/": ("query", "document"),
}
"""The default `input_type` for queries and for chunks, by the beginning of a litellm model's name."""
_OPERATION = ("base_url", "token_limit", "batch_texts", "max_concurrency", "timeout_s")


def asked_at(base_url: str) -> str:
    """Return the URL that the official client asks: the setting, or that of the environment; "" is OpenAI's own."""
    return base_url or os.environ.get(_URL, "")


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """A model and how it is asked; the fields have the names of the settings `[embedding]`.

    Without `base_url`, the provider's server is used. With `dimensions` 0, the model decides. `revision` is any word
    that the user sets when the model has changed under its name. The types are sent as `input_type`. A `token_limit`
    of 0 means `OWN_LIMIT` for OpenAI and `OTHER_LIMIT` elsewhere.
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
    client: str = OWN

    @property
    def name(self) -> str:
        """Return the name of the model with the prefix of its client, without options."""
        return self.client + self.model

    @property
    def provider(self) -> str:
        """Return the provider of a litellm model."""
        return self.model.partition("/")[0]

    @property
    def asked(self) -> str:
        """Return the URL of the server that is asked: `base_url`, or that of the environment; "" is the provider's."""
        return asked_at(self.base_url) if self.client == OWN else self.base_url

    @property
    def server(self) -> str:
        """Return how messages call the server."""
        return self.asked or ("OpenAI's server" if self.client == OWN else f"the server of {self.provider}")

    @property
    def limit(self) -> int:
        """Return the largest number of tokens of a text, including prefixes."""
        return self.token_limit or (OWN_LIMIT if self.client == OWN and not self.asked else OTHER_LIMIT)

    @property
    def types(self) -> tuple[str, str]:
        """Return the `input_type` of queries and of documents."""
        known = (own for beginning, own in _TYPES.items() if self.model.startswith(beginning))
        usual = next(known, ("", "")) if self.client == LITELLM else ("", "")
        return self.query_type or usual[0], self.document_type or usual[1]

    @property
    def identity(self) -> str:
        """Return the key of everything that determines a vector; it is equal for the same model on another server."""
        # Only options that are set, so that an option added later does not change the key of existing stores.
        return key_of("api", self.name, {name: value for name, value in self._set().items() if name not in _OPERATION})

    @property
    def cached_as(self) -> str:
        """Return the cache key of the model: two servers may have different models of the same name."""
        return key_of("kept", self.identity, self.asked)

    def _set(self) -> dict[str, Any]:
        return {name: value for name, kept in _options().items() if (value := getattr(self, name)) != kept}

    def __str__(self) -> str:
        own = self._set()
        return self.name + ("?" + urlencode(own, safe=_PLAIN) if own else "")


def _options() -> dict[str, Any]:
    """Return the options of an address with their defaults."""
    return {one.name: one.default for one in fields(ApiAddress) if one.name not in ("model", "client")}


def is_api(model: str) -> bool:
    """Return whether a model is behind an API."""
    return model.startswith((OWN, LITELLM))


def extra_of(model: str) -> str:
    """Return the extra that an API model needs, or "" for other models."""
    return model.partition(":")[0] if is_api(model) else ""


def parse_address(model: str) -> ApiAddress:
    """Return the address that a text spells; raise `ConfigError` for an option that does not exist."""
    client = LITELLM if model.startswith(LITELLM) else OWN
    name, _, options = model.removeprefix(client).partition("?")
    if not name:
        raise ConfigError(f"{model!r} names no model; give one, such as {OWN}text-embedding-3-small")
    if client == LITELLM:
        _check_provider(model, name)
    known, given = _options(), dict[str, Any]()
    for key, value in parse_qsl(options, keep_blank_values=True):
        if key not in known:
            raise ConfigError(f"{model}: there is no option {key}; there are {', '.join(known)}")
        try:
            given[key] = type(known[key])(value)
        except ValueError:
            raise ConfigError(f"{model}: {key} must be a number, got {value!r}") from None
    return ApiAddress(name, client=client, **given)


def _check_provider(model: str, name: str) -> None:
    provider, _, own = name.partition("/")
    if not (provider and own):
        raise ConfigError(
            f"{model!r} names no provider; give {LITELLM}PROVIDER/NAME, such as {LITELLM}voyage/voyage-3.5"
        )
    if provider == "openai":
        raise ConfigError(f"{model}: docmill asks servers of this protocol itself; give {OWN}{own}")


def spell(model: str, options: Mapping[str, Any]) -> str:
    """Return an API model with its options as one text; a model that already has options is returned as it is."""
    return model if "?" in model else str(replace(parse_address(model), **options))


_NAMED: dict[str, ApiAddress] = {}


def name_server(address: ApiAddress) -> None:
    """Let this process send texts to a server, because its user has named it."""
    _NAMED[address.identity] = address


def allowed(address: ApiAddress) -> ApiAddress:
    """Return the address with the server to ask: the one that this process has named, else the store's.

    Raises:
        StoreError: Only the store names the server. A store made by somebody else must not decide where questions and
            a key are sent.
    """
    if (named := _NAMED.get(address.identity)) is not None:
        return named
    server = os.environ.get(_SERVER, "")
    if address.client == LITELLM:
        return _allowed_provider(address, server)
    if server:
        return replace(address, base_url=server)
    if is_loopback(urlsplit(address.base_url).hostname or ""):
        return address
    server = address.base_url or OPENAI
    raise StoreError(
        f"the store names the server {server} for {address.name}; to let docmill send texts there, set"
        f" [embedding] model and base_url, or the environment variable {_SERVER}={server}"
    )


def _allowed_provider(address: ApiAddress, server: str) -> ApiAddress:
    """Return the address of a litellm model if this user has named the model; the store alone is not trusted."""
    if os.environ.get(_MODEL, "").partition("?")[0] == address.name:
        return replace(address, base_url=server)
    raise StoreError(
        f"the store names {address.name}; to let docmill send texts to {address.provider}, set [embedding] model,"
        f" or the environment variable {_MODEL}={address.name}"
    )
