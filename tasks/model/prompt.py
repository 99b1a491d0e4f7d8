"""Prompt: what a language model is asked, under what its answer is kept, and the answer."""

from dataclasses import dataclass

LONGEST_REPLY = 2048
"""Tokens of a reply for which nothing else is said. Fewer cut answers off; for more a budget sets aside too much."""
_BYTES_PER_TOKEN = 4
"""OpenAI's rule of thumb for English. It counts bytes here, as a character of another script takes more tokens."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call: its parts, those first that many calls share, and the most tokens of its answer.

    The answer is kept under `about`, or under the parts where that is empty: what an answer should outlive
    stands in the parts alone. `basis` is the key of that, and an answer of another basis is out of date.
    `purpose` is what the ledger of costs calls it. One that takes `partly` has use for an answer that was cut off.
    """

    parts: tuple[str, ...]
    about: tuple[str, ...] = ()
    basis: str = ""
    purpose: str = "other"
    max_tokens: int = LONGEST_REPLY
    partly: bool = False

    @property
    def identity(self) -> tuple[str, ...]:
        """Return what the answer is kept under, besides the model."""
        return self.about or self.parts

    @property
    def tokens(self) -> int:
        """Return an estimate of the tokens of its input: one for four bytes."""
        return sum(map(estimate, self.parts))


def estimate(text: str) -> int:
    """Return about how many tokens a text has for a language model whose tokenizer is not known."""
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, empty where it cannot be used, and the basis on which it said that."""

    text: str
    basis: str = ""
