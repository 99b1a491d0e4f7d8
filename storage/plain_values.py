"""Plain values: what JSON and TOML hold, as the types that annotations name, where nothing has to be converted.

Loading pydantic takes 0.04 s, a tenth of a whole search, and its models of the settings take as much again. Most values
need none of it: they are a text where a text belongs, or a number within its bounds. A caller leaves all others to
pydantic, which converts them or says what is wrong with them.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, cast, get_args, get_origin


class NotPlainError(ValueError):
    """A value that has to be converted, or that is wrong."""


class ValueRule:
    """What `Annotated` notes beside a type: a rule for its values."""

    __slots__ = ()

    def before(self, value: Any) -> Any:
        """Return a value as its type is to see it."""
        return value

    def allows(self, _: Any) -> bool:
        """Return whether a value of the type is within the rule."""
        return True


def plain(value: Any, annotation: Any, rules: Iterable[object] = ()) -> Any:
    """Return a value as the type that an annotation names; raise `NotPlainError`, or what a rule or the type raises.

    A type may have a class method `of_plain`, which gets the value; `rules` stand beside the type as in `Annotated`.
    """
    own = getattr(annotation, "__metadata__", ())
    kind = get_args(annotation)[0] if own else annotation
    checks = [one for one in (*own, *rules) if isinstance(one, ValueRule)]
    for check in checks:
        value = check.before(value)
    found = _typed(value, kind)
    if not all(check.allows(found) for check in checks):
        raise NotPlainError
    return found


def _typed(value: Any, kind: Any) -> Any:
    if hasattr(kind, "of_plain"):
        return kind.of_plain(value)
    if is_dataclass(kind):
        return _filled(value, cast(Any, kind))
    make = _TYPES.get(get_origin(kind) or kind)
    if make is None:
        raise NotPlainError
    return make(value, get_args(kind))


def plain_table(value: Any) -> dict[str, Any]:
    """Return a table whose keys are texts."""
    if type(value) is not dict or not all(type(name) is str for name in value):
        raise NotPlainError
    return cast(dict[str, Any], value)


def _filled(value: Any, kind: Any) -> Any:
    """Return the data class with these values by name."""
    known = {one.name: one for one in fields(kind)}
    given = plain_table(value)
    if not {*filter(None, map(_required, known.values()))} <= given.keys() <= known.keys():
        raise NotPlainError
    return kind(**{name: plain(one, known[name].type) for name, one in given.items()})


def _required(one: Field[Any]) -> str:
    return one.name if one.default is MISSING and one.default_factory is MISSING else ""


def _exactly(kind: type) -> Callable[[Any, tuple[Any, ...]], Any]:
    def checked(value: Any, _: tuple[Any, ...]) -> Any:
        if type(value) is not kind:
            raise NotPlainError
        return value

    return checked


def _text(value: Any, _: tuple[Any, ...]) -> str:
    if type(value) is not str:
        raise NotPlainError
    value.encode()  # raises `ValueError` for half of a surrogate pair, which is no text
    return value


def _number(value: Any, _: tuple[Any, ...]) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise NotPlainError
    return float(value)


def _one_of(value: Any, choices: tuple[Any, ...]) -> Any:
    if type(value) is not str or value not in choices:
        raise NotPlainError
    return value


def _path(value: Any, _: tuple[Any, ...]) -> Path:
    return value if isinstance(value, Path) else Path(_text(value, ()))


def _several(value: Any, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or kinds[1:] != (...,):
        raise NotPlainError
    return tuple(plain(one, kinds[0]) for one in value)


def _named(value: Any, kinds: tuple[Any, ...]) -> dict[Any, Any]:
    return {plain(name, kinds[0]): plain(one, kinds[1]) for name, one in plain_table(value).items()}


def _perhaps(value: Any, kinds: tuple[Any, ...]) -> Any:
    if len(kinds) != 2 or kinds[1] is not NoneType:
        raise NotPlainError
    return None if value is None else plain(value, kinds[0])


_TYPES: Mapping[Any, Callable[[Any, tuple[Any, ...]], Any]] = {
    int: _exactly(int),
    bool: _exactly(bool),
    str: _text,
    float: _number,
    Path: _path,
    Literal: _one_of,
    tuple: _several,
    dict: _named,
    UnionType: _perhaps,
    Any: lambda value, _: value,
}
