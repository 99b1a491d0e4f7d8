"""Deferred client: import LanceDB without what docmill never calls of it, in 0.2 instead of 1.1 s of CPU time.

LanceDB imports some models of `lance_namespace_urllib3_client`, and a package's `__init__` is executed before its
modules. This one imports 300 modules for the client of a remote catalog. The models are for that catalog, too, and
the package `overrides` reads the bytecode of LanceDB's modules to check their decorators: that takes 0.15 s.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import Lock
from typing import Any, TypeVar

_CLIENT = "lance_namespace_urllib3_client"
_CHECKS = "overrides.overrides"
_importing = Lock()
T = TypeVar("T")


def defer_client() -> None:
    """Execute the `__init__` of the client only when something asks for a name in it; call before `import lancedb`."""
    if _CLIENT in sys.modules:
        return
    spec = find_spec(_CLIENT)
    if spec is None or spec.loader is None:  # a LanceDB that does without it
        return
    module, loader = module_from_spec(spec), spec.loader

    def ask(name: str) -> Any:
        if name.startswith("__"):  # the import system asks for these
            raise AttributeError(f"module {_CLIENT!r} has no attribute {name!r}")
        if vars(module).pop("__getattr__", None) is not None:
            loader.exec_module(module)
        return getattr(module, name)

    module.__getattr__ = ask  # type: ignore[method-assign]
    sys.modules[_CLIENT] = module


@contextmanager
def importing_lancedb() -> Iterator[None]:
    """Within the block, `import lancedb` defers its client, builds no model before its first use, and checks less."""
    # Only one thread: another would take the configuration of this block for the usual one.
    with _importing, nullcontext() if "lancedb" in sys.modules else _spared():
        yield


@contextmanager
def _spared() -> Iterator[None]:
    from pydantic import BaseModel

    defer_client()
    config: dict[str, Any] = vars(BaseModel)["model_config"]
    held = {**config}
    checks = _checks()
    check = checks.get("_overrides")
    try:
        config["defer_build"] = True  # each model has the configuration of its base
        if check:
            checks["_overrides"] = _believe
        yield
    finally:
        config.clear()
        config.update(held)
        if check:
            checks["_overrides"] = check


def _checks() -> dict[str, Any]:
    """Return the names in the module that checks decorators, or none where LanceDB does without it."""
    with suppress(ImportError):
        return vars(import_module(_CHECKS))
    return {}


def _believe(method: T, *_: object) -> T:
    """Mark a method as one that overrides another, without looking for that one."""
    method.__override__ = True  # type: ignore[attr-defined]
    return method
