"""Plain JSON: values as text that can only be decoded to the type that the reader expects.

The text names no class and no function. A dataclass or a NamedTuple becomes the list of its fields, a path its name,
bytes base64, a set a list. `Reader`s are made from type hints: `Any` accepts any JSON value, everything else is
checked when it is decoded. A field whose name begins with `_` is a cache and is left out.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

Reader = Callable[[Any], Any]
Writer = Callable[[Any], object]

_INTEGERS = range(-(1 << 63), 1 << 63)
"""The range of a table column; Python itself would read any number of digits."""
_SHOWN = 80  # characters of a value that an error quotes


class Unreadable(ValueError):
    """A text is not plain JSON, or not of the expected type."""


def encode(value: object, others: Mapping[type, Writer] | None = None) -> bytes:
    """Return a value as plain JSON; `others` write types that are not built in.

    Raise `TypeError` for a value that has no such form, or is secret.
    """
    encoder = _encoder({**_WRITTEN, **others}, tuple(others)) if others else _ENCODER
    return encoder.encode(value).encode("utf-8", "surrogatepass")


def decode(data: bytes, read: Reader) -> Any:
    """Return the value that a text encodes; raise `Unreadable` if the reader refuses it."""
    try:
        return read(json.loads(data.decode("utf-8", "surrogatepass")))
    except Unreadable:
        raise
    except (ValueError, TypeError, RecursionError, OverflowError, MemoryError) as error:
        raise Unreadable(f"{type(error).__name__}: {str(error)[:_SHOWN]}") from None


def _encoder(writers: Mapping[type, Writer], taken: tuple[type, ...] = ()) -> json.JSONEncoder:
    """Return an encoder with these writers; it uses them for a dataclass only if that is in `taken`."""

    def plain(value: object) -> object:
        """Return the JSON form of a value that the encoder does not know itself."""
        own: type = type(value)
        if hasattr(value, "__dataclass_fields__") and not isinstance(value, taken):
            return _row_of(own)(value)
        for known, written in writers.items():
            if isinstance(value, known):
                return written(value)
        raise TypeError(f"no plain form for {repr(value)[:_SHOWN]}")

    # Not escaped, so that lone surrogates survive: an escaped pair would come back as one character.
    return json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"), default=plain)


_WRITTEN: dict[type, Writer] = {PurePath: str, bytes: lambda value: b64encode(value).decode(), frozenset: list}
_ENCODER = _encoder(_WRITTEN)


def _written_fields(kind: Any) -> list["Field[Any]"]:
    return [one for one in fields(kind) if not one.name.startswith("_")]


@cache
def _row_of(kind: type) -> Callable[[Any], object]:
    """Return a function that gets the written fields of a dataclass; it raises if a secret one is set."""
    written = _written_fields(kind)
    names = [one.name for one in written]
    secret = [one.name for one in written if one.metadata.get("secret")]
    take = attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, name) for name in names]

    def careful(value: Any) -> object:
        if kept := [name for name in secret if getattr(value, name)]:
            raise TypeError(f"{kind.__name__}.{kept[0]} is a secret, which is not written down")
        return take(value)

    return careful if secret else take


class Readers:
    """Makes readers from type hints; `others` are readers of types that are not built in."""

    def __init__(self, others: Mapping[Any, Reader] | None = None) -> None:
        self._made: dict[Any, Reader] = {**_SIMPLE, **(others or {})}

    def of(self, kind: Any) -> Reader:
        """Return the reader of a type; raise `TypeError` if it has no plain form."""
        if kind not in self._made:
            self._made[kind] = lambda data: self._made[kind](data)  # for a class that contains itself
            self._made[kind] = self._make(kind)
        return self._made[kind]

    def _make(self, kind: Any) -> Reader:
        if make := _COMPOSED.get(get_origin(kind)):
            return make(self, *get_args(kind))
        if is_typeddict(kind):
            return _keyed({name: self.of(hint) for name, hint in _hints_of(kind).items()})
        names = _names_of(kind)
        hints = _hints_of(kind)
        return _row(kind, [self.of(hints[name]) for name in names])


@cache
def _hints_of(kind: Any) -> dict[str, Any]:
    """Return the field types of a class by name; cached, because Python resolves them again at each call."""
    return get_type_hints(kind)


def _names_of(kind: Any) -> list[str]:
    """Return the names of the written fields of a dataclass or NamedTuple."""
    if isinstance(kind, type) and is_dataclass(kind):
        return [one.name for one in _written_fields(kind)]
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        return list(kind._fields)
    raise TypeError(f"no plain form for {kind}")


def _wrong(expected: str, data: object) -> Unreadable:
    return Unreadable(f"{expected} expected, got {type(data).__name__}")


def _exactly(wanted: type) -> Reader:
    def read(data: Any) -> Any:
        if type(data) is not wanted:
            raise _wrong(wanted.__name__, data)
        return data

    return read


def _integer(data: Any) -> int:
    if type(data) is not int or data not in _INTEGERS:
        raise _wrong("int of 64 bits", data)
    return data


def _number(data: Any) -> float:
    return data if type(data) is float else _integer(data)


def _path(data: Any) -> Path:
    return Path(_text(data))


def _bytes(data: Any) -> bytes:
    return b64decode(_text(data), validate=True)


_text, _list_of_values, _table = _exactly(str), _exactly(list), _exactly(dict)
_SIMPLE: dict[Any, Reader] = {
    str: _text,
    bool: _exactly(bool),
    NoneType: _exactly(NoneType),
    int: _integer,
    float: _number,
    Path: _path,
    bytes: _bytes,
    Any: lambda data: data,
}


def _row(kind: Callable[..., Any], readers: list[Reader]) -> Reader:
    name = getattr(kind, "__name__", "")

    def read(data: Any) -> Any:
        if type(data) is not list or len(data) != len(readers):
            raise _wrong(f"{name}: list of {len(readers)}", data)
        try:
            return kind(*[read(one) for read, one in zip(readers, data, strict=True)])
        except Unreadable as error:
            raise Unreadable(f"{name}: {error}") from None

    return read


def _many(build: Callable[[Any], Any]) -> Callable[[Readers, Any], Reader]:
    def make(readers: Readers, item: Any) -> Reader:
        read = readers.of(item)
        return lambda data: build(map(read, _list_of_values(data)))

    return make


def _tuple(readers: Readers, *items: Any) -> Reader:
    if len(items) == 2 and items[1] is Ellipsis:
        return _many(tuple)(readers, items[0])

    def build(*values: Any) -> tuple[Any, ...]:
        return values

    return _row(build, list(map(readers.of, items)))


def _mapping(readers: Readers, key: Any, value: Any) -> Reader:
    if key not in (str, Any):
        raise TypeError(f"the keys of plain JSON are strings, not {key}")
    read = readers.of(value)
    return lambda data: {name: read(one) for name, one in _table(data).items()}


def _keyed(readers: Mapping[str, Reader]) -> Reader:
    def read(data: Any) -> Any:
        if unknown := _table(data).keys() - readers.keys():
            raise Unreadable(f"no such key: {repr(min(unknown))[:_SHOWN]}")
        return {name: readers[name](one) for name, one in data.items()}

    return read


def _either(readers: Readers, *kinds: Any) -> Reader:
    """Return a reader that uses the first type that fits."""
    some = [readers.of(kind) for kind in kinds if kind is not NoneType]

    def read(data: Any) -> Any:
        if data is None and NoneType in kinds:
            return None
        for one in some[:-1]:
            try:
                return one(data)
            except Unreadable:
                continue
        return some[-1](data)

    return read


def _one_of(_: Readers, *values: Any) -> Reader:
    def read(data: Any) -> Any:
        if not any(type(data) is type(value) and data == value for value in values):
            raise Unreadable(f"one of {values} expected, got {repr(data)[:_SHOWN]}")
        return data

    return read


_COMPOSED: dict[Any, Callable[..., Reader]] = {
    tuple: _tuple,
    list: _many(list),
    frozenset: _many(frozenset),
    dict: _mapping,
    get_origin(Mapping[str, Any]): _mapping,
    Union: _either,
    UnionType: _either,
    Literal: _one_of,
}
