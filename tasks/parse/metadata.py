"""Metadata: a document's stated author, dates and language, in the form of the columns; dates are ISO 8601."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

_MAX_CHARACTERS = 500
"""Of an author: a page of contributors is no name, and the column is shown in lists."""
_PART_OF_A_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2}))?(?:[-/.](\d{1,2}))?$")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})((?:[-_](?:[A-Za-z]{4}|[A-Za-z]{2}|\d{3}))*)$")
_ALIKE = {3: str.lower, 4: str.title, 2: str.upper}
_ISO = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?"
    r"(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?[ ]?(?P<zone>Z|[+-]\d\d:?\d\d)?)?\Z"
)
_ORG = re.compile(  # <2021-04-03 Sat 9:30>
    r"[<\[](?P<day>\d{4}-\d\d-\d\d)(?:[ ][^\d\s>\]]+)?(?:[ ](?P<time>\d{1,2}:\d\d))?[^>\]]*[>\]]\Z"
)
_FORMS = ("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d-%B-%Y", "%d. %B %Y", "%Y/%m/%d", "%Y%m%d")
_FORMS_OF_MONTHS = ("%B %Y", "%b %Y", "%B, %Y")
_ZEROS = ("0001-01-01", "1601-01-01", "1899-12-30", "1904-01-01", "1970-01-01")
"""The days from which clocks count. Programs write the first second of one for an unknown time; a day without a time
was stated by a person."""
_FIRST_SECOND = re.compile(rf"(?:{'|'.join(_ZEROS)})T00:00:00(?:\+00:00)?\Z")


@dataclass(frozen=True, slots=True)
class Facts:
    """Author, dates in ISO 8601 and language as BCP 47; each empty if unknown."""

    author: str
    created: str
    modified: str
    lang: str


def facts_of(metadata: Mapping[str, Any]) -> Facts:
    """Return the columns for a document's metadata."""
    return Facts(
        author=_names(metadata.get("author")),
        created=_known_time(metadata.get("created")),
        modified=_known_time(metadata.get("modified")),
        lang=as_language(metadata.get("language")),
    )


def _names(value: Any) -> str:
    """Return one name or several on one line; of a mapping, its `name`."""
    if isinstance(value, Mapping):
        return _names(value.get("name"))
    if isinstance(value, list | tuple):
        return "; ".join(filter(None, map(_names, value)))[:_MAX_CHARACTERS]
    return " ".join(str(value).split())[:_MAX_CHARACTERS] if value else ""


def _known_time(value: Any) -> str:
    found = as_date(value)
    return "" if _FIRST_SECOND.match(found) else found


def as_date(value: Any) -> str:
    """Return a date or a time in ISO 8601, as exact as it was stated."""
    text = " ".join(str(value or "").split())
    if part := _PART_OF_A_DATE.match(text):
        return _date(*part.groups())
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(text).isoformat(timespec="seconds")
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return ""


def _date(year: str, month: str | None, day: str | None) -> str:
    try:
        datetime(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ""
    return "-".join([year, *(part.zfill(2) for part in (month, day) if part)])


def as_language(value: Any) -> str:
    """Return a language tag as `de`, `en-US` or `zh-Hant-TW`."""
    text = str(value[0] if isinstance(value, list | tuple) and value else value or "").strip()
    match = _LANGUAGE.match(text.split(".")[0].split("@")[0])
    if match is None:
        return ""
    more = re.split(r"[-_]", match[2])[1:]
    return "-".join([match[1].lower(), *(_ALIKE[len(part)](part) for part in more)])


def iso_date(written: str) -> str:
    """Return a date in ISO 8601, as exact as it was written, or the text itself if it is no known date.

    Ambiguous dates such as 03/04/2021 are returned unchanged.
    """
    written = " ".join(written.split())
    match = _ISO.match(written)
    if match:
        day = "-".join(filter(None, match.group("year", "month", "day")))
        return f"{day}T{match['time']}{match['zone'] or ''}" if match["time"] else day
    match = _ORG.match(written)
    if match:
        return f"{match['day']}T{match['time']:0>5}" if match["time"] else match["day"]
    return _in_words(written) or written


def with_iso_dates(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata with a document's times in ISO 8601."""
    dates = {name: iso_date(metadata[name]) for name in ("created", "modified") if isinstance(metadata.get(name), str)}
    return metadata | dates


def _in_words(written: str) -> str:
    for forms, shape in ((_FORMS, "%Y-%m-%d"), (_FORMS_OF_MONTHS, "%Y-%m")):
        for form in forms:
            try:
                return datetime.strptime(written, form).strftime(shape)
            except ValueError:
                continue
    try:
        return parsedate_to_datetime(written).isoformat()
    except (ValueError, TypeError, IndexError):
        return ""
