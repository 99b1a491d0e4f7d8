"""Methods on demand: compile the methods that `dataclass` generates for a class when one of them is called.

It generates and compiles six for a frozen class in 0.4 ms. Of the 200 classes that a command loads, few methods other
than `__init__` are called. Compiling all was a sixth of the CPU time of a run that finds nothing new.
"""

import dataclasses
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

_PACKAGES = frozenset({"docmill", "pydantic", "annotated_types", "typer"})
"""Packages with such classes that each command loads, and that never inspect the signature of a method."""
_KNOWN = (3, 13)
"""The last version of Python for which this was tested; 3.11, 3.12 and 3.13 work."""


def compile_on_demand() -> None:
    """Let `dataclass` compile on demand in this process.

    docmill's own programs call this. An application that imports docmill decides for itself. An unknown version of
    Python compiles at once.
    """
    if sys.version_info[:2] <= _KNOWN:
        vars(dataclasses)["exec"] = _define  # all versions of `dataclass` compile with it


def _define(text: str, scope: dict[str, Any], names: dict[str, Any]) -> None:
    """Define what `exec` would: `__create_fn__`, which returns a function, or from Python 3.13 on a tuple of all."""
    if str(scope.get("__name__")).partition(".")[0] in _PACKAGES:
        names["__create_fn__"] = partial(_stand_ins, text, scope)
    else:
        exec(text, scope, names)


def _stand_ins(text: str, scope: dict[str, Any], /, **closure: Any) -> Any:
    """Return what `__create_fn__` would, but with functions that compile the text at their first call."""
    compiled: dict[str, Callable[..., Any]] = {}

    def compiled_as(name: str) -> Callable[..., Any]:
        if name not in compiled:
            made: dict[str, Any] = {}
            exec(text, scope, made)
            functions = made["__create_fn__"](**closure)
            compiled.update(zip(names, functions if is_tuple else (functions,), strict=True))
        return compiled[name]

    returned = text.rpartition("\n return ")[2]
    is_tuple = returned.startswith("(")
    names = [name for name in returned.strip("()").split(",") if name]
    methods = tuple(_stand_in(name, compiled_as) for name in names)
    return methods if is_tuple else methods[0]


def _stand_in(name: str, compiled_as: Callable[[str], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a method that at its first call compiles the one with this name and is replaced by it."""

    def method(self: Any, /, *given: Any, **named: Any) -> Any:
        function = compiled_as(name)
        for owner in type(self).__mro__:
            if vars(owner).get(name) is method:
                function.__qualname__ = method.__qualname__
                setattr(owner, name, function)
        return function(self, *given, **named)

    method.__name__ = name
    return method
