"""Budget: what calls cost, and how many of them a run may make."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.tasks.model.clients.completion import Usage
from docmill.tasks.model.prompt import Prompt, estimate

LEAST_CACHED = 4096
"""The fewest tokens that every model of a provider takes into its cache."""
_PRICED_TOKENS = 1e6
"""Prices are for so many tokens, as providers list them."""
_FALLBACK = {"cached": "input", "written": "input"}


@dataclass(frozen=True, slots=True)
class Budget:
    """The most calls and the most money of a run; None is no bound. `prices` are for a million tokens.

    Prices are of `input`, `cached`, `written` and `output`; the middle two are as `input` where they are not given.
    """

    prices: Mapping[Any, float] = field(default_factory=dict)
    max_calls: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        if self.max_cost is not None and not self.prices:
            raise ConfigError("a bound of cost needs prices: set [model.prices], at least input and output")

    def money(self, usage: Usage) -> float:
        """Return what tokens cost; 0 where there are no prices."""
        plain = usage.input - usage.cached - usage.written
        parts = {"input": plain, "cached": usage.cached, "written": usage.written, "output": usage.output}
        return sum(count * self._price(name) for name, count in parts.items()) / _PRICED_TOKENS

    def _price(self, name: str) -> float:
        return self.prices.get(name, self.prices.get(_FALLBACK.get(name, ""), 0.0))


class Purse:
    """What is left of a budget while calls are under way; used from several threads."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._calls = 0
        self._money = 0.0

    def admit(self, prompt: Prompt) -> bool:
        """Say whether a call may be made, and set aside what it will cost at most, by estimate."""
        budget, expected = self._budget, self._expected(prompt)
        with self._lock:
            if budget.max_calls is not None and self._calls >= budget.max_calls:
                return False
            if budget.max_cost is not None and self._money + expected > budget.max_cost:
                return False
            self._calls += 1
            self._money += expected
        return True

    def settle(self, prompt: Prompt, usage: Usage) -> None:
        """Put what a call did cost in the place of what was set aside for it."""
        with self._lock:
            self._money += self._budget.money(usage) - self._expected(prompt)

    def _expected(self, prompt: Prompt) -> float:
        return self._budget.money(Usage(prompt.tokens, 0, prompt.max_tokens))


class Forecast:
    """What the prompts of a run will cost, at most: an answer as long as it may be, and nothing in a cache by chance.

    Only what is marked to be cached counts as cached, from the second prompt on, where it is long enough for that.
    """

    def __init__(self, provider: str) -> None:
        self._marks = provider == "anthropic"
        self._seen: set[tuple[str, ...]] = set()

    def usage(self, prompt: Prompt) -> Usage:
        """Return the tokens that a prompt will cost when it is asked after those before it."""
        shared = prompt.parts[:-1]
        size = sum(map(estimate, shared))
        if not self._marks or size < LEAST_CACHED:
            return Usage(prompt.tokens, 0, prompt.max_tokens)
        cached = size if shared in self._seen else 0
        self._seen.add(shared)
        return Usage(prompt.tokens, cached, prompt.max_tokens, size - cached)
