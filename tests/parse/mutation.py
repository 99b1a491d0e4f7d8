"""Damage: a document with bytes flipped, cut out, doubled or cut off, always the same for one seed."""

import random
from dataclasses import dataclass
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions

_TELLING = (b"\0", b"\xff", b"<", b"[", b"{", b"\\", b"\n", b"PK\x03\x04", b"%PDF", b"\xef\xbb\xbf", b"9" * 20)


@dataclass(frozen=True, slots=True)
class Damage:
    """Which document is damaged, and the seed that decides how."""

    path: Path
    seed: int


def damaged(damage: Damage) -> bytes:
    """Return the damaged document."""
    rng = random.Random(damage.seed)
    data = bytearray(damage.path.read_bytes())
    for _ in range(rng.choice((1, 1, 2, 5, 40))):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(5)
        if way == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif way == 1:
            del data[at : at + rng.choice((1, 10, 1000))]
        elif way == 2:
            data[at:at] = data[at : at + rng.choice((1, 10, 1000))]
        elif way == 3:
            data[at:at] = rng.choice(_TELLING)
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


def read_damaged(damage: Damage) -> str:
    """Return what became of a damaged document: `read`, or the reason for which it was rejected."""
    data = damaged(damage)
    try:
        parse(data, detect_file_type(damage.path.name, data), ParseOptions())
    except Rejected as why:
        return why.reason
    return "read"
