"""Methods on demand: compile the methods that `dataclass` writes for a class when one of them is called.

It writes six for a frozen class and compiles them, which takes 0.4 ms. Of 200 classes that a command loads, it calls
few methods other than `__init__` of some: to compile all was a sixth of the CPU time of a run that finds nothing new.
"""

import dataclasses
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

_PACKAGES = frozenset({"docmill", "pydantic", "annotated_types", "typer"})
"""Packages of such classes: those that each command loads, and that never ask for the signature of a method."""
_KNOWN = (3, 13)
"""The last version of Python whose `dataclass` was seen to write such text: 3.11, 3.12 and 3.13 do."""


def compile_on_demand() -> None:
    """Let `dataclass` put off compiling in this process.

    docmill's own programs call this. An application that imports docmill decides for itself. A version of Python that
    is not known compiles at once.
    """
    if sys.version_info[:2] <= _KNOWN:
        vars(dataclasses)["exec"] = _define  # what all versions of `dataclass` compile by


def _define(text: str, scope: dict[str, Any], names: dict[str, Any]) -> None:
    """Define what `exec` would: `__create_fn__`, which returns a function or, from Python 3.13 on, a tuple of all."""
    if str(scope.get("__name__")).partition(".")[0] in _PACKAGES:
        names["__create_fn__"] = partial(_stand_ins, text, scope)
    else:
        exec(text, scope, names)


def _stand_ins(text: str, scope: dict[str, Any], /, **closure: Any) -> Any:
    """Return what `__create_fn__` would, with functions that compile the text at the first call of one."""
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
    """Return a method that compiles the one of this name at its first call, and puts it into its own place."""

    def method(self: Any, /, *given: Any, **named: Any) -> Any:
        function = compiled_as(name)
        for owner in type(self).__mro__:
            if vars(owner).get(name) is method:
                function.__qualname__ = method.__qualname__
                setattr(owner, name, function)
        return function(self, *given, **named)

    method.__name__ = name
    return method
