"""Dates as people and programs write them, in ISO 8601."""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime

_ISO = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?[ ]?(Z|[+-]\d\d:?\d\d)?)?\Z")
_ORG = re.compile(r"[<\[](\d{4}-\d\d-\d\d)(?:[ ][^\d\s>\]]+)?(?:[ ](\d{1,2}:\d\d))?[^>\]]*[>\]]\Z")
_FORMS = ("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d-%B-%Y", "%d. %B %Y", "%Y/%m/%d", "%Y%m%d")
_FORMS_OF_MONTHS = ("%B %Y", "%b %Y", "%B, %Y")


def iso_date(written: str) -> str:
    """Return a date in ISO 8601, as exact as it was written; what is no date that can be told, as it is.

    Dates such as 03/04/2021, of which nobody knows which number is the month, stay as they are.
    """
    written = " ".join(written.split())
    match = _ISO.match(written)
    if match:
        day = "-".join(filter(None, match.group(1, 2, 3)))
        return f"{day}T{match[4]}{match[5] or ''}" if match[4] else day
    match = _ORG.match(written)
    if match:
        return f"{match[1]}T{match[2]:0>5}" if match[2] else match[1]
    return _in_words(written) or written


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
