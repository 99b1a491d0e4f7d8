"""Plain values: read values of JSON and TOML as annotated types, if no conversion is necessary.

Loading pydantic takes 0.04 s, a tenth of a whole search, and its models of the settings the same again. Most values do
not need it, such as a string in place of a string, or a number within its bounds. Callers leave all others to pydantic,
which converts them or reports what is wrong with them.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, cast, get_args, get_origin


class NotPlainError(ValueError):
    """A value that has to be converted or is wrong."""


class ValueRule:
    """A rule for the values of a type in `Annotated`."""

    __slots__ = ()

    def before(self, value: Any) -> Any:
        """Return a value prepared for its type."""
        return value

    def allows(self, _: Any) -> bool:
        """Return whether a value of the type satisfies the rule."""
        return True


Reader = Callable[[Any], Any]
"""Returns a value as its type; raises `NotPlainError`, or errors of a rule or the type."""


def plain(value: Any, annotation: Any, rules: Iterable[object] = ()) -> Any:
    """Return a value as the type of an annotation; raise `NotPlainError`, or errors of a rule or the type.

    A type may have a class method `of_plain`, which gets the value; `rules` are as in `Annotated`.
    """
    return _reader(annotation, rules)(value)


def _reader(annotation: Any, rules: Iterable[object] = ()) -> Reader:
    own = getattr(annotation, "__metadata__", ())
    read = _typed(get_args(annotation)[0] if own else annotation)
    checks = [one for one in (*own, *rules) if isinstance(one, ValueRule)]

    def checked(value: Any) -> Any:
        for check in checks:
            value = check.before(value)
        found = read(value)
        if not all(check.allows(found) for check in checks):
            raise NotPlainError
        return found

    return checked if checks else read


def _typed(kind: Any) -> Reader:
    if hasattr(kind, "of_plain"):
        return cast(Reader, kind.of_plain)
    if is_dataclass(kind):
        return partial(_filled, kind)
    make = _TYPES.get(get_origin(kind) or kind)
    return make(get_args(kind)) if make else _refused


def _refused(_: Any) -> Any:
    raise NotPlainError


def plain_table(value: Any) -> dict[str, Any]:
    """Return a table whose keys are strings."""
    if type(value) is not dict or not all(type(name) is str for name in value):
        raise NotPlainError
    return cast(dict[str, Any], value)


def _filled(kind: Any, value: Any) -> Any:
    """Return the data class with these values by name."""
    known, required = _fields_of(kind)
    given = plain_table(value)
    if not required <= given.keys() <= known.keys():
        raise NotPlainError
    return kind(**{name: known[name](one) for name, one in given.items()})


@cache
def _fields_of(kind: Any) -> tuple[dict[str, Reader], set[str]]:
    """Return the readers of a data class's fields, and the required fields.

    They are cached: a history of 30 snapshots has 1,500 of these values, and inspecting the types takes most of the
    time.
    """
    required = {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    return {one.name: _reader(one.type) for one in fields(kind)}, required


def _exactly(kind: type) -> Reader:
    def checked(value: Any) -> Any:
        if type(value) is not kind:
            raise NotPlainError
        return value

    return checked


def _text(value: Any) -> str:
    if type(value) is not str:
        raise NotPlainError
    value.encode()  # raises `ValueError` for half a surrogate pair, which is not text
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise NotPlainError
    return float(value)


def _one_of(choices: tuple[Any, ...]) -> Reader:
    def checked(value: Any) -> Any:
        if type(value) is not str or value not in choices:
            raise NotPlainError
        return value

    return checked


def _path(value: Any) -> Path:
    return value if isinstance(value, Path) else Path(_text(value))


def _several(kinds: tuple[Any, ...]) -> Reader:
    if kinds[1:] != (...,):
        return _refused
    read = _reader(kinds[0])

    def checked(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise NotPlainError
        return tuple(map(read, value))

    return checked


def _named(kinds: tuple[Any, ...]) -> Reader:
    name_of, read = map(_reader, kinds)
    return lambda value: {name_of(name): read(one) for name, one in plain_table(value).items()}


def _perhaps(kinds: tuple[Any, ...]) -> Reader:
    if len(kinds) != 2 or kinds[1] is not NoneType:
        return _refused
    read = _reader(kinds[0])
    return lambda value: None if value is None else read(value)


def _always(read: Reader) -> Callable[[tuple[Any, ...]], Reader]:
    return lambda _: read


_TYPES: Mapping[Any, Callable[[tuple[Any, ...]], Reader]] = {
    int: _always(_exactly(int)),
    bool: _always(_exactly(bool)),
    str: _always(_text),
    float: _always(_number),
    Path: _always(_path),
    Literal: _one_of,
    tuple: _several,
    dict: _named,
    UnionType: _perhaps,
    Any: _always(lambda value: value),
}
