"""Deferred client: import LanceDB without its generated client for servers, in 0.6 instead of 1.1 s of CPU time.

LanceDB imports some models of `lance_namespace_urllib3_client`, and a package's `__init__` is executed before its
modules. This one imports 300 modules for the client of a remote catalog, which docmill never calls.
"""

import sys
from importlib.util import find_spec, module_from_spec
from threading import Lock
from typing import Any

_CLIENT = "lance_namespace_urllib3_client"
_importing = Lock()


def import_lancedb() -> Any:
    """Return the module `lancedb`; its generated client is executed only when something asks for a name in it."""
    with _importing:  # two threads that defer the client at once would make it twice
        defer_client()
        import lancedb

    return lancedb


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
