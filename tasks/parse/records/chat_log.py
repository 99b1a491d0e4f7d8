"""Chat logs (IRC, WhatsApp, Discord), and dumps of messages: the file itself, with an element for every message."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.plain_text import numbered

_CLOCK = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_DAY = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}[ ]\w{3,9}[ ]\d{4}|\w{3}[ ]\d{1,2})"
_TIME = rf"(?:{_DAY}[T,]?[ ]*)?{_CLOCK}|{_DAY}"
_NAME = r"(?!\*\*)[^\s:<>\[\]][^:<>\[\]\n]{0,39}"
_STAMP = rf"(?:\u200e?[\[(](?P<boxed>{_TIME})[\])]|(?P<time>{_TIME})(?:[ ]-(?=[ ])|[ ]?\|)?)"
Line = tuple[int, str, int]
"""The start of a line, its text, and its number."""

_FIELD_NAME = r"(?:\*\*|[\"'])?(?P<key>[A-Za-z][\w ]{1,20}?)[\"']?(?:\*\*)?[ \t]*[:=](?:\*\*)?"
_FIELD = re.compile(rf"[ \t]*(?P<bullet>-[ \t]+)?(?P<name>{_FIELD_NAME})[ \t]*(?:[|>][+-]?[ \t]*$)?")
_KINDS = (
    dict.fromkeys(("role", "speaker", "from", "sender", "user", "username"), "speaker")
    | dict.fromkeys(("content", "text", "message", "body", "msg"), "text")
    | dict.fromkeys(("timestamp", "date", "time", "created_at", "sent_at", "datetime"), "time")
)
"""Fields by their names. `name`, `author` and `value` are not used, as lists of settings and quotations have them."""
_ROLES = frozenset({"user", "assistant", "human", "ai", "bot", "system", "tool", "function", "model", "gpt", "chatgpt"})
"""Speakers whose names alone show that someone is talking with a model."""
_ROLE = rf"(?P<role>{'|'.join(sorted(_ROLES, key=len, reverse=True))})"
_ROLE_HEAD = re.compile(
    rf"(?P<sign><\|im_start\|>|<\|start_header_id\|>|<\||\[|\*\*)?{_ROLE}"
    r"(?(sign)(?:<\|end_header_id\|>|\|>|\]:?|:\*\*|\*\*:)?|:)(?=\s|$)",
    re.IGNORECASE,
)
"""The line above a message, or its beginning: `<|im_start|>user`, `[USER]`, `User:`, `**Assistant:** Hello`."""
_PEOPLE = frozenset({"user", "human"})
"""Those who talk with a model: lists of fields have "Model:" and "System:", but hardly ever these as well."""
_SIGNS = re.compile(r"<\|(?:im_start|im_end|start_header_id|end_header_id|eot_id|begin_of_text|endoftext|end)\|>")
_RULE = re.compile(r"[-=*_#]{3,}[ \t]*\Z")
_BEFORE = 12
"""Maximum lines before the first message, such as the name of a model; a page that shows an example has more."""
_FEWEST = 2
_REPEATED = 2
"""Minimum turns of one role in a dump with lines such as `User:`; settings have a section `[user]` only once."""
_WHOLE = 0.8
"""The share of messages that must have a speaker and a text, as in JSON."""


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
"""Characters of a line within which a message or a notice must begin. With less, long names are cut from their
messages; with no limit, each long line would be searched to its end."""
_MAX_SPEAKERS = 200
"""Maximum speakers in the metadata. A log of years in a public channel has thousands, which no one reads there; every
turn still has its own speaker."""


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
    # Each form of a message has one group for a name, preceded by at most one matching group for a time.
    *times, speaker = filter(None, message.groups())
    attributes = {"speaker": speaker.strip()}
    return attributes | {"time": times[0]} if times else attributes


def _begin(line: str, start: int, end: int, number: int) -> Element | None:
    """Return the element that begins at a line, or None if the line continues the element above."""
    head = line[:_HEAD]
    match = _MESSAGE.match(head)
    if match:
        return Element("turn", start, end, 0, 0, number, None, _stated(match))
    notice = _NOTICE.match(head)
    if notice is None:
        return None
    return Element("furniture" if _COMING.search(head) else "text", start, end, 0, 0, number)


class _Message(NamedTuple):
    lines: Sequence[Line]
    speaker: str
    time: str
    marks: tuple[int, ...]
    """Starts and ends of markup, alternating, as offsets in the document."""


def turns_of(text: str) -> list[Element]:
    """Return the turns of a text that is a dump of messages, after one element for the text before; else nothing."""
    lines = list(numbered(text))
    for read in (_by_fields, _by_heads):
        first, messages = read(lines)
        if messages:
            return [*_before(lines[:first]), *map(_turn, messages)]
    return []


def _before(lines: Sequence[Line]) -> Iterator[Element]:
    if lines:
        at, _, number = lines[0]
        last, end, _ = lines[-1]
        yield Element("text", at, last + len(end.rstrip()), 0, 0, number)


def _turn(message: _Message) -> Element:
    """Return a message as an element, without a rule that separates it from the next one."""
    lines = list(message.lines)
    while len(lines) > 1 and _RULE.match(lines[-1][1].lstrip()):
        lines.pop()
    (at, first, number), (last, end, _) = lines[0], lines[-1]
    start = at + len(first) - len(first.lstrip())
    told = {"speaker": message.speaker} | ({"time": message.time} if message.time else {})
    marks = [place - start for place in message.marks]
    return Element("turn", start, last + len(end.rstrip()), 0, 0, number, None, told | {"marks": marks})


def _by_fields(lines: Sequence[Line]) -> tuple[int, list[_Message]]:
    """Return where the first message begins, and the messages, if each begins with the same field."""
    begins = [_opening(line) for _, line, _ in lines]
    opening = _repeated(begins)
    starts = [i for i, begin in enumerate(begins) if begin and begin == opening]
    if len(starts) < _FEWEST or starts[0] > _BEFORE:
        return 0, []
    spans = zip(starts, [*starts[1:], len(lines)], strict=True)
    messages = [_message(lines[first:last]) for first, last in spans]
    return starts[0], messages if _is_conversation(messages) else []


def _opening(line: str) -> tuple[int, bool, str] | None:
    """Return the column, bullet and kind of a field if a message may begin with this line."""
    match = _FIELD.match(line)
    kind = _KINDS.get(match["key"].lower()) if match else None
    return (match.start("name"), bool(match["bullet"]), kind) if match and kind else None


def _repeated(begins: Sequence[tuple[int, bool, str] | None]) -> tuple[int, bool, str] | None:
    """Return the field that begins messages: the first one among those in most messages."""
    counts = Counter(filter(None, begins))
    most = max(counts.values(), default=0)
    return next((one for one in begins if one and 2 * counts[one] > most), None)


def _message(lines: Sequence[Line]) -> _Message:
    """Return the message in some lines; it has no speaker if they are not a message."""
    column, said, marks = -1, dict[str, str](), list[int]()
    for at, line, _ in lines:
        match = _FIELD.match(line)
        column = match.start("name") if match and column < 0 else column
        if match is None or match.start("name") != column:
            if "text" not in said:
                break
            continue
        kind = _KINDS.get(match["key"].lower(), "")
        if kind and kind not in said and not said.keys() >= {"speaker", "text"}:
            said[kind] = line[match.end() :].strip(" \t\"',*")
            marks += [at + match.start(), at + match.end()]
    speaker = said.get("speaker", "") if "text" in said else ""
    return _Message(lines, speaker, said.get("time", ""), tuple(marks))


def _is_conversation(messages: Sequence[_Message]) -> bool:
    """Return whether nearly all messages have a speaker, and all speakers are roles or some speak again."""
    speakers = [one.speaker.lower() for one in messages if one.speaker]
    if len(speakers) < max(_FEWEST, _WHOLE * len(messages)):
        return False
    return set(speakers) <= _ROLES or 1 < len(set(speakers)) < len(speakers)


def _by_heads(lines: Sequence[Line]) -> tuple[int, list[_Message]]:
    """Return where the first message begins, and the messages, if there is a line with a role above each."""
    heads = [(i, match) for i, (_, line, _) in enumerate(lines) if (match := _ROLE_HEAD.match(line))]
    if not heads or heads[0][0] > _BEFORE or not _are_talking([match["role"].lower() for _, match in heads]):
        return 0, []
    ends = [*(i for i, _ in heads[1:]), len(lines)]
    return heads[0][0], [_headed(lines[i:end], match) for (i, match), end in zip(heads, ends, strict=True)]


def _are_talking(roles: Sequence[str]) -> bool:
    """Return whether both a person and a model speak, one of them more than once."""
    counts = Counter(roles)
    return len(counts) >= _FEWEST and max(counts.values()) >= _REPEATED and bool(counts.keys() & _PEOPLE)


def _headed(lines: Sequence[Line], head: re.Match[str]) -> _Message:
    signs = ((at + own.start(), at + own.end()) for at, line, _ in lines for own in _SIGNS.finditer(line))
    return _Message(lines, head["role"].lower(), "", tuple(place for sign in signs for place in sign))
