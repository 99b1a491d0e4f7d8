"""Mail: messages of the internet and of Outlook, and what is attached to them."""

import re
from collections.abc import Iterator

from storage.errors import Rejected
from tasks.parse.letter import Letter, unique_names
from tasks.parse.mime import read_mime
from tasks.parse.outlook import read_outlook

_ENVELOPE = re.compile(rb"(?:\A|(?<=\n)\r?\n)From [^\r\n]{1,200} (?:19|20)\d\d\r?\n")


def attachments(data: bytes, file_format: str) -> list[tuple[str, bytes]]:
    """Return the attachments of a mail of format "eml", "msg" or "mbox", in order.

    Names are safe and distinct, without folders; an enclosed message is an `.eml` file. A mail that
    cannot be read, or an encrypted one, has none.
    """
    try:
        found = [attached for letter in _letters(data, file_format) for attached in letter.attached]
    except Rejected:
        return []
    return unique_names(found)


def _letters(data: bytes, file_format: str) -> Iterator[Letter]:
    if file_format == "mbox":
        yield from map(read_mime, messages_of(data))
    else:
        yield (read_outlook if file_format == "msg" else read_mime)(data)


def messages_of(data: bytes) -> list[bytes]:
    """Return the messages of an mbox file, cut at lines such as `From ann Mon Jun 01 10:00:00 2009`."""
    cuts = [(found.start(), found.end()) for found in _ENVELOPE.finditer(data)]
    ends = [start for start, _ in cuts[1:]] + [len(data)]
    return [data[begin:end].replace(b"\n>From ", b"\nFrom ") for (_, begin), end in zip(cuts, ends, strict=True)]
