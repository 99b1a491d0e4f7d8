"""Write compound files (MS-CFB), which hold Outlook's messages and old Office documents, for tests and samples."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

_SECTOR, _MINI, _CUTOFF = 512, 64, 4096
_END, _FREE, _NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF
_FAT_SECTOR = 0xFFFFFFFD


@dataclass
class _Entry:
    name: str
    kind: int
    data: bytes = b""
    children: list[int] = field(default_factory=list)
    start: int = _END
    size: int = 0


def compound_file(streams: dict[str, bytes]) -> bytes:
    """Return a container with streams, whose names have their folders before a slash."""
    entries = _entries(streams)
    fat: list[int] = []
    sectors, mini, mini_fat = bytearray(), bytearray(), list[int]()
    for entry in entries[1:]:
        if entry.kind == 2:
            entry.size = len(entry.data)
            small = entry.size < _CUTOFF
            entry.start = _put(entry.data, *((mini, mini_fat, _MINI) if small else (sectors, fat, _SECTOR)))
    entries[0].start, entries[0].size = _put(bytes(mini), sectors, fat, _SECTOR), len(mini)
    mini_at = _put(_packed(mini_fat), sectors, fat, _SECTOR)
    mini_sectors = -(-4 * len(mini_fat) // _SECTOR)
    directory_at = _put(b"".join(map(_record(entries), range(len(entries)))), sectors, fat, _SECTOR, b"\0")
    fat_sectors = -(-(len(fat) + 4) // (_SECTOR // 4 - 1))
    fat_at = len(fat)
    fat += [_FAT_SECTOR] * fat_sectors
    sectors += _packed(fat).ljust(fat_sectors * _SECTOR, b"\xff")
    header = struct.pack("<8s16s6H10I", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 62, 3, 0xFFFE, 9, 6, 0, 0, 0,
                         fat_sectors, directory_at, 0, _CUTOFF, mini_at, mini_sectors, _END, 0)  # fmt: skip
    return header + _packed([*range(fat_at, fat_at + fat_sectors)]).ljust(436, b"\xff") + bytes(sectors)


def _entries(streams: dict[str, bytes]) -> list[_Entry]:
    entries, known = [_Entry("Root Entry", 5)], {"": 0}
    for path, data in streams.items():
        parts = path.split("/")
        for depth, name in enumerate(parts, 1):
            whole, parent = "/".join(parts[:depth]), "/".join(parts[: depth - 1])
            if whole not in known:
                known[whole] = len(entries)
                entries[known[parent]].children.append(len(entries))
                entries.append(_Entry(name, 2, data) if depth == len(parts) else _Entry(name, 1))
    return entries


def _record(entries: list[_Entry]) -> Callable[[int], bytes]:
    siblings: dict[int, int] = {}
    for entry in entries:
        entry.children.sort(key=lambda at: (len(entries[at].name), entries[at].name.upper()))
        siblings |= dict(pairwise(entry.children))

    def record(at: int) -> bytes:
        entry = entries[at]
        name = entry.name.encode("utf-16-le")
        child = entry.children[0] if entry.children else _NONE
        return struct.pack("<64sHBB3I36sIQ", name, len(name) + 2, entry.kind, 1, _NONE, siblings.get(at, _NONE), child,
                           b"", entry.start, entry.size)  # fmt: skip

    return record


def _put(data: bytes, sectors: bytearray, fat: list[int], size: int, fill: bytes = b"\xff") -> int:
    """Append data in sectors that are chained; return the first."""
    count = -(-len(data) // size)
    if not count:
        return _END
    start = len(fat)
    fat += [*range(start + 1, start + count), _END]
    sectors += data.ljust(count * size, fill)
    return start


def _packed(numbers: list[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)
