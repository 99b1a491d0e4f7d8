"""Calendars (RFC 5545) and address books (RFC 6350): each event or person is a section with its properties as lines."""

import quopri
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions

_FOLD = re.compile(r"\r?\n[ \t]")
_SOFT_BREAK = re.compile(r"=\r?\n")
_PROPERTY = re.compile(
    r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<parameters>(?:;[^:\"]*(?:\"[^\"]*\"[^:\"]*)*)?):(?P<value>.*)"
)
_ESCAPE = re.compile(r"\\([\\;,:nN\"])")
_QUOTED = "ENCODING=QUOTED-PRINTABLE"
_NOTES = ("DESCRIPTION", "COMMENT")
_COMPONENTS = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Journal entry", "VFREEBUSY": "Busy times"}
_TIMES = {"DTSTART": "Start", "DTEND": "End", "DUE": "Due", "COMPLETED": "Completed", "EXDATE": "Except"}
_TEXTS = {
    "RRULE": "Repeats", "LOCATION": "Place", "STATUS": "Status", "CATEGORIES": "Categories", "URL": "URL",
    "DURATION": "Duration", "PRIORITY": "Priority", "FREEBUSY": "Busy",
}  # fmt: skip
_PEOPLE = {"ORGANIZER": "Organizer", "ATTENDEE": "Attendee", "CONTACT": "Contact"}
_MAX_PEOPLE = 100  # of one event: more are a mailing list
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z?))?")
_MAILTO = re.compile(r"^mailto:", re.IGNORECASE)
_OF_CARDS = {
    "N": "Name", "NICKNAME": "Nickname", "ORG": "Organisation", "TITLE": "Title", "ROLE": "Role", "EMAIL": "E-mail",
    "TEL": "Telephone", "ADR": "Address", "LABEL": "Address", "URL": "URL", "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary", "CATEGORIES": "Categories", "NOTE": "Note", "IMPP": "Messages", "LANG": "Language",
    "RELATED": "Related", "TZ": "Time zone",
}  # fmt: skip
_KINDS = ("home", "work", "cell", "fax", "pager", "main")
_URIS = ("tel:", "mailto:")


class Property(NamedTuple):
    """A property: its name in capitals, its parameters as written, and its value, still escaped."""

    name: str
    parameters: str
    value: str

    @property
    def text(self) -> str:
        """Return the value as text."""
        return _unescaped(self.value)

    @property
    def parts(self) -> list[str]:
        """Return the parts of a structured value, such as those of an address."""
        return [_unescaped(part).strip() for part in re.split(r"(?<!\\);", self.value)]

    def parameter(self, name: str) -> str:
        """Return the value of a parameter, or "" if it is missing."""
        found = re.search(rf";{name}=(\"[^\"]*\"|[^;]*)", self.parameters, re.IGNORECASE)
        return found[1].strip('"') if found else ""


def parse_calendar(data: bytes, _: ParseOptions) -> Parsed:
    """Return the components of a calendar in file order; alarms and time zones are left out."""
    found = decode(data)
    lines, canvas = list(_properties(found.text)), Canvas()
    events = [*_components(lines, _COMPONENTS)]
    for component, inside in events:
        _draw_event(canvas, component, inside)
    calendar = (one for _name, own in _components(lines, ("VCALENDAR",)) for one in own)
    title = next((one.text for one in calendar if one.name in ("X-WR-CALNAME", "NAME") and one.text), "")
    return canvas.parsed(title, found.metadata | {"events": len(events)} | _cut_off(lines, "a calendar"))


def parse_cards(data: bytes, _: ParseOptions) -> Parsed:
    """Return the cards of an address book in file order; pictures, sounds and keys are left out."""
    found = decode(data)
    lines, canvas = list(_properties(found.text)), Canvas()
    cards = [own for _name, own in _components(lines, ("VCARD",))]
    for card in cards:
        named = {one.name: one for one in reversed(card)}
        name = next((_of_card(named[key]) for key in ("FN", "N", "ORG", "EMAIL") if key in named), "")
        canvas.heading(name or "Card", 2)
        written = filter(None, map(_card_line, card))
        canvas.paragraph("\n".join(line for line in written if line != f"Name: {name}"), kind="text")
    return canvas.parsed("", found.metadata | {"cards": len(cards)} | _cut_off(lines, "an address book"))


