"""Texts without secrets: messages and links in which no credential is left; without pydantic, as `secret.py` has it."""

import base64
import json
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

HIDDEN = "***"


def without(text: str, values: Iterable[str]) -> str:
    """Return a text in which `***` stands for each of some credentials, as it is and as URLs and messages spell it."""
    for form in sorted({form for value in values for form in _forms(value)}, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def _forms(value: str) -> set[str]:
    packed = base64.b64encode(value.encode()).decode()
    # A message may repeat it as a URL, a Python literal, JSON, or the header of a request has it.
    spelled = {
        value,
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
    }
    return spelled | {packed, packed.rstrip("=")}
