"""iCalendar: events, tasks and journal entries, each a section with its time, place, people and description."""

import re
from collections.abc import Iterator
from typing import Any

from docmill.storage.schema import Parsed
from docmill.tasks.parse.agenda.content_lines import Property, properties
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions

_COMPONENTS = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Journal entry", "VFREEBUSY": "Busy times"}
_TIMES = {"DTSTART": "Start", "DTEND": "End", "DUE": "Due", "COMPLETED": "Completed", "EXDATE": "Except"}
_TEXTS = {
    "RRULE": "Repeats", "LOCATION": "Place", "STATUS": "Status", "CATEGORIES": "Categories", "URL": "URL",
    "DURATION": "Duration", "PRIORITY": "Priority", "FREEBUSY": "Busy",
}  # fmt: skip
_PEOPLE = {"ORGANIZER": "Organizer", "ATTENDEE": "Attendee", "CONTACT": "Contact"}
_SAID = ("DESCRIPTION", "COMMENT")
_MAX_PEOPLE = 100  # of one event: more are a mailing list
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z?))?")
_MAILTO = re.compile(r"^mailto:", re.IGNORECASE)


def parse_calendar(data: bytes, _: ParseOptions) -> Parsed:
    """Return the components of a calendar in the order of the file; alarms and time zones are left out."""
    found = decode(data)
    canvas = Canvas()
    calendar: list[Property] = []
    title, count = "", 0
    for component, inside in _components(properties(found.text), calendar):
        _draw(canvas, component, inside)
        count += 1
    for one in calendar:
        title = title or (one.text if one.name in ("X-WR-CALNAME", "NAME") else "")
    return canvas.parsed(title, found.metadata | {"events": count})


def _components(lines: Iterator[Property], calendar: list[Property]) -> Iterator[tuple[str, list[Property]]]:
    """Yield each component with its own properties; those of the calendar itself are added to `calendar`."""
    open_: list[str] = []
    inside: dict[str, list[Property]] = {}
    for one in lines:
        if one.name == "BEGIN":
            open_.append(one.value.strip().upper())
            inside[open_[-1]] = calendar if open_[-1] == "VCALENDAR" else []
        elif one.name == "END":
            yield from _closed(open_, inside)
        elif open_:
            inside[open_[-1]].append(one)
    while open_:  # in a file that was cut off
        yield from _closed(open_, inside)


def _closed(open_: list[str], inside: dict[str, list[Property]]) -> Iterator[tuple[str, list[Property]]]:
    """Close the innermost component; yield it if it is one that is drawn."""
    name = open_.pop() if open_ else ""
    if name in _COMPONENTS:
        yield name, inside[name]


def _draw(canvas: Canvas, component: str, inside: list[Property]) -> None:
    first = {one.name: one for one in reversed(inside)}
    summary = first["SUMMARY"].text if "SUMMARY" in first else ""
    canvas.heading(summary or _COMPONENTS[component], 2)
    # People come last, for of some events they are hundreds.
    ordered = sorted(inside, key=lambda one: one.name in _PEOPLE)[: len(inside) - _surplus(inside)]
    canvas.paragraph("\n".join(filter(None, map(_line, ordered))), kind="text", **_facts(first))
    for one in inside:
        if one.name in _SAID:
            canvas.paragraph(one.text)


def _surplus(inside: list[Property]) -> int:
    return max(sum(one.name in _PEOPLE for one in inside) - _MAX_PEOPLE, 0)


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
