"""Prompt: a question to a language model, the key of its answer, and the answer."""

from collections.abc import Callable
from dataclasses import dataclass

from docmill.storage.schema import KeptPicture

WINDOW_TOKENS = 16_000
"""The tokens of a document that a language model sees at once.

With more, every chunk that is asked about costs more; with less, fewer documents are shown whole. `[model]
window_tokens` sets another number.
"""
Pictures = Callable[[str], KeptPicture | None]
"""Returns the picture with a key, or None."""
LONGEST_REPLY = 2048
"""Maximum tokens of a reply by default. Fewer would cut answers off; with more, a budget would reserve too much."""
PICTURE_TOKENS = 2600
"""Estimated tokens of a picture of `sent_picture.LONGEST_SIDE` squared. Anthropic counts one per 750 pixels, 1,400, and
OpenAI one per 32 x 32 pixels, 1,024, times up to 2.46; a model that counts more may exceed a budget by one call."""
_BYTES_PER_TOKEN = 4
"""OpenAI's rule of thumb for English. It counts bytes here, because characters of other scripts take more tokens."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call: its parts, shared prefix first, and the maximum tokens of its answer.

    The answer is stored under `about`, or under the parts if that is empty. Text whose edits an answer should survive
    is only in the parts. `basis` is the key of that text, and an answer with another basis is stale. `purpose` is its
    name in the ledger of costs. A prompt that takes `partly` can use a truncated answer. `picture` is the key of the
    picture that it shows, "" for none; its parts follow the picture. A prompt `by_ocr` goes to no model: OCR reads its
    picture and may find no words.
    """

    parts: tuple[str, ...]
    about: tuple[str, ...] = ()
    basis: str = ""
    purpose: str = "other"
    max_tokens: int = LONGEST_REPLY
    partly: bool = False
    picture: str = ""
    by_ocr: bool = False

    @property
    def identity(self) -> tuple[str, ...]:
        """Return the key of the answer, without the model."""
        return self.about or self.parts

    @property
    def tokens(self) -> int:
        """Return the estimated tokens of its input: one per four bytes, and those of a picture."""
        return sum(map(estimate, self.parts)) + (PICTURE_TOKENS if self.picture else 0)


def estimate(text: str) -> int:
    """Return the estimated tokens of a text for a language model with an unknown tokenizer."""
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + 1


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a model, "" if it is unusable, and the basis of the prompt."""

    text: str
    basis: str = ""


def no_pictures(_: str) -> KeptPicture | None:
    """Return None: there are no pictures."""
    return None
