"""Embedding costs: what a run pays for vectors from an API, from its purse and in its language model's ledger."""

import threading
from dataclasses import dataclass

from docmill.storage.errors import BudgetReached
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.tasks.model.budget import Budget, Purse, forget_purse, purse_of
from docmill.tasks.model.client import Spent
from docmill.tasks.model.completion import Usage
from docmill.tasks.model.journal import Journal, PaidCall, costs_of

PURPOSE = "embedding"


@dataclass(frozen=True, slots=True)
class Payment:
    """Who pays for the vectors of a run: its name in the ledger, the model, the price of a million tokens, the limit.

    A `max_cost` of None is no limit; the limit also covers the run's language model. `purpose` is the entry's name.
    """

    folder: StoreFolder
    run: str
    model: str = ""
    price: float = 0.0
    max_cost: float | None = None
    purpose: str = PURPOSE

    def money(self, tokens: int) -> float:
        """Return the cost of tokens; 0 without a price."""
        return Budget({"input": self.price}).money(Usage(tokens))


class EmbeddingPayer:
    """A `docmill.storage.search.encode.api.embedding_server.Payer` of one run, used from any thread."""

    def __init__(self, payment: Payment, purse: Purse) -> None:
        self._payment, self._purse = payment, purse
        self._lock = threading.Lock()
        self._entries: list[PaidCall] = []
        self._journal = Journal(payment.folder.root, payment.run, payment.model, f"-{payment.purpose}")
        self.reached = False

    def admit(self, tokens: int) -> None:
        """Reserve the cost of a request; raise `BudgetReached` if it exceeds the rest."""
        if not self._purse.reserve(self._payment.money(tokens)):
            self.reached = True
            raise BudgetReached("the texts left to embed would cost more than --max-cost; run again to continue")

    def settle(self, reserved: int, used: int) -> None:
        """Record an answered request: the tokens reserved for it, and the tokens that the server counted."""
        money = self._payment.money(used)
        self._purse.settle(self._payment.money(reserved), money)
        entry = PaidCall(self._payment.purpose, input=used, money=money, answered=True)
        self._journal.add(entry)
        with self._lock:
            self._entries.append(entry)

    @property
    def spent(self) -> Spent:
        """Return what was spent so far."""
        with self._lock:
            return Spent(tuple(costs_of(self._payment.run, self._payment.model, self._entries)))

    def note(self) -> None:
        """Write the note from which the next commit makes a row of `costs`."""
        self._journal.note()

    def close(self) -> None:
        """Close the journal; its note stays for the next commit."""
        self._journal.close()


_payers: dict[tuple[str, str], EmbeddingPayer] = {}
_sharing = threading.Lock()


def payer_of(payment: Payment | None) -> EmbeddingPayer | None:
    """Return the payer that all steps of a run share in this process; None for a free model."""
    if payment is None:
        return None
    with _sharing:
        own = payment.run, payment.purpose
        if own not in _payers:
            _payers[own] = EmbeddingPayer(payment, purse_of(payment.run, payment.max_cost))
        return _payers[own]


def close_payer(run: str) -> None:
    """Close the payers of a run and their purse, if a step has opened them."""
    with _sharing:
        payers = [_payers.pop(own) for own in [*_payers] if own[0] == run]
    for payer in payers:
        payer.close()
    forget_purse(run)
