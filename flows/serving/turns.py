"""Turns: how many requests of one client, and of all, a server works on at once; the others wait in line."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TooManyWaiting(Exception):
    """A client has so many requests in line that it should wait itself."""


class Turns:
    """The turns of one server, within its event loop. Clients get them in rotation, each its requests in order.

    Requests run in the 40 threads that the server has: what is left of them is for the files of the page.
    """

    def __init__(self, most: int = 32, most_of_client: int = 16, most_waiting: int = 64) -> None:
        self._most = most
        self._most_of_client = most_of_client
        self._most_waiting = most_waiting
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def taken(self, client: str) -> AsyncIterator[None]:
        """Hold a turn during the block; wait for one.

        Raises:
            TooManyWaiting: As many requests of the client wait as may.
        """
        if self._is_free(client):
            self._running[client] += 1
        else:
            await self._granted(client)
        try:
            yield
        finally:
            self._release(client)

    async def _granted(self, client: str) -> None:
        line = self._waiting.setdefault(client, deque())
        if len(line) >= self._most_waiting:
            raise TooManyWaiting
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                line.remove(turn)
            else:
                self._release(client)
            raise

    def _release(self, client: str) -> None:
        self._running[client] -= 1
        self._running += Counter()  # forget clients that have none
        for name in [*self._waiting]:
            line = self._waiting[name]
            while line and self._is_free(name):
                self._running[name] += 1
                line.popleft().set_result(None)
                self._waiting.move_to_end(name)
            if not line:
                del self._waiting[name]

    def _is_free(self, client: str) -> bool:
        return self._running.total() < self._most and self._running[client] < self._most_of_client
