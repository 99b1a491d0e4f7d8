"""Filters: convert filters of the frameworks to an SQL condition, which both indexes apply before they rank.

A name is a column of chunks and documents, such as `format`, else a key of [metadata]. Null is as in SQL: a document
without a value matches no comparison, `!=` included. `source` is also what the adapters give as `source`: the URL of
the original, else the uri.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from math import isfinite
from typing import Any

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS
from docmill.storage.errors import QueryError
from docmill.storage.sql.sandbox import check_predicate

_LISTS = (list, tuple, set, frozenset)
_COLUMNS = {*CHUNKS.names, *DOCUMENTS.names}
_NAME = re.compile(r"(?:meta(?:data)?\.)?([^\W\d]\w*)")


def condition(given: object) -> str:
    """Return a filter as SQL: LangChain's or Haystack's dict, or LlamaIndex's `MetadataFilters`.

    Raises `QueryError` for anything else, because an ignored filter would show what it should hide.
    """
    if isinstance(given, Mapping):
        return _of_haystack(given) if "operator" in given else _of_dict(given)
    if hasattr(given, "filters"):
        return _joined(_value(getattr(given, "condition", None) or "and"), map(condition, given.filters))
    if hasattr(given, "key") and hasattr(given, "operator"):
        return compared(given.key, _value(given.operator), getattr(given, "value", None))
    raise QueryError(f"a filter is a dict, or MetadataFilters of LlamaIndex, got {given!r}")


def both(where: str | None, given: object) -> str | None:
    """Return `where` and a filter as one condition; None if there is neither.

    An empty filter is none, also as `MetadataFilters`. Raises `QueryError` for a `where` that is not one expression:
    `true) OR (true` would undo the filter.
    """
    found = condition(given) if getattr(given, "filters", given) else ""
    if not where or not found:
        return found or where
    check_predicate(where)
    return f"({where}\n) AND {found}"


def _of_haystack(given: Mapping[str, Any]) -> str:
    if "conditions" in given:
        return _joined(str(given["operator"]), map(condition, given["conditions"]))
    return compared(given.get("field"), given["operator"], given.get("value"))


def _of_dict(given: Mapping[str, Any]) -> str:
    """Return `{"team": "sales", "price": {"$lt": 9}}` or `{"$or": [...]}` as SQL."""
    return _joined("and", (_entry(name, value) for name, value in given.items()))


def _entry(name: str, value: Any) -> str:
    if name.startswith("$"):
        return _joined(name[1:], map(condition, value if isinstance(value, list | tuple) else [value]))
    if isinstance(value, Mapping):
        return _joined("and", (compared(name, operator, one) for operator, one in value.items()))
    return compared(name, "==", value)


def _joined(how: str, parts: Iterable[str]) -> str:
    found, word = list(parts), how.lower().removeprefix("$")
    if word not in ("and", "or", "not", "nor"):
        raise QueryError(f"a filter joins by and, or, not, got {how!r}")
    if not found:
        raise QueryError("a filter without a condition")
    joined = f" {'OR' if word in ('or', 'nor') else 'AND'} ".join(found)
    return f"NOT ({joined})" if word in ("not", "nor") else f"({joined})"


def compared(name: object, operator: str, value: Any) -> str:
    """Return one comparison as SQL."""
    match = _NAME.fullmatch(str(name))
    if match is None:
        raise QueryError(f"a filter names a column or a key of [metadata], got {name!r}")
    column = match[1] if match[1] in _COLUMNS else f'metadata."{match[1]}"'
    spelled = str(operator).lower()
    if spelled not in _OPERATORS:
        known = ", ".join(_OPERATORS)
        raise QueryError(f"a filter has no operator {operator!r}; it has {known}")
    if column == "source" and spelled in _BY_SOURCE and None not in (value if isinstance(value, _LISTS) else [value]):
        same = " OR ".join(_OPERATORS[_BY_SOURCE[spelled]](one, value) for one in ("source", "uri", "source_url"))
        return f"({same})" if _BY_SOURCE[spelled] == spelled else f"NOT ({same})"
    return _OPERATORS[spelled](column, value)


def _literal(value: Any) -> str:
    value = _value(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value) if isfinite(value) else f"'{value}'::DOUBLE"
    if isinstance(value, str | date):
        text = value if isinstance(value, str) else value.isoformat()
        return "'" + text.replace("'", "''") + "'"
    raise QueryError(f"a filter compares with a text, a number, a truth value or a time, got {value!r}")


def _value(given: Any) -> Any:
    """Return the value of an enumeration, which LlamaIndex uses for operators and conditions."""
    return getattr(given, "value", given)


def _list(value: Any) -> str:
    if not isinstance(value, _LISTS):
        raise QueryError(f"this operator takes a list, got {value!r}")
    return ", ".join(map(_literal, value))


def _by(sign: str) -> Callable[[str, Any], str]:
    return lambda column, value: f"{column} {sign} {_literal(value)}"


def _missing(column: str, missing: bool = True) -> str:
    """Return whether a value is missing: null in a key of [metadata], "" or an empty list in docmill's own columns."""
    return f"coalesce({column}::VARCHAR, '') {'IN' if missing else 'NOT IN'} ('', '[]')"


