"""Model lookup: model answers prepared for a splitter; it records which are missing.

A splitter runs where no model is loaded. It looks answers up here, and uses a simpler strategy if one is missing. The
caller then gets the missing answers, addressed by content, and lets the splitter run again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from docmill.tasks.model.prompt import Answer, Prompt

Vector = npt.NDArray[np.float32]


@dataclass(slots=True)
class Lookup:
    """Vectors by text and answers by prompt key; `wanted` and `unsaid` are the texts and prompts without one.

    With `ahead`, it only counts what will be asked; the chunks are placeholders.
    """

    vectors: Mapping[str, Vector] = field(default_factory=dict)
    answers: Mapping[tuple[str, ...], Answer] = field(default_factory=dict)
    wanted: dict[str, None] = field(default_factory=dict)
    unsaid: dict[Prompt, None] = field(default_factory=dict)
    ahead: bool = False

    def vectors_of(self, texts: Sequence[str]) -> Vector | None:
        """Return float32 (n, dim), rows of unit L2 norm, in the order of `texts`; None if one is missing."""
        missing = dict.fromkeys(text for text in texts if text not in self.vectors)
        self.wanted |= missing
        return None if missing or not texts else np.stack([self.vectors[text] for text in texts])

    def replies_to(self, prompts: Sequence[Prompt]) -> list[str] | None:
        """Return the language model's reply to each prompt; None if one is missing."""
        answers = [self.answer_to(prompt) for prompt in prompts]
        known = [answer.text for answer in answers if answer is not None]
        return known if len(known) == len(prompts) else None

    def answer_to(self, prompt: Prompt) -> Answer | None:
        """Return the language model's answer to a prompt; None if it is missing."""
        answer = self.answers.get(prompt.identity)
        if answer is None:
            self.unsaid[prompt] = None
        return answer

    def only(self, texts: Iterable[str], prompts: Iterable[Prompt]) -> "Lookup":
        """Return a look-up restricted to the given texts and prompts."""
        identities = (prompt.identity for prompt in prompts)
        return Lookup(
            {text: self.vectors[text] for text in texts if text in self.vectors},
            {identity: self.answers[identity] for identity in identities if identity in self.answers},
        )

    def knows(self, texts: Iterable[str], prompts: Iterable[Prompt]) -> bool:
        """Return whether any of the texts and prompts has an answer."""
        return any(text in self.vectors for text in texts) or any(p.identity in self.answers for p in prompts)

    def with_all_of(self, other: "Lookup") -> "Lookup":
        """Return the union of two look-ups."""
        return Lookup({**self.vectors, **other.vectors}, {**self.answers, **other.answers}, ahead=self.ahead)

    @property
    def asked(self) -> int:
        """Return how many answers were missing so far."""
        return len(self.wanted) + len(self.unsaid)

    @property
    def complete(self) -> bool:
        """Return whether nothing was missing."""
        return not (self.wanted or self.unsaid)
