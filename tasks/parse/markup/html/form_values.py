"""Form values: what the controls of a page state, as words in their places.

Only controls that a reader cannot change state something, such as the boxes of a list of tasks. The others ask, and
their values are defaults and hints.
"""

import re
from typing import Any

CONTROLS = re.compile(r"<(?:input|textarea|select)\b[^>]*\b(?:disabled|readonly)\b", re.IGNORECASE)
_WRITTEN = frozenset(("", "text", "number", "date", "datetime-local", "month", "week", "time", "email", "tel", "url"))
"""Types of inputs whose values people write; the values of others are a program's, or secret."""
_TO_COPY = re.compile(r"<|://")  # addresses and code that a page offers
_TICKED, _EMPTY = "☒", "☐"  # as in Word and PDF


def show_form_values(root: Any) -> None:
    """Replace controls that state something by their words."""
    for control in list(root.iter("input", "textarea", "select")):
        value = " ".join(_value(control).split()) if {"disabled", "readonly"} & set(control.attrib) else ""
        if value and not _TO_COPY.search(value):
            tail = control.tail
            control.clear()
            control.tag, control.text, control.tail = "span", f" {value} ", tail


def _value(control: Any) -> str:
    if control.tag == "textarea":
        return "".join(control.itertext())
    if control.tag == "select":
        chosen = control.xpath(".//option[@selected]")
        return ", ".join("".join(one.itertext()).strip() for one in chosen)
    kind = (control.get("type") or "").strip().lower()
    if kind in ("checkbox", "radio"):
        return _EMPTY if control.get("checked") is None else _TICKED
    return control.get("value") or "" if kind in _WRITTEN else ""
