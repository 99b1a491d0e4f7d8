"""Write Outlook's messages (MS-OXMSG), for tests and samples."""

import struct
from collections.abc import Sequence

from tests.kit.writers.compound import compound_file

SUBJECT, BODY, HTML, SENDER, SENDER_MAIL = 0x0037, 0x1000, 0x1013, 0x0C1A, 0x0C1F
NAME, MAIL, KIND, LONG_FILE, CONTENT, SENT = 0x3001, 0x39FE, 0x0C15, 0x3707, 0x3701, 0x0039
CODEPAGE = 0x3FFD
Properties = dict[int, str | bytes | int]


def message(
    properties: Properties,
    receivers: Sequence[Properties] = (),
    attached: Sequence[Properties | dict[str, bytes]] = (),
    header: int = 32,
    charset: str = "",
) -> dict[str, bytes]:
    """Return the streams of a message; what is attached is a file's properties or another message's streams."""
    streams = _streams(properties, header, charset)
    for number, receiver in enumerate(receivers):
        own = _streams(receiver, 8, charset)
        streams |= {f"__recip_version1.0_#{number:08X}/{name}": data for name, data in own.items()}
    for number, one in enumerate(attached):
        folder = f"__attach_version1.0_#{number:08X}"
        if all(isinstance(name, int) for name in one):
            own = _streams(one, 8, charset)  # type: ignore[arg-type]
        else:
            own = {f"__substg1.0_{CONTENT:04X}000D/{name}": data for name, data in one.items()}  # type: ignore[misc]
            own["__properties_version1.0"] = b"\0" * 8
        streams |= {f"{folder}/{name}": data for name, data in own.items()}
    return streams


def as_file(streams: dict[str, bytes]) -> bytes:
    """Return a message's streams as a .msg file."""
    return compound_file(streams)


def _streams(properties: Properties, header: int, charset: str) -> dict[str, bytes]:
    table, streams = b"\0" * header, dict[str, bytes]()
    for number, value in properties.items():
        if isinstance(value, int):
            kind = 0x0040 if number == SENT else 0x0003
            table += struct.pack("<HHIQ", kind, number, 6, value)
            continue
        if isinstance(value, str):
            kind, value = (0x001E, value.encode(charset)) if charset else (0x001F, value.encode("utf-16-le"))
        else:
            kind = 0x0102
        table += struct.pack("<HHIII", kind, number, 6, len(value), 0)
        streams[f"__substg1.0_{number:04X}{kind:04X}"] = value
    return streams | {"__properties_version1.0": table}
