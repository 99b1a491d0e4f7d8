"""Declared metadata: typed values of the [metadata] keys for one document, with warnings for values that do not fit.

For each key the nearest value counts: first the metadata given next to the document, then its front matter, then its
other metadata, such as document properties and mail headers. In the file, the case of a key does not matter.
"""

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NamedTuple

from docmill.storage.stated_metadata import ACCESS, PROBLEMS, Record, record_of, record_text
from docmill.storage.timestamps import instant
from docmill.tasks.parse.metadata import as_date

_SHOWN = 60  # characters of a value in a warning
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""Spellings of truth values; databases without a boolean type have 1 and 0."""


class Declared(NamedTuple):
    """The columns `declared` and `metadata_warnings` of a document."""

    values: str
    warnings: tuple[str, ...]


def declared_of(keys: Mapping[str, str], metadata: str, described: str) -> Declared:
    """Return the values of `keys`, which maps names to types, given the metadata columns of a document.

    A value that does not fit its type is left out, with a warning.
    """
    beside = record_of(described)
    own = json.loads(metadata or "{}") if keys or ACCESS in metadata else {}
    warnings = [*beside.get(PROBLEMS, ()), *_ignored(keys, beside, own)]
    values: dict[str, Any] = {}
    for key, kind in keys.items():
        found = _found(key, beside, own)
        value = None if found is None else _CONVERTED[kind](found)
        if value is not None:
            values[key] = value
        elif found is not None:
            warnings.append(f"metadata.{key}: {json.dumps(found, ensure_ascii=False)[:_SHOWN]} is no {_SPELLED[kind]}")
    return Declared(record_text(values), tuple(warnings))


def _ignored(keys: Mapping[str, str], beside: Record, own: Mapping[str, Any]) -> list[str]:
    """Return the warning of a front matter that names who may see its document: its writer does not decide that."""
    front = own.get("front_matter")
    if ACCESS in keys or not isinstance(front, Mapping) or ACCESS not in front:
        return []
    stated = front[ACCESS] if isinstance(front[ACCESS], list) else [front[ACCESS]]
    if stated == beside.get(ACCESS):
        return []
    return [f"{ACCESS} in the front matter does not count; write it into a sidecar or a _metadata.toml"]


def _found(key: str, beside: Record, own: Mapping[str, Any]) -> Any:
    """Return the nearest value of a key, or None; an empty text counts as no value."""
    front = own.get("front_matter")
    for record in (beside, front if isinstance(front, Mapping) else {}, own):
        value = record.get(key)
        if value is None and record is not beside:
            value = next((one for name, one in record.items() if name.lower() == key.lower()), None)
        if value not in (None, ""):
            return value
    return None


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else _TRUTHS.get(str(value).lower())


def _time(value: Any) -> str | None:
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    found = instant(as_date(value))
    return found.isoformat() if found else None


def _date(value: Any) -> str | None:
    """Return the day as written, whatever its time zone; for a month or a year, its first day."""
    time = as_date(value)[:10] if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return found[:10] if (found := _time(time)) else None


def _list(value: Any) -> list[str] | None:
    found = [_text(one) for one in (value if isinstance(value, list) else [value])]
    return None if None in found else [one for one in found if one is not None]


_CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "text": _text, "number": _number, "bool": _truth, "date": _date, "time": _time, "list": _list,
}  # fmt: skip
_SPELLED = {
    "text": "text", "number": "number", "bool": "truth value", "date": "date", "time": "time", "list": "list of texts",
}  # fmt: skip
