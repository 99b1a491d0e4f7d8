"""Budget: the cost of calls, how many of them a run may make, and the purse that pays for all its models."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.tasks.model.completion import Usage
from docmill.tasks.model.prompt import Prompt, estimate

LEAST_CACHED = 4096
"""The minimum prefix, in tokens, that every model of a provider caches."""
_PRICED_TOKENS = 1e6
"""Prices are for this many tokens, as in providers' price lists."""
_FALLBACK = {"cached": "input", "written": "input"}


@dataclass(frozen=True, slots=True)
class Budget:
    """The maximum calls and cost of a run; None is no limit. `prices` are for a million tokens.

    There are prices of `input`, `cached`, `written` and `output`; `cached` and `written` default to `input`.
    """

    prices: Mapping[Any, float] = field(default_factory=dict)
    max_calls: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        if self.max_cost is not None and not self.prices:
            raise ConfigError("max_cost needs prices: set [model.prices], at least input and output")

    def money(self, usage: Usage) -> float:
        """Return the cost of tokens; 0 without prices."""
        plain = usage.input - usage.cached - usage.written
        parts = {"input": plain, "cached": usage.cached, "written": usage.written, "output": usage.output}
        prices = {name: self.prices.get(name, self.prices.get(_FALLBACK.get(name, ""), 0.0)) for name in parts}
        return sum(count * prices[name] for name, count in parts.items()) / _PRICED_TOKENS


class Purse:
    """What a run may still spend on all its models together; without `max_cost`, it pays for everything."""

    def __init__(self, max_cost: float | None) -> None:
        self._max_cost = max_cost
        self._lock = threading.Lock()
        self._money = 0.0

    def reserve(self, cost: float) -> bool:
        """Return whether a cost is within the limit; if so, reserve it."""
        with self._lock:
            if self._max_cost is not None and self._money + cost > self._max_cost:
                return False
            self._money += cost
        return True

    def settle(self, reserved: float, cost: float) -> None:
        """Replace a reserved cost by the actual one."""
        with self._lock:
            self._money += cost - reserved


_purses: dict[str, Purse] = {}
_sharing = threading.Lock()


def purse_of(run: str, max_cost: float | None) -> Purse:
    """Return the purse that a run's models share in this process."""
    with _sharing:
        return _purses.setdefault(run, Purse(max_cost))


def forget_purse(run: str) -> None:
    """Drop the purse of a run that has ended."""
    with _sharing:
        _purses.pop(run, None)


class BudgetTracker:
    """The rest of a budget during a run; used from several threads."""

    def __init__(self, budget: Budget, purse: Purse | None = None) -> None:
        self._budget = budget
        self._purse = purse or Purse(budget.max_cost)
        self._lock = threading.Lock()
        self._calls = 0

    def admit(self, prompt: Prompt) -> bool:
        """Return whether a call is within the budget; if so, reserve its estimated maximum cost."""
        most = self._budget.max_calls
        with self._lock:
            if (most is not None and self._calls >= most) or not self._purse.reserve(self._expected(prompt)):
                return False
            self._calls += 1
        return True

    def settle(self, prompt: Prompt, usage: Usage) -> None:
        """Replace the reserved cost of a call by its actual cost."""
        self._purse.settle(self._expected(prompt), self._budget.money(usage))

    def _expected(self, prompt: Prompt) -> float:
        return self._budget.money(Usage(prompt.tokens, 0, prompt.max_tokens))


class Forecast:
    """The maximum cost of a run's prompts, assuming answers of full length and no accidental cache hits.

    Only parts marked for caching count as cached, from the second prompt on, and if they are long enough.
    """

    def __init__(self, provider: str) -> None:
        self._marks = provider == "anthropic"
        self._seen: set[tuple[str, ...]] = set()

    def usage(self, prompt: Prompt) -> Usage:
        """Return the tokens that a prompt will cost when it is asked after the previous ones."""
        shared = prompt.parts[:-1]
        size = sum(map(estimate, shared))
        if not self._marks or size < LEAST_CACHED:
            return Usage(prompt.tokens, 0, prompt.max_tokens)
        cached = size if shared in self._seen else 0
        self._seen.add(shared)
        return Usage(prompt.tokens, cached, prompt.max_tokens, size - cached)
