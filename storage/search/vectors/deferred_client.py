"""Deferred client: import LanceDB without the parts that it needs only for servers, which saves 0.5 of 0.65 s of CPU.

LanceDB imports `lance_namespace` and some models of `lance_namespace_urllib3_client`, both for remote catalogs. A
package's `__init__` is executed before its modules, and these two build 300 models and a client that docmill never
uses. LanceDB uses a few of their names, in annotations and in methods that ask a catalog. It gets stand-ins for them.
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
"""Whether `import_lancedb` is running, so that names of the packages `_NAMED` are stand-ins."""


def import_lancedb() -> Any:
    """Return the module `lancedb`; the deferred packages are executed only when something uses a name of theirs."""
    with _importing:  # otherwise two threads could defer the client at the same time, and make it twice
        defer_client()
        try:
            with _standing_in():
                import lancedb
        except (AttributeError, TypeError):  # another version of LanceDB, which really uses these names on import
            import lancedb

    return lancedb


def defer_client() -> None:
    """Defer the `__init__` of the client until something uses a name in it; call this before `import lancedb`."""
    _defer(_CLIENT)


@contextmanager
def _standing_in() -> Iterator[None]:
    """Within the block, replace names of packages that are not executed yet by stand-ins."""
    global _stands_in
    for name in _NAMED:
        _defer(name)
    _stands_in = True
    try:
        yield
    finally:
        _stands_in = False


class _StandIn(type):
    """The metaclass of stand-ins; a stand-in forwards calls to the class or function of its name."""

    def __new__(cls, module: ModuleType, name: str) -> "_StandIn":
        return super().__new__(cls, name, (), {"__module__": module.__name__})

    def __init__(cls, module: ModuleType, name: str) -> None:
        super().__init__(name, (), {})
        cls._package = module

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        return getattr(cls._package, cls.__name__)(*arguments, **named)

    def __getattr__(cls, name: str) -> Any:
        if _stands_in or name.startswith("__"):  # typing checks for some of these when a class is used in an annotation
            raise AttributeError(f"{cls.__name__} has no attribute {name!r}")
        return getattr(getattr(cls._package, cls.__name__), name)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, getattr(cls._package, cls.__name__))


def _defer(package: str) -> None:
    """Put a package into `sys.modules` that is executed only when something uses a name in it."""
    if package in sys.modules:
        return
    spec = find_spec(package)
    if spec is None or spec.loader is None:  # a version of LanceDB that does not need it
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
