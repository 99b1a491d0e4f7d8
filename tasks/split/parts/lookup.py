"""Look-up: what a splitter needs that only a model knows, found before; what it misses is noted, to be asked once.

A splitter runs where no model is loaded. It asks here, and splits in a plainer way when something is
missing; the caller then has the missing answers found, by content, and lets it split again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from docmill.tasks.model.prompt import Answer, Prompt

Vector = npt.NDArray[np.float32]


@dataclass(slots=True)
class Lookup:
    """Vectors by text and answers by a prompt's identity; `wanted` and `unsaid` are the texts and prompts without.

    One that looks `ahead` is for counting what will be asked: chunks stand for those to come.
    """

    vectors: Mapping[str, Vector] = field(default_factory=dict)
    answers: Mapping[tuple[str, ...], Answer] = field(default_factory=dict)
    wanted: dict[str, None] = field(default_factory=dict)
    unsaid: dict[Prompt, None] = field(default_factory=dict)
    ahead: bool = False

    def vectors_of(self, texts: Sequence[str]) -> Vector | None:
        """Return float32 (n, dim), rows of unit L2 norm, in the order of `texts`; None where one is missing."""
        missing = dict.fromkeys(text for text in texts if text not in self.vectors)
        self.wanted |= missing
        return None if missing or not texts else np.stack([self.vectors[text] for text in texts])

    def replies_to(self, prompts: Sequence[Prompt]) -> list[str] | None:
        """Return what a language model said to each prompt; None where one is missing."""
        answers = [self.answer_to(prompt) for prompt in prompts]
        known = [answer.text for answer in answers if answer is not None]
        return known if len(known) == len(prompts) else None

    def answer_to(self, prompt: Prompt) -> Answer | None:
        """Return what a language model said to a prompt; None where that is missing."""
        answer = self.answers.get(prompt.identity)
        if answer is None:
            self.unsaid[prompt] = None
        return answer

    def only(self, texts: Iterable[str], prompts: Iterable[Prompt]) -> "Lookup":
        """Return a look-up of what is known of some texts and prompts."""
        identities = (prompt.identity for prompt in prompts)
        return Lookup(
            {text: self.vectors[text] for text in texts if text in self.vectors},
            {identity: self.answers[identity] for identity in identities if identity in self.answers},
        )

    def knows(self, texts: Iterable[str], prompts: Iterable[Prompt]) -> bool:
        """Say whether anything is known of some texts and prompts."""
        return any(text in self.vectors for text in texts) or any(p.identity in self.answers for p in prompts)

    def with_all_of(self, other: "Lookup") -> "Lookup":
        """Return a look-up of what either knows."""
        return Lookup({**self.vectors, **other.vectors}, {**self.answers, **other.answers}, ahead=self.ahead)

    @property
    def asked(self) -> int:
        """Return how much was missing so far."""
        return len(self.wanted) + len(self.unsaid)

    @property
    def complete(self) -> bool:
        """Say whether nothing was missing."""
        return not (self.wanted or self.unsaid)