def _draw_event(canvas: Canvas, component: str, inside: list[Property]) -> None:
    first = {one.name: one for one in reversed(inside)}
    summary = first["SUMMARY"].text if "SUMMARY" in first else ""
    canvas.heading(summary or _COMPONENTS[component], 2)
    facts: dict[str, Any] = {"uid": first["UID"].text} if "UID" in first else {}
    canvas.paragraph("\n".join(_body(inside)), kind="text", **facts)
    for name in _NOTES:
        for one in inside:
            if one.name == name:
                canvas.paragraph(one.text)


def _body(inside: list[Property]) -> list[str]:
    """Return the lines of a component, with people last and limited in number."""
    lines = [line for line in map(_event_line, inside) if line]
    people = [line for line in lines if line.startswith(tuple(_PEOPLE.values()))]
    return [line for line in lines if line not in people] + people[:_MAX_PEOPLE]


def _event_line(one: Property) -> str:
    """Return a property as a line, or "" for properties that only programs read."""
    if one.name in _TIMES:
        zone = one.parameter("TZID")
        return f"{_TIMES[one.name]}: {_TIME.sub(_time, one.value)}" + (f" {zone}" if zone else "")
    if one.name in _TEXTS:
        return f"{_TEXTS[one.name]}: {one.text}" if one.text.strip() else ""
    if one.name in _PEOPLE:
        name, address = one.parameter("CN"), _MAILTO.sub("", one.text)
        return f"{_PEOPLE[one.name]}: " + (f"{name} <{address}>" if name and name != address else address)
    return ""


def _time(stated: re.Match[str]) -> str:
    """Return a time in a readable form, 2025-02-01 08:30, followed by UTC if it is marked as UTC."""
    year, month, day, hour, minute, _, zone = stated.groups()
    clock = f" {hour}:{minute}" if hour else ""
    return f"{year}-{month}-{day}{clock}" + (" UTC" if zone else "")


def _card_line(one: Property) -> str:
    """Return a property as a line, with the purpose of an address or number; "" if only programs read it."""
    value = _of_card(one) if one.name in _OF_CARDS else ""
    kinds = ", ".join(kind for kind in _KINDS if kind in one.parameters.lower())
    return f"{_OF_CARDS[one.name]}{f' ({kinds})' if kinds else ''}: {value}" if value else ""


def _of_card(one: Property) -> str:
    """Return a value as one line, a name in spoken order."""
    if one.name == "N":
        family, given, more, before, after = [*one.parts, "", "", "", "", ""][:5]
        return " ".join(filter(None, (before, given, more, family, after)))
    parts = one.parts if one.name in ("ADR", "ORG") else [one.text]
    text = ", ".join(" ".join(part.split()) for part in parts if part.strip())
    return next((text[len(uri) :] for uri in _URIS if text.lower().startswith(uri)), text)


def _unescaped(value: str) -> str:
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def _properties(text: str) -> Iterator[Property]:
    """Yield the properties of a file in order; other lines are skipped."""
    if "quoted-printable" in text.lower():  # vCard 2.1 breaks such lines as mail does
        text = _SOFT_BREAK.sub("", text)
    for match in filter(None, map(_PROPERTY.match, _FOLD.sub("", text).splitlines())):
        value = match["value"]
        if _QUOTED in match["parameters"].upper():
            value = quopri.decodestring(value.encode()).decode("utf-8", "replace").replace("\r\n", "\\n")
        yield Property(match["name"].upper(), match["parameters"], value)


def _components(lines: Iterable[Property], kinds: Collection[str]) -> Iterator[tuple[str, list[Property]]]:
    """Yield the components of some kinds with their own properties, in the order in which they end.

    Other components within them, such as alarms, are left out; in a truncated file, the last component is read, too.
    """
    wanted, open_, inside = set(kinds), [""], list[Property]()  # "" is the level outside all components
    for one in lines:
        value = one.value.strip().upper()
        if one.name == "BEGIN":
            open_.append(value)
            inside = [] if value in wanted else inside
        elif one.name == "END":
            ended, open_ = open_[-1], open_[:-1] or [""]
            if {ended, value} <= wanted:
                yield value, inside
        elif open_[-1] in wanted:
            inside.append(one)
    if inside:
        yield from [(name, inside) for name in open_ if name in wanted][:1]


def _cut_off(lines: Sequence[Property], what: str) -> dict[str, str]:
    """Return the metadata of a file whose components do not all end; empty for a complete file."""
    begun = sum((line.name == "BEGIN") - (line.name == "END") for line in lines)
    return {"read_as": f"{what} up to where it is cut off"} if begun > 0 else {}
