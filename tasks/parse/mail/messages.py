"""Mail messages: from the internet and from Outlook, alone and in mailboxes, with their attachments."""

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from mmap import mmap
from pathlib import Path
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.external_programs import last_line, run_program
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.mail.body import draw_body
from docmill.tasks.parse.mail.mime import Letter, is_icon, read_mime, unique_names
from docmill.tasks.parse.mail.outlook import read_outlook
from docmill.tasks.parse.metadata import as_date

_ENVELOPE = re.compile(rb"(?:\A|(?<=\n)\r?\n)From [^\r\n]{1,200} (?:19|20)\d\d\r?\n")
_LENGTH = re.compile(rb"\s*(\d{1,10})\s*?\n")
_ID = re.compile(r"<[^<>\s]{1,990}>")  # a header line has at most 998 characters
_SHOWN = {"from": "From", "to": "To", "cc": "Cc", "date": "Date"}
_MAX_SHOWN = 1_000
"""Characters of a shown header line: a mail to a hundred people would otherwise be a page of addresses."""
_MAX_STORE = ParseOptions().max_unpacked_bytes  # if nobody states another limit
_MAX_DATE = 100
"""Characters of a date: every form is shorter, even with a comment after it."""
_TIMEOUT_S = 300.0  # a file of 2 MB takes 0.02 s, so gigabytes take minutes; a damaged file may take for ever
_MAILS = "mbox"
_OTHERS = {"calendar": ".ics", "contacts": ".vcf", "journal": ".ics"}
"""Names of files that readpst writes next to a folder's mails, with the suffix for their content."""
_SKIPPED = re.compile(r"items done, (\d+) items skipped")
_OPTIONS = ("-r", "-8", "-b", "-j", "0")
"""A file for each folder; text in UTF-8; no RTF copies of the text; one process, because there is a worker per core.
"""


def parse_mail(data: bytes, _: ParseOptions) -> Parsed:
    """Return an internet message: its subject as a heading, sender, recipients and date, and its text.

    Quoted history has the kind `quote`, a signature is furniture. Attachments are only named.
    """
    return _parsed(read_mime(data))


def parse_apple_mail(data: bytes, _: ParseOptions) -> Parsed:
    """Return an Apple Mail message, drawn like any other mail."""
    parsed = _parsed(read_mime(_apple_message(data)))
    stated = _LENGTH.match(data)
    if stated is None or stated.end() + int(stated[1]) <= len(data):
        return parsed
    return replace(parsed, metadata=parsed.metadata | {"read_as": "a message up to where it is cut off"})


def parse_outlook(data: bytes, _: ParseOptions) -> Parsed:
    """Return an Outlook message, drawn like an internet mail."""
    return _parsed(read_outlook(data))


def parse_mbox(data: bytes, _: ParseOptions) -> Parsed:
    """Return the messages of an mbox file, each a section with its number as page; a single one is read as a mail."""
    letters = list(_letters(data, "mbox"))
    # Mail programs also save a single message in this format; it should look like any other mail.
    if len(letters) == 1:
        return _parsed(letters[0])
    canvas = Canvas()
    for number, letter in enumerate(letters, 1):
        canvas.page = number
        canvas.heading(letter.head.get("subject") or f"Message {number}", 1)
        _draw(canvas, letter)
    return canvas.parsed(metadata={"messages": len(letters)})


def parse_outlook_store(data: bytes, options: ParseOptions) -> Parsed:
    """Return the mails of an Outlook data file: a section for each folder, and in it a section for each mail.

    Calendars and contacts are not part of it; they are files next to its attachments.
    """
    store = read_store(data, options.max_unpacked_bytes)
    canvas = Canvas()
    numbers = count(1)
    for folder in store.folders:
        canvas.heading(" / ".join(folder.names[1:] or folder.names), 1)
        for message in messages_of(folder.mails):
            letter, canvas.page = read_mime(message), next(numbers)
            canvas.heading(letter.head.get("subject") or f"Message {canvas.page}", 2)
            _draw(canvas, letter)
    metadata: dict[str, Any] = {"messages": next(numbers) - 1}
    if store.skipped:
        metadata["read_as"] = f"a mailbox without {store.skipped} items that readpst could not read"
    return canvas.parsed(store.folders[0].names[0] if store.folders else "", metadata)


def _parsed(letter: Letter) -> Parsed:
    canvas = Canvas()
    canvas.heading(letter.head.get("subject", ""), 1)
    _draw(canvas, letter)
    if letter.encrypted and not letter.bodies:
        raise Rejected("encrypted", f"a mail encrypted with its receiver's key ({letter.encrypted}); save it decrypted")
    return canvas.parsed(letter.head.get("subject", ""), _metadata(letter))


def _draw(canvas: Canvas, letter: Letter) -> None:
    shown = [f"{label}: {_short(letter.head[name])}" for name, label in _SHOWN.items() if letter.head.get(name)]
    names = [name for name, _ in unique_names(letter.attached)]
    if names:
        shown.append(f"Attachments: {_short(', '.join(names))}")
    canvas.paragraph("\n".join(shown))
    for options in letter.bodies:
        draw_body(canvas, options, letter.shown_picture)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + " …"


