"""Request errors: explain what is wrong with a request: the place, what would be right, and the value."""

from collections.abc import Iterable, Mapping
from typing import Any

_RIGHT = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "literal_error": "{expected}",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text",
    "string_unicode": "a text of whole characters",
    "dict_type": "an object of JSON",
}
"""What a value must be, by kind of error; the names in braces are pydantic's."""
_WHOLE = {
    "missing": "{place} is missing",
    "extra_forbidden": "there is no {place} here",
    "json_invalid": "the body is not JSON: {error}",
    "string_too_long": "{place} must have at most {max_length} characters, got {length}",
    "too_long": "{place} must have at most {max_length} entries, got {actual_length}",
    "model_attributes_type": "the body must be an object of JSON, sent as Content-Type: application/json",
}
_LONGEST = 80  # characters of a value that are shown


def in_words(errors: Iterable[Mapping[str, Any]]) -> str:
    """Return what is wrong with a request, from its validation errors; the alternatives for a value are joined."""
    rights: dict[tuple[str, str], list[str]] = {}
    found: list[str] = []
    for error in errors:
        place, kind = _place(error["loc"]), error["type"]
        values = {**error.get("ctx", {}), "place": place}
        if right := _RIGHT.get(kind):
            rights.setdefault((place, shown(error["input"])), []).append(right.format(**values))
        elif whole := _WHOLE.get(kind):
            found.append(whole.format(**{**values, "length": len(str(error["input"]))}))
        else:
            found.append(f"{place}: {error['msg'][:1].lower()}{error['msg'][1:]}")
    found += [
        f"{place} must be {' or '.join(dict.fromkeys(right))}, got {got}" for (place, got), right in rights.items()
    ]
    return "; ".join(found)


def _place(place: tuple[int | str, ...]) -> str:
    """Return the name of a value, which comes after "body" or "query"; later items name types of a union."""
    return str(place[1]) if len(place) > 1 else f"the {place[0]} of the request"


def shown(value: Any) -> str:
    """Return a value as an error shows it: cut if it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
