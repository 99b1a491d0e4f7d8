"""Payment: account for the requests to an embedding server, and refuse those beyond the budget."""

from typing import Protocol


class Payer(Protocol):
    """The budget and the cost records of a run; thread-safe."""

    def admit(self, tokens: int) -> None:
        """Reserve the cost of a request of at most `tokens`; raise `BudgetReached` if it exceeds the budget."""
        ...

    def settle(self, reserved: int, used: int) -> None:
        """Record an answered request: the tokens that were reserved, and the tokens that the server counted."""
        ...
