"""iCalendar: events, tasks and journal entries, each a section with its time, place, people and description."""

import re
from typing import Any

from docmill.storage.schema import Parsed
from docmill.tasks.parse.agenda.content_lines import Property, components, cut_off, properties
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions

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


def parse_calendar(data: bytes, _: ParseOptions) -> Parsed:
    """Return the components of a calendar in the order of the file; alarms and time zones are left out."""
    found = decode(data)
    canvas, count = Canvas(), 0
    lines = list(properties(found.text))
    for component, inside in components(lines, _COMPONENTS):
        _draw(canvas, component, inside)
        count += 1
    calendar = (one for _name, own in components(lines, ("VCALENDAR",)) for one in own)
    title = next((one.text for one in calendar if one.name in ("X-WR-CALNAME", "NAME") and one.text), "")
    return canvas.parsed(title, found.metadata | {"events": count} | cut_off(lines, "a calendar"))


def _draw(canvas: Canvas, component: str, inside: list[Property]) -> None:
    first = {one.name: one for one in reversed(inside)}
    summary = first["SUMMARY"].text if "SUMMARY" in first else ""
    canvas.heading(summary or _COMPONENTS[component], 2)
    canvas.paragraph("\n".join(_body(inside)), kind="text", **_facts(first))
    for one in _notes(inside):
        canvas.paragraph(one.text)


def _body(inside: list[Property]) -> list[str]:
    """Return the lines of a component, those of its people last and not all of very many."""
    lines = [line for line in map(_line, inside) if line]
    people = [line for line in lines if line.startswith(tuple(_PEOPLE.values()))]
    return [line for line in lines if line not in people] + people[:_MAX_PEOPLE]


def _notes(inside: list[Property]) -> list[Property]:
    """Return the properties that are text of their own: the description, then the comments."""
    return [one for name in _NOTES for one in inside if one.name == name]


def _facts(first: dict[str, Property]) -> dict[str, Any]:
    return {"uid": first["UID"].text} if "UID" in first else {}


def _line(one: Property) -> str:
    """Return a property as a line, "" for those that only programs read."""
    if one.name in _TIMES:
        zone = one.parameter("TZID")
        return f"{_TIMES[one.name]}: {_time(one.value)}" + (f" {zone}" if zone else "")
    if one.name in _TEXTS:
        return f"{_TEXTS[one.name]}: {one.text}" if one.text.strip() else ""
    if one.name in _PEOPLE:
        name, address = one.parameter("CN"), _MAILTO.sub("", one.text)
        return f"{_PEOPLE[one.name]}: " + (f"{name} <{address}>" if name and name != address else address)
    return ""


def _time(stated: str) -> str:
    """Return a time as people write it: 2025-02-01 08:30, with UTC behind it where it says so."""

    def written(match: re.Match[str]) -> str:
        year, month, day, hour, minute, _, zone = match.groups()
        clock = f" {hour}:{minute}" if hour else ""
        return f"{year}-{month}-{day}{clock}" + (" UTC" if zone else "")

    return _TIME.sub(written, stated)