def _equal(column: str, value: Any) -> str:
    return _missing(column) if value is None else f"{column} = {_literal(value)}"


def _unequal(column: str, value: Any) -> str:
    return _missing(column, False) if value is None else f"{column} <> {_literal(value)}"


def _in(column: str, value: Any) -> str:
    told, absent = _told(value)
    found = f"{column} IN ({told})" if told else "false"
    return f"({found} OR {_missing(column)})" if absent else found


def _not_in(column: str, value: Any) -> str:
    told, absent = _told(value)
    found = f"{column} NOT IN ({told})" if told else f"{column} IS NOT NULL"
    return f"({found} AND {_missing(column, False)})" if absent else found


def _told(value: Any) -> tuple[str, bool]:
    """Return the values of a list as SQL, and whether the list contains None."""
    told = [one for one in value if one is not None] if isinstance(value, _LISTS) else value
    return _list(told), isinstance(value, _LISTS) and len(told) < len(value)


def _matches(sign: str) -> Callable[[str, Any], str]:
    return lambda column, value: f"contains({sign}({column}), {sign}({_literal(value)}))"


def _between(column: str, value: Any) -> str:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise QueryError(f"$between takes two values, got {value!r}")
    return f"{column} BETWEEN {_literal(value[0])} AND {_literal(value[1])}"


_OPERATORS: Mapping[str, Callable[[str, Any], str]] = {
    "==": _equal, "$eq": _equal, "!=": _unequal, "$ne": _unequal,
    ">": _by(">"), "$gt": _by(">"), ">=": _by(">="), "$gte": _by(">="),
    "<": _by("<"), "$lt": _by("<"), "<=": _by("<="), "$lte": _by("<="),
    "in": _in, "$in": _in, "nin": _not_in, "not in": _not_in, "$nin": _not_in, "$between": _between,
    "contains": lambda column, value: f"list_contains({column}, {_literal(value)})",
    "$contains": lambda column, value: f"list_contains({column}, {_literal(value)})",
    "any": lambda column, value: f"list_has_any({column}, [{_list(value)}])",
    "all": lambda column, value: f"list_has_all({column}, [{_list(value)}])",
    "$like": _by("LIKE"), "$ilike": _by("ILIKE"),
    "text_match": _matches(""), "text_match_insensitive": _matches("lower"),
    "$exists": lambda column, value: _missing(column, not value),
    "is_empty": lambda column, _: _missing(column),
}  # fmt: skip
_BY_SOURCE = {name: name for name in ("==", "$eq", "in", "$in")} | {
    "!=": "==", "$ne": "==", "nin": "in", "not in": "in", "$nin": "in",
}  # fmt: skip
"""The operators that compare `source` with all that is called so, each with the one that it is or that it negates."""
