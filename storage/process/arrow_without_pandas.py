"""Arrow without pandas: keep PyArrow from importing pandas, which takes a quarter of a second and which nothing needs.

PyArrow imports pandas, where it is installed, when it makes its first array, to know its types if it meets them. Told
once that there is none, it asks again only if somebody converts to pandas.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _ArrowFinder(MetaPathFinder):
    """Finds PyArrow once, as the other finders do, with a loader that makes its first array without pandas."""

    def find_spec(self, fullname: str, *_how: object) -> ModuleSpec | None:
        if fullname != "pyarrow":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec and spec.loader:
            spec.loader = _ArrowLoader(spec.loader)
        return spec


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_how: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is left out of the start of docmill", name=fullname)


class _ArrowLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        absent = _NoPandas()
        sys.meta_path.insert(0, absent)
        try:
            module.array([0])
        finally:
            sys.meta_path.remove(absent)


def leave_pandas_out() -> None:
    """Keep PyArrow, which this process has not loaded yet, from importing pandas by itself.

    docmill's own programs call this. In an application that imports docmill, pandas is the application's affair.
    """
    if "pyarrow" not in sys.modules:
        sys.meta_path.insert(0, _ArrowFinder())
