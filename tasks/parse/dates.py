"""Dates: convert dates written by people and programs to ISO 8601."""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

_ISO = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?"
    r"(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?[ ]?(?P<zone>Z|[+-]\d\d:?\d\d)?)?\Z"
)
_ORG = re.compile(  # <2021-04-03 Sat 9:30>
    r"[<\[](?P<day>\d{4}-\d\d-\d\d)(?:[ ][^\d\s>\]]+)?(?:[ ](?P<time>\d{1,2}:\d\d))?[^>\]]*[>\]]\Z"
)
_FORMS = ("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d-%B-%Y", "%d. %B %Y", "%Y/%m/%d", "%Y%m%d")
_FORMS_OF_MONTHS = ("%B %Y", "%b %Y", "%B, %Y")


def iso_date(written: str) -> str:
    """Return a date in ISO 8601, as exact as it was written, or the text itself if it is not a known date.

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
    """Return metadata with the times of a document in ISO 8601."""
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
