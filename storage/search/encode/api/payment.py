"""Payment: who pays for the requests to an embedding server, and may refuse one."""

from typing import Protocol


class Payer(Protocol):
    """The purse and the ledger of a run, used from several threads."""

    def admit(self, tokens: int) -> None:
        """Reserve the cost of a request of at most so many tokens; raise `BudgetReached` if it is too much."""
        ...

    def settle(self, reserved: int, used: int) -> None:
        """Write down an answered request: the tokens that were reserved, and those that the server counted."""
        ...
