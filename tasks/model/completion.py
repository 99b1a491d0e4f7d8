"""Completion: the interface to a language model, whatever its provider."""

import warnings
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import NamedTuple, Protocol

from docmill.storage.errors import ConfigError, Terminal
from docmill.storage.schema import KeptPicture

PROVIDERS = ("openai", "anthropic")
"""Providers with a client, see `tasks/model/providers.py`."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The model and its call options. Keys come from the environment and are never stored.

    `base_url` is that of a server that speaks the provider's protocol; empty is the provider's own. `thinking_tokens`
    are added to the maximum of an answer, for models that think before they answer.
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
    """Billed tokens; of the input, `cached` were read from the provider's cache.

    `written` were written to the cache, for which some providers charge more.
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
    """The reply of a model; `whole` is False if the model refused or the token limit truncated the reply (`cut`).

    `ending` is the provider's word for why it ended, such as `content_filter`.
    """

    text: str
    usage: Usage
    whole: bool
    cut: bool = False
    ending: str = ""


class SentPicture(NamedTuple):
    """A picture to send: its type, such as `image/png`, and its file in base64."""

    media_type: str
    encoded: str


class Model(Protocol):
    """A model that can be called from several threads."""

    def complete(self, parts: Sequence[str], max_tokens: int, picture: SentPicture | None = None) -> Reply:
        """Return the reply to a prompt; all parts but the last are the prefix that many calls share.

        A picture comes before all parts.

        Raise `Transient` if a retry may help, `ConfigError` for an invalid key or model, and `Terminal` for a refused
        prompt. No message contains a key or the prompt.
        """
        ...


LONGEST_SIDE = 1024
"""Pixels of the longest side. Providers shrink larger pictures to between 768 and 1,568, and charge by the pixel; the
words of a full-page chart remain legible."""
_MOST_BYTES = 3_500_000  # of a file sent unchanged: Anthropic accepts 5 MB in base64, a third more than the file
_QUALITY = 90  # of a JPEG: below it, small letters blur


def sent(picture: KeptPicture | None) -> SentPicture:
    """Return a picture in the form to send; raise `Terminal` if there is none, or if it cannot be read."""
    if picture is None:
        raise Terminal("the picture is not in the store; see: docmill verify")
    data, media_type = picture.data, picture.media_type
    if max(picture.width, picture.height) > LONGEST_SIDE or len(data) > _MOST_BYTES:
        data, media_type = _shrunk(picture), "image/jpeg"
    return SentPicture(media_type, b64encode(data).decode())


def _shrunk(picture: KeptPicture) -> bytes:
    from PIL import Image

    written = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of sizes, which were checked when the picture was kept
        try:
            image = Image.open(BytesIO(picture.data)).convert("RGBA")
            image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            white = Image.new("RGBA", image.size, "white")
            Image.alpha_composite(white, image).convert("RGB").save(written, "JPEG", quality=_QUALITY)
        except Exception as error:  # a damaged file can make Pillow's decoders raise anything
            raise Terminal(f"picture {picture.key} cannot be read: {error}") from error
    return written.getvalue()
