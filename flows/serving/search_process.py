"""Search process: the main loop of a process that answers searches until its pipe closes."""

import gc
import pickle
import signal
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from docmill.storage.errors import DocmillError
from docmill.storage.process.child_process import die_with
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import Mode
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.work.pool.plain_json import encode

_NEW_OBJECTS = 10_000
"""New objects between two runs of the garbage collector, as in the server: with 700, a search takes 8 % longer."""


@dataclass(frozen=True, slots=True)
class FoundHits:
    """The hits of a query, or the name of the class of an error and its message."""

    hits: list[Hit]
    error: str = ""
    message: str = ""


def serve(arguments: list[str]) -> None:
    """Answer searches on an inherited pipe; `arguments` are its number and the number of the parent process."""
    fd, parent = map(int, arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it and decides
    die_with(parent)
    gc.set_threshold(_NEW_OBJECTS)
    stores: dict[int, Store] = {}
    with Connection(fd) as pipe:
        while True:
            try:
                request = pipe.recv_bytes()
            except (EOFError, ConnectionError):
                return
            pipe.send_bytes(encode(_answers(request, stores)))


def _answers(request: bytes, stores: dict[int, Store]) -> list[FoundHits]:
    """Open and close stores as the parent does, then return the hits or the error of each query.

    Stores do not hold their snapshots here, because the parent holds them while anybody asks.
    """
    number, stored, closed, queries, *how = pickle.loads(request)
    for one in closed:
        stores.pop(one).close()
    if stored is not None:
        stores[number] = Store(stored)
    found = _found(stores[number], queries, *how)
    if found[0].error and len(queries) > 1:  # ask one by one to find out which query is wrong
        return [one for query in queries for one in _found(stores[number], [query], *how)]
    return found


def _found(store: Store, queries: list[str], k: int, mode: Mode, how: Mapping[str, Any]) -> list[FoundHits]:
    try:
        return [FoundHits(hits) for hits in store.search_all(queries, k, mode, **how)]
    except DocmillError as error:
        return [FoundHits([], type(error).__name__, str(error))]
    except Exception:
        return [FoundHits([], RuntimeError.__name__, traceback.format_exc())]  # for the log of the server
