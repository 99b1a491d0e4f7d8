"""Lease: let only one writer among all machines write. A writer replaces the lease object only if it knows its tag.

The holder renews the lease while it works. Another writer takes over a lease that is older than `LASTS_S` by the clock
of the object store. The next run on the holder's own mirror takes it over at once, because the kernel released the
mirror's lock when the holder died. A holder that is ended by a signal releases it.
"""

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from docmill.storage.address import MirrorMark
from docmill.storage.errors import DocmillError, Locked, Transient
from docmill.storage.files import remove, write_whole
from docmill.storage.lock import WAIT
from docmill.storage.process.shutdown import released
from docmill.storage.remote.objects.bucket import REQUEST_S, Objects, Vanished, Version

KEY = "lease.json"
TOKEN = "lease.json"
LASTS_S = 90.0  # seconds that others wait for a dead holder; with a slow network, a shorter lease would be lost
RENEWED_S = 20.0  # several renewals may fail before the lease expires
_POLL_S = 1.0  # seconds between two reads of a lease; each is a request that costs money
assert LASTS_S > RENEWED_S + 3 * REQUEST_S  # a holder that deletes or commits has just renewed it


@contextmanager
def leased(objects: Objects, root: Path, mark: MirrorMark, deadline: float) -> Iterator[None]:
    """Hold the lease of a store; the caller has the lock of the mirror `root`.

    Raises `Locked` if another mirror's writer still holds it at `deadline`, on the monotonic clock.
    """
    token = secrets.token_hex(8)
    now = datetime.now(UTC).isoformat("T", "seconds")
    holder = {"token": token, "mirror": mark.mirror, "pid": os.getpid(), "host": socket.gethostname(), "since": now}
    over = threading.Event()
    give_back = partial(_give_back, objects, root, token, over)
    with released(give_back):
        _acquire(objects, holder, deadline)
        write_whole(root / TOKEN, token.encode())
        renewal = threading.Thread(target=_renew, args=(objects, token, over), name="docmill-lease", daemon=True)
        renewal.start()
        try:
            yield
        finally:
            over.set()
            renewal.join()
            give_back()


def _give_back(objects: Objects, root: Path, token: str, over: threading.Event) -> None:
    """Release the lease if `token` still holds it. A renewal in progress finds it free and does not take it again."""
    over.set()
    remove(root / TOKEN)
    with suppress(DocmillError):  # it expires by itself
        _beat(objects, token, free=True)


def confirm(objects: Objects, root: Path) -> datetime:
    """Renew the lease that the mirror `root` holds and return the time, by the clock of the object store.

    Raises `Locked` if another writer has taken it over, or if the mirror held none.
    """
    try:
        token = (root / TOKEN).read_text()
    except FileNotFoundError:
        raise Locked(f"{objects.url}: this machine does not hold its lease; run again") from None
    if not _beat(objects, token):
        raise Locked(f"{objects.url}: {_who(objects)} has taken it over because this run paused too long; run again")
    return objects.version(KEY).modified


def _acquire(objects: Objects, holder: dict[str, Any], deadline: float) -> None:
    while True:
        try:
            held = objects.version(KEY)
        except Vanished:
            if objects.put_if_absent(KEY, _encode(holder)):
                return
            continue
        before = _decode(held.data)
        if _is_free(objects, held, before, holder) and objects.put_if_same(KEY, _encode(holder), held.tag):
            return
        if time.monotonic() >= deadline:
            raise Locked(f"{objects.url} is being written by {_who(objects)}; {WAIT}")
        time.sleep(_POLL_S)


def _is_free(objects: Objects, held: Version, before: dict[str, Any], holder: dict[str, Any]) -> bool:
    mine = all(before.get(name) == holder[name] for name in ("mirror", "host"))
    return bool(before.get("free")) or mine or _age_s(objects, held, holder["mirror"]) > LASTS_S


def _age_s(objects: Objects, held: Version, mirror: str) -> float:
    """Return the seconds since the lease was renewed; an object written now shows the time of the object store."""
    key = f"clock/{mirror}"
    objects.put(key, secrets.token_bytes(8))
    now = objects.version(key).modified
    objects.delete([key])
    return (now - held.modified).total_seconds()


def _renew(objects: Objects, token: str, over: threading.Event) -> None:
    while not over.wait(RENEWED_S):
        with suppress(Transient):
            if not _beat(objects, token):
                return  # the commit will notice it, too


def _beat(objects: Objects, token: str, free: bool = False) -> bool:
    """Renew or release the lease; return whether `token` still held it."""
    while True:
        held = objects.version(KEY)
        before = _decode(held.data)
        if before.get("token") != token or before.get("free"):
            return False
        if objects.put_if_same(KEY, _encode({**before, "free": free}), held.tag):
            return True


def _encode(holder: dict[str, Any]) -> bytes:
    return json.dumps({**holder, "beat": secrets.token_hex(8)}).encode()


def _decode(data: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        found = json.loads(data)
        if isinstance(found, dict):
            return found
    return {}


def _who(objects: Objects) -> str:
    with suppress(DocmillError):
        holder = _decode(objects.version(KEY).data)
        if {"pid", "host", "since"} <= holder.keys():  # a network or a person may have damaged it
            return f"process {holder['pid']} on {holder['host']} since {holder['since']}"
    return "another writer"
