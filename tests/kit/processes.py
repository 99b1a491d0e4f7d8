"""Which tests start processes, as their code says it."""

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import pytest

STARTING = frozenset({"subprocess", "Popen", "fork", "sql"})
"""Names by which processes are started; statements of SQL run in one, too."""


def starts_processes(item: pytest.Item) -> bool:
    """Return whether a test, a fixture that it asks for, or a function of the tests that these call starts a process.

    That is read from the names in their code, so a process that the package itself starts may be overlooked.
    """
    info = getattr(item, "_fixtureinfo", None)
    fixtures = info.name2fixturedefs.values() if info else ()
    return any(map(starts, (getattr(item, "function", None), *(one.func for several in fixtures for one in several))))


_known: dict[Any, bool] = {}


def starts(value: Any) -> bool:
    """Return whether a function or a class of the tests names what starts a process, or another that does."""
    if not str(getattr(value, "__module__", "")).startswith("tests"):
        return False
    if value not in _known:
        _known[value] = False  # for functions that call each other
        _known[value] = any(map(_function_starts, _functions(value)))
    return _known[value]


def _functions(value: Any) -> Iterator[FunctionType]:
    for one in vars(value).values() if isinstance(value, type) else [value]:
        inner = getattr(one, "__wrapped__", one)
        if isinstance(inner, FunctionType):
            yield inner


def _function_starts(function: FunctionType) -> bool:
    names = set(_names(function.__code__))
    called = [function.__globals__[name] for name in names & function.__globals__.keys()]
    return bool(names & STARTING) or any(starts(one) for one in called if callable(one))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
