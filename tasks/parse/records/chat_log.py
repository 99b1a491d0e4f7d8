"""Chat logs (IRC, WhatsApp, Discord), and dumps of messages: the file itself, with an element for every message."""

import re
from collections.abc import Iterator

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.plain import numbered
from docmill.tasks.parse.records.chat_dump import turns_of

_CLOCK = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_DAY = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}[ ]\w{3,9}[ ]\d{4}|\w{3}[ ]\d{1,2})"
_TIME = rf"(?:{_DAY}[T,]?[ ]*)?{_CLOCK}|{_DAY}"
_NAME = r"(?!\*\*)[^\s:<>\[\]][^:<>\[\]\n]{0,39}"
_STAMP = rf"(?:\u200e?[\[(](?P<boxed>{_TIME})[\])]|(?P<time>{_TIME})(?:[ ]-(?=[ ])|[ ]?\|)?)"


def _stamp(number: int) -> str:
    """Return the pattern of a time; its groups are numbered, since group names must be unique."""
    return _STAMP.replace("<boxed>", f"<boxed{number}>").replace("<time>", f"<time{number}>")


# A message's first line: `[01:02] <ann> text`, `01:02 ann: text`, `12/01/24, 10:15 - Ann: text`, `<ann> text`,
# `2024-05-01 01:02:03 ann text` with tabs between the three,
# `[01/02/2024 10:15 AM] Ann#1234` with the text below, `** Ann:** text`; and what someone does: `* ann waves`.
_MESSAGE = re.compile(
    rf"(?:{_stamp(1)}[ \t]*)?<[ @+%~&]?(?P<nick>[^<>\s][^<>\n]{{0,39}})>[ \t]?"
    rf"|{_stamp(2)}[ \t]*\u200e?(?P<name>{_NAME}):(?:[ \t]|$)"
    rf"|{_stamp(3)}[ \t]+\*[ \t](?P<actor>(?!Now )\S{{1,40}})[ ]"
    rf"|{_stamp(5)}\t[ @+%~&]?(?P<tabbed>(?!--|<--|={{2}}|\*\t)[^\s\t]{{1,40}})\t"
    rf"|\[(?P<boxed4>{_DAY}[ ]{_CLOCK})\][ ](?P<author>[^\n:]{{1,40}})$"
    r"|\*\*(?P<bold>[\w .'-]{1,30})(?::\*\*|\*\*:)"
    r"|\*[ ](?P<doer>[^\s*]{1,40})[ ]"
)
_NOTICE = re.compile(rf"(?:{_stamp(1)}[ \t]*)?(?:===|\*\*\*|\*(?=[ \t]Now )|-!-|-->|<--|---?(?=[ \t]))[ ]?|{_stamp(2)}")
_COMING = re.compile(
    r"\b(?:has |have )?(?:joined|left|quit|parted|disconnected|connected|kicked|logged (?:in|out))\b"
    r"|is now known as|sets mode|mode/#|changed (?:the|this) (?:topic|subject|group)|Topic for|added"
    r"|end-to-end encrypted|^--- (?:Log|Day) |\*\*\*\* (?:BEGIN|ENDING) LOGGING|Now talking on"
    r"|\*\*\* (?:Joins|Quits|Parts):",
    re.IGNORECASE,
)
_HEAD = 200
"""Characters of a line within which a message or a notice must begin.

With less, long names are cut from their messages; with no limit, each long line would be searched to its end.
"""
_MAX_SPEAKERS = 200
"""Maximum speakers in the metadata.

A log of years in a public channel has thousands, which no one reads there; every turn still has its own.
"""


def parse_chat(data: bytes, _: ParseOptions) -> Parsed:
    """Return the decoded file, newlines unchanged; messages are turns with `speaker` and, if stated, `time`.

    Lines without a speaker belong to the message above. Notices of who joined and left are furniture.
    """
    found = decode(data)
    elements = tuple(turns_of(found.text) or _messages(found.text))
    speakers = dict.fromkeys(one.attributes["speaker"] for one in elements if one.kind == "turn")
    return Parsed(found.text, elements, "", found.metadata | {"speakers": list(speakers)[:_MAX_SPEAKERS]})


def _messages(text: str) -> Iterator[Element]:
    open_: Element | None = None
    for at, line, number in numbered(text):
        start = at + len(line) - len(line.lstrip())
        end = at + len(line.rstrip())
        begun = _begin(line.strip(), start, end, number)
        if begun is None and open_ is not None and open_.kind == "turn":
            open_ = Element(open_.kind, open_.start_char, end, 0, 0, open_.line, None, open_.attributes)
            continue
        if open_ is not None:
            yield open_
        open_ = begun or Element("text", start, end, 0, 0, number)
    if open_ is not None:
        yield open_


def _stated(message: re.Match[str]) -> dict[str, str]:
    """Return the speaker of a message and, if stated, its time."""
    # Each form of a message has one group for a name, and before it at most one that matches for a time.
    *times, speaker = filter(None, message.groups())
    attributes = {"speaker": speaker.strip()}
    return attributes | {"time": times[0]} if times else attributes


def _begin(line: str, start: int, end: int, number: int) -> Element | None:
    """Return the element that a line begins, or None if it continues the one above."""
    head = line[:_HEAD]
    match = _MESSAGE.match(head)
    if match:
        return Element("turn", start, end, 0, 0, number, None, _stated(match))
    notice = _NOTICE.match(head)
    if notice is None:
        return None
    return Element("furniture" if _COMING.search(head) else "text", start, end, 0, 0, number)
