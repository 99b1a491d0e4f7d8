"""JSON text: values of rows, hits and reports as JSON that every reader takes."""

import json
import math
import re
from decimal import Decimal
from typing import Any

_HALVES = re.compile("[\ud800-\udfff]")  # characters that UTF-8 cannot write and JSON can


def json_text(value: Any) -> str:
    """Return a value as JSON on one line; bytes are written in hexadecimal digits, other strange values as text."""
    text = json.dumps(finite(value), ensure_ascii=False, default=lambda v: v.hex() if isinstance(v, bytes) else str(v))
    return _HALVES.sub(escaped, text)


def escaped(found: re.Match[str]) -> str:
    """Return a character as an escape of JSON."""
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
