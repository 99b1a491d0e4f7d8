"""JSON text: write values of rows, hits and reports as JSON that every reader accepts."""

import json
import math
import re
from decimal import Decimal
from typing import Any

_LINE_ENDS = "\x85\u2028\u2029"  # JSON permits them in a text, but `str.splitlines` cuts lines of JSON there
_UNSAFE = re.compile(f"[{_LINE_ENDS}\ud800-\udfff]")  # and lone surrogates, which UTF-8 cannot encode


def json_text(value: Any) -> str:
    """Return a value as JSON on one line; bytes are written in hexadecimal digits, other unknown types as text."""
    try:
        text = _encoded(value)
    except ValueError:  # there is NaN or infinity; checking each number first would take longer than all the rest
        text = _encoded(finite(value))
    try:
        text.encode()
    except UnicodeEncodeError:
        return _UNSAFE.sub(escaped, text)
    return _UNSAFE.sub(escaped, text) if any(end in text for end in _LINE_ENDS) else text


def _encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return a JSON value for a value of a type that JSON lacks."""
    if isinstance(value, Decimal):
        return finite(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def escaped(found: re.Match[str]) -> str:
    """Return a character as a JSON escape."""
    return f"\\u{ord(found.group()):04x}"


def finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON lacks, by null, and convert decimals to numbers."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list | tuple) else value