def _metadata(letter: Letter) -> dict[str, Any]:
    head = letter.head
    found: dict[str, Any] = {name: head.get(name, "") for name in ("subject", "from", "to", "cc", "keywords")}
    found["author"] = _person(head.get("from", ""))
    found["created"] = as_date(head.get("date", "")[:_MAX_DATE])
    found["language"] = head.get("content-language", "").partition(",")[0]
    found["message_id"], found["in_reply_to"] = head.get("message-id", ""), head.get("in-reply-to", "")
    found["thread"] = _thread(head)
    found["attachments"] = [name for name, _ in unique_names(letter.attached)]
    found["undecodable_bytes"] = letter.damage
    return {name: value for name, value in found.items() if value}


def _thread(head: dict[str, str]) -> str:
    """Return the id of the mail that began a mail's thread, as far as its header says."""
    named = (_ID.search(head.get(name, "")) for name in ("references", "in-reply-to", "message-id"))
    return next((found[0] for found in named if found), "")


def _person(address: str) -> str:
    name = address.partition("<")[0].strip(" \"'")
    return name or address.strip("<> ")


def attachments(
    data: bytes, file_format: str, most: int = _MAX_STORE, pictures: bool = False
) -> list[tuple[str, bytes]]:
    """Return the attachments of a mail in one of the mail formats, in order.

    Names are safe and distinct, without folders; an enclosed message is an `.eml` file. Calendars and contacts of
    Outlook data files follow, and with `pictures` the pictures that the text shows. Pictures too small for a word are
    left out. A mail that is encrypted or cannot be read has none. `most` limits the bytes in a data file.
    """
    try:
        if file_format == "pst":
            store = read_store(data, most)
            letters = [read_mime(mail) for folder in store.folders for mail in messages_of(folder.mails)]
        else:
            store, letters = None, list(_letters(data, file_format))
        found = [*_attached(letters), *(store.others if store else ()), *(_pictures(letters) if pictures else ())]
        return unique_names(one for one in found if not is_icon(one[1]))
    except Rejected as why:
        if why.reason == "not_installed":  # once it is installed, there may be some
            raise
        return []


def _attached(letters: Iterable[Letter]) -> Iterator[tuple[str, bytes]]:
    return (attached for letter in letters for attached in letter.attached)


def _pictures(letters: Iterable[Letter]) -> Iterator[tuple[str, bytes]]:
    return ((shown.name, shown.data) for letter in letters for shown in letter.pictures)


def _letters(data: bytes, file_format: str) -> Iterator[Letter]:
    if file_format == "mbox":
        yield from map(read_mime, messages_of(data))
    elif file_format == "emlx":
        yield read_mime(_apple_message(data))
    else:
        yield (read_outlook if file_format == "msg" else read_mime)(data)


def _apple_message(data: bytes) -> bytes:
    """Return the message in an Apple Mail file, which begins with its length; a property list follows it."""
    stated = _LENGTH.match(data)
    return data[stated.end() : stated.end() + int(stated[1])] if stated else data


def messages_of(data: bytes) -> list[bytes]:
    """Return the messages of an mbox file."""
    return [unquoted(data[begin:end]) for begin, end in cuts_of(data)]


def cuts_of(data: bytes | mmap) -> list[tuple[int, int]]:
    """Return where each message of an mbox file begins and ends.

    They are separated by lines such as `From ann Mon Jun 01 10:00:00 2009`, which belong to no message.
    """
    cuts = [(found.start(), found.end()) for found in _ENVELOPE.finditer(data)]
    ends = [*(start for start, _ in cuts), len(data)][1:]
    return [(begin, end) for (_, begin), end in zip(cuts, ends, strict=True)]


def unquoted(message: bytes) -> bytes:
    """Return a message of an mbox file, unquoting lines that look like the start of a message."""
    return message.replace(b"\n>From ", b"\nFrom ")


@dataclass(frozen=True, slots=True)
class MailFolder:
    """A folder of mails: its name with those of its parents, outermost first, and its mails as an mbox file."""

    names: tuple[str, ...]
    mails: bytes


@dataclass(frozen=True, slots=True)
class OutlookStore:
    """The content of a data file: mail folders, calendars and contacts as files, and the number of unreadable items."""

    folders: list[MailFolder]
    others: list[tuple[str, bytes]]
    skipped: int


def read_store(data: bytes, most: int) -> OutlookStore:
    """Return the folders of a data file; raise Rejected `not_installed`, `timeout`, `corrupt`, `crashed`, `too_large`.

    `most` limits the bytes of its whole content.
    """
    program = shutil.which("readpst")
    if program is None:
        raise Rejected("not_installed", "Outlook's data files (.pst, .ost) need readpst: install pst-utils")
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        source, made = Path(name, "store.pst"), Path(name, "out")
        source.write_bytes(data)
        made.mkdir()
        done = run_program("readpst", [program, *_OPTIONS, "-o", str(made), str(source)], Path(name), _TIMEOUT_S)
        said = f"{done.output}\n{done.errors}"
        if done.status:
            raise Rejected("corrupt", f"readpst cannot read it: {last_line(said) or 'it gives no reason'}")
        files = sorted(path for path in made.rglob("*") if path.is_file() and not path.is_symlink())
        size = sum(path.stat().st_size for path in files)
        if size > most:
            raise Rejected("too_large", f"the data file holds {size} bytes of mail, the limit is {most}")
        return OutlookStore(list(_folders(files, made)), list(_others(files)), sum(map(int, _SKIPPED.findall(said))))


def _folders(files: list[Path], made: Path) -> Iterator[MailFolder]:
    for path in files:
        if path.name == _MAILS:
            yield MailFolder(path.parent.relative_to(made).parts, path.read_bytes())


def _others(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    for path in files:
        if path.name in _OTHERS:
            yield path.name + _OTHERS[path.name], path.read_bytes()
