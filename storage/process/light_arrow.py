"""Light Arrow: load PyArrow without slow and rarely used parts: pandas, masks, functions, a docstring parser."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _ArrowFinder:
    """Finds two modules of PyArrow, each once, and gives them a loader of this module."""

    def __init__(self) -> None:
        self._left = {"pyarrow": _ArrowLoader, "pyarrow.compute": _FunctionsLoader}

    def find_spec(self, fullname: str, *_how: object) -> ModuleSpec | None:
        make_loader = self._left.pop(fullname, None)
        if make_loader is None:
            return None
        spec = find_spec(fullname)
        if spec and spec.loader:
            spec.loader = make_loader(spec.loader)  # type: ignore[assignment]
        return spec


class _NoPandas:
    def find_spec(self, fullname: str, *_how: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is left out of the start of docmill", name=fullname)


class _WrappedLoader:
    """A loader without the usual base class, whose module takes 2 ms to import."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _ArrowLoader(_WrappedLoader):
    """Creates the first array without pandas.

    At that moment, PyArrow imports pandas, if installed, to recognize its types, which takes a quarter of a second.
    Once it has found no pandas, it tries again only for a conversion to pandas.
    """

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        absent = _NoPandas()
        sys.meta_path.insert(0, absent)
        try:
            module.array([0])
        finally:
            sys.meta_path.remove(absent)
        if "numpy" in sys.modules and "numpy.ma" not in sys.modules:
            vars(sys.modules["numpy"])["ma"] = _Masks("numpy.ma")  # until it is imported


class _OnDemand:
    """A module that is imported when one of its names is used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)


class _Masks(_OnDemand):
    """`numpy.ma`, which PyArrow and `numpy.unique` use to check arrays for masks. Its import takes 5 ms."""

    def is_masked(self, array: Any) -> bool:
        """Return whether an array has masked values, which none has before `numpy.ma` is imported."""
        return "numpy.ma" in sys.modules and bool(import_module("numpy.ma").is_masked(array))

    @property
    def MaskedArray(self) -> Any:  # noqa: N802  as numpy calls it
        return _MaskedArray()


class _MaskedArray:
    """The class of masked arrays, which has no instances before `numpy.ma` is imported."""

    @property
    def _own(self) -> Any:
        return import_module("numpy.ma").MaskedArray

    def __instancecheck__(self, one: object) -> bool:
        return "numpy.ma" in sys.modules and isinstance(one, self._own)

    def __mro_entries__(self, _: object) -> tuple[Any, ...]:
        return (self._own,)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._own(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


class _FunctionsLoader(_WrappedLoader):
    """Loads `pyarrow.compute` with functions that are created at their first use.

    Normally it creates 300 functions from Arrow's registry, with signatures and docstrings, in 0.02 s of CPU time.
    """

    def exec_module(self, module: ModuleType) -> None:
        import pyarrow._compute as compiled

        registry, before = compiled.function_registry, set(vars(module))
        compiled.function_registry = lambda: _FewFunctions(registry())
        vendored = import_module("pyarrow.vendored")
        vars(vendored)["docscrape"] = _OnDemand("pyarrow.vendored.docscrape")
        try:
            self._loader.exec_module(module)
            make = module._wrap_function
        except Exception:  # another version of PyArrow needs more functions
            for name in set(vars(module)) - before:
                delattr(module, name)
            compiled.function_registry = registry
            self._loader.exec_module(module)
            return
        finally:
            compiled.function_registry = registry
            vars(vendored).pop("docscrape", None)
        vars(module).update(function_registry=registry, __getattr__=_maker(module, registry(), make))


_AT_ONCE = frozenset({"utf8_zero_fill"})  # functions that the module uses while it loads
_KEYWORDS = {"and_": "and", "or_": "or"}


class _FewFunctions:
    """Arrow's registry of functions, limited to a few in its list."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)

    def list_functions(self) -> list[str]:
        return [name for name in self._registry.list_functions() if name in _AT_ONCE]


def _maker(module: ModuleType, registry: Any, make: Any) -> Any:
    """Return a `__getattr__` that creates a function of the registry as `pyarrow.compute` does while it loads."""

    def made(name: str) -> Any:
        try:
            function = registry.get_function(_KEYWORDS.get(name, name))
        except KeyError:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}") from None
        if function.kind == "hash_aggregate" or (function.kind == "scalar_aggregate" and function.arity == 0):
            raise AttributeError(f"{name} is no function to call: it aggregates groups")
        wrapped = make(name, function)
        setattr(module, name, wrapped)
        return wrapped

    return made


def load_arrow_lightly() -> None:
    """Let this process, which has not loaded PyArrow yet, load it without pandas and with functions on demand.

    docmill's own programs call this. An application that imports docmill decides for itself.
    """
    if "pyarrow" not in sys.modules:
        sys.meta_path.insert(0, _ArrowFinder())
