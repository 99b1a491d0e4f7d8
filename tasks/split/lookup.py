"""Look-up: what a splitter needs that only a model knows, found before; what it misses is noted, to be asked once.

A splitter runs where no model is loaded. It asks here, and splits in a plainer way when something is
missing; the caller then has the missing answers found, by content, and lets it split again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Prompt = tuple[str, ...]
"""The parts of a prompt; those that many prompts share come first."""


@dataclass(slots=True)
class Lookup:
    """Vectors by text and replies by prompt; `wanted` and `unsaid` are the texts and prompts that had none."""

    vectors: Mapping[str, Vector] = field(default_factory=dict)
    replies: Mapping[Prompt, str] = field(default_factory=dict)
    wanted: dict[str, None] = field(default_factory=dict)
    unsaid: dict[Prompt, None] = field(default_factory=dict)

    def vectors_of(self, texts: Sequence[str]) -> Vector | None:
        """Return float32 (n, dim), rows of unit L2 norm, in the order of `texts`; None where one is missing."""
        missing = dict.fromkeys(text for text in texts if text not in self.vectors)
        self.wanted |= missing
        return None if missing or not texts else np.stack([self.vectors[text] for text in texts])

    def replies_to(self, prompts: Sequence[Prompt]) -> list[str] | None:
        """Return what a language model said to each prompt; None where one is missing."""
        missing = dict.fromkeys(prompt for prompt in prompts if prompt not in self.replies)
        self.unsaid |= missing
        return None if missing else [self.replies[prompt] for prompt in prompts]

    def only(self, texts: Iterable[str], prompts: Iterable[Prompt]) -> "Lookup":
        """Return a look-up of what is known of some texts and prompts."""
        return Lookup(
            {text: self.vectors[text] for text in texts if text in self.vectors},
            {prompt: self.replies[prompt] for prompt in prompts if prompt in self.replies},
        )

    @property
    def complete(self) -> bool:
        """Say whether nothing was missing."""
        return not (self.wanted or self.unsaid)
