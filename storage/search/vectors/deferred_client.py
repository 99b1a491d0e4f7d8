"""Deferred client: import LanceDB without what it needs for servers alone, in 0.16 instead of 0.65 s of CPU time.

LanceDB imports `lance_namespace` and some models of `lance_namespace_urllib3_client`, both for remote catalogs. A
package's `__init__` is executed before its modules, and these build 300 models and a client that docmill never calls.
LanceDB takes a few of their names, for annotations and for methods that ask a catalog, and gets stand-ins for these.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from threading import Lock
from types import ModuleType
from typing import Any

_CLIENT = "lance_namespace_urllib3_client"
_NAMED = (f"{_CLIENT}.models", "lance_namespace")
"""Packages from which LanceDB takes names while it is imported."""
_importing = Lock()
_stands_in = False
"""Whether `import_lancedb` is at work, and names of the packages `_NAMED` are stand-ins."""


def import_lancedb() -> Any:
    """Return the module `lancedb`; the packages that it does without are executed when something asks for a name."""
    with _importing:  # two threads that defer the client at once would make it twice
        defer_client()
        try:
            with _standing_in():
                import lancedb
        except (AttributeError, TypeError):  # another LanceDB, which does more with these names than to name them
            import lancedb

    return lancedb


def defer_client() -> None:
    """Execute the `__init__` of the client only when something asks for a name in it; call before `import lancedb`."""
    _defer(_CLIENT)


@contextmanager
def _standing_in() -> Iterator[None]:
    """Give stand-ins within the block to who takes names from packages that are not executed yet."""
    global _stands_in
    for name in _NAMED:
        _defer(name)
    _stands_in = True
    try:
        yield
    finally:
        _stands_in = False


class _StandIn(type):
    """The class of stand-ins, each of which does what the class or function of its name does."""

    def __new__(cls, module: ModuleType, name: str) -> "_StandIn":
        return super().__new__(cls, name, (), {"__module__": module.__name__})

    def __init__(cls, module: ModuleType, name: str) -> None:
        super().__init__(name, (), {})
        cls._package = module

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        return getattr(cls._package, cls.__name__)(*arguments, **named)

    def __getattr__(cls, name: str) -> Any:
        if _stands_in or name.startswith("__"):  # who annotates a method with a class may look whether it has these
            raise AttributeError(f"{cls.__name__} has no attribute {name!r}")
        return getattr(getattr(cls._package, cls.__name__), name)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, getattr(cls._package, cls.__name__))


def _defer(package: str) -> None:
    """Put a package into `sys.modules` that is executed when something asks for a name in it."""
    if package in sys.modules:
        return
    spec = find_spec(package)
    if spec is None or spec.loader is None:  # a LanceDB that does without it
        return
    module, loader = module_from_spec(spec), spec.loader
    stand_ins: dict[str, _StandIn] = {}

    def ask(name: str) -> Any:
        if name.startswith("__"):  # the import system asks for these
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if _stands_in:
            return stand_ins.setdefault(name, _StandIn(module, name))
        if vars(module).pop("__getattr__", None) is not None:
            loader.exec_module(module)
        return getattr(module, name)

    module.__getattr__ = ask  # type: ignore[method-assign]
    sys.modules[package] = module
