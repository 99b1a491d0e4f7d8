"""Argument types: check the arguments of public functions and methods against their annotations."""

import re
from collections.abc import Callable, Iterable, Mapping, Sized
from functools import cache, wraps
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import FunctionType, NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from docmill.storage.errors import ConfigError, QueryError, Terminal

_PLAIN: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "True or False"),
    float: ((Real,), "a number"),
    int: ((Integral,), "a whole number"),  # numpy's, too, which is no `int`
    str: ((str,), "a string"),
    Path: ((PathLike,), "a path"),
    NoneType: ((NoneType,), "None"),
}
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=type)
_ONE, _MORE = r"\ba (\w[\w ]*?)(?= or |,|$)", r"\1s"
"""The substitution that turns "a string or a path" into "strings or paths"."""
_LONGEST = 80  # characters of a value that an error shows
_WORDED = {"where", "sources"}
"""Parameters whose functions have better messages for wrong values: the SQL for a dict, and what a source is."""
Check = tuple[Callable[[Any], bool], str]
"""A test whether a value has a type, and the words for that type."""


def checked(call: Callable[P, R], error: type[Terminal] = ConfigError) -> Callable[P, R]:
    """Return a function that raises `error` for wrong arguments before any work begins."""

    @wraps(call)
    def checking(*given: P.args, **named: P.kwargs) -> R:
        signature, checks = _checks_of(call)
        for name, value in signature.bind(*given, **named).arguments.items():
            fits, words = checks.get(name, _ANYTHING)
            if not fits(value):
                raise error(f"{name} must be {words}, got {repr(value)[:_LONGEST]}")
        return call(*given, **named)

    return checking


def checked_methods(kind: T) -> T:
    """Let the public methods of a class, including inherited ones, raise `QueryError` for wrong arguments."""
    for name in dir(kind):
        method = getattr(kind, name)
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(kind, name, checked(method, QueryError))
    return kind


@cache
def _checks_of(call: Callable[..., Any]) -> tuple[Any, dict[str, Check]]:
    """Return the signature of a function, and the checks of its parameters; those of `**how` are checked elsewhere."""
    from inspect import Parameter, signature  # when it is first called: importing docmill takes less

    own = signature(call)
    named = [one for one in own.parameters.values() if one.annotation is not Parameter.empty]
    checked_here = [one for one in named if one.kind is not Parameter.VAR_KEYWORD and one.name not in _WORDED]
    return own, {one.name: _check(one.annotation) for one in checked_here}


_ANYTHING: Check = (lambda _: True, "anything")


def _check(annotation: Any) -> Check:
    kind = get_origin(annotation)
    if isinstance(annotation, str):
        return _check_of_name(annotation)
    if kind in (Union, UnionType):
        return _either([_check(one) for one in get_args(annotation)])
    if kind is Literal:
        values = get_args(annotation)
        return (lambda value: value in values), _listed(map(repr, values))
    if kind is Callable:
        return callable, "a function"
    if kind is Mapping:
        return (
            lambda value: isinstance(value, Mapping) and all(isinstance(one, str) for one in value)
        ), "a dict by name"
    if isinstance(kind, type) and issubclass(kind, Iterable):
        return _check_of_several(kind, _check(get_args(annotation)[0]))
    kinds, words = _PLAIN.get(annotation, ((annotation,), f"a {getattr(annotation, '__name__', '')}"))
    return (lambda value: isinstance(value, kinds)), words


def _check_of_name(annotation: str) -> Check:
    """Return the check for an annotation in quotes, by class name, because the class is not loaded."""
    if " | " in annotation:
        return _either([_check_of_name(one) for one in annotation.split(" | ")])
    if annotation.startswith("Callable["):
        return callable, "a function"
    if annotation == "None":
        return _check(NoneType)
    return (lambda value: annotation in {one.__name__ for one in type(value).__mro__}), f"a {annotation}"


def _check_of_several(kind: type, each: Check) -> Check:
    """Return the check for several values; the values of an iterator are not checked."""
    fits, words = each
    needed = "__len__" if issubclass(kind, Sized) else "__iter__"

    def all_fit(value: Any) -> bool:
        if isinstance(value, str | bytes) or not hasattr(value, needed):
            return False
        return not isinstance(value, list | tuple | set | frozenset) or all(map(fits, value))

    return all_fit, f"a list of {re.sub(_ONE, _MORE, words)}"


def _either(checks: list[Check]) -> Check:
    return (lambda value: any(fits(value) for fits, _ in checks)), _listed(said for _, said in checks if said != "None")


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
