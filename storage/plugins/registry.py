"""Registry: docmill's and plugins' implementations by name, each loaded when first requested."""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from docmill.storage.errors import ConfigError
from docmill.storage.plugins.origin import Origin, described

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_LOG = logging.getLogger("docmill.plugins")


@dataclass(frozen=True, slots=True)
class Seam:
    """A kind of plugins: entry point group, word in messages, and protocol."""

    group: str
    kind: str
    protocol: type


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry point as `docmill plugins` lists it; `problem` is "" if it can be used."""

    group: str
    name: str
    distribution: str
    version: str
    problem: str


def named(path: str) -> Any:
    """Return the object with a name such as `package.module.name`."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def late(path: str) -> Callable[..., Any]:
    """Return a function that imports another one when called, because many runs only need names and versions."""
    return lambda *arguments: named(path)(*arguments)


class LoadedWhenAsked(Mapping[str, T]):
    """docmill's implementations by name, each created when first requested."""

    def __init__(self, makers: Mapping[str, Callable[[], T]]) -> None:
        self._makers = makers
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to docmill's implementations and those of plugins.

    Entry points are read at the first look-up, and a plugin is imported when requested by name, also in worker
    processes. `adapt` converts the object of an entry point to an implementation. Raises `ConfigError` for an unknown
    name and for an unusable plugin, without an effect on others. A plugin with a name of docmill's is not used; the
    logger `docmill.plugins` warns about it.
    """

    def __init__(self, seam: Seam, own: Mapping[str, T], adapt: Callable[[Origin, Any], T]) -> None:
        self.seam = seam
        self.own = own
        self._adapt = adapt
        self._loaded: dict[str, T | ConfigError] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        found = self._loaded[name]
        if isinstance(found, ConfigError):
            raise found.with_traceback(None)  # otherwise it grows with every raise
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._entries

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from (name for name in self._entries if name not in self.own)

    def __len__(self) -> int:
        return len(list(iter(self)))

    @property
    def origins(self) -> list[Origin]:
        """Return the origins of the plugins without importing any."""
        return [self._origin(entry) for name, entries in self._entries.items() for entry in entries]

    def listed(self) -> Iterator[Listed]:
        """Yield every plugin, which is imported to find problems."""
        for name, entries in self._entries.items():
            for origin in map(self._origin, entries):
                yield Listed(self.seam.group, name, origin.distribution, origin.release, self._problem(name))

    def _problem(self, name: str) -> str:
        if name in self.own:
            return self._taken(name, self._entries[name])
        try:
            self[name]
        except ConfigError as error:
            return str(error)
        return ""

    @cached_property
    def _entries(self) -> dict[str, list["EntryPoint"]]:
        """Return the entry points of the group by name, sorted; several distributions may use the same name."""
        found: dict[str, list[EntryPoint]] = {}
        for entry in sorted(_installed(tuple(sys.path)).select(group=self.seam.group), key=lambda one: one.name):
            found.setdefault(entry.name, []).append(entry)
        for name in found.keys() & self.own.keys():
            _LOG.warning("%s", self._taken(name, found[name]))
        return found

    def _taken(self, name: str, entries: "list[EntryPoint]") -> str:
        """Return the message that plugins use a name of docmill's, which keeps its meaning."""
        others = self._givers(entries)
        return f"{self.seam.kind} {name!r} is one of docmill's own; that of {others} is not used and needs another name"

    def _givers(self, entries: "list[EntryPoint]") -> str:
        return " and ".join(f"{one.distribution} {one.release}" for one in map(self._origin, entries))

    def _origin(self, entry: "EntryPoint") -> Origin:
        distribution, release = (entry.dist.name, entry.dist.version) if entry.dist else ("(no distribution)", "")
        return Origin(self.seam.kind, entry.name, distribution, release)

    def _load(self, name: str) -> T | ConfigError:
        entries = self._entries.get(name, [])
        if name in self.own:
            return self.own[name]
        if not entries:
            hint = nearest(name, self, "; no installed plugin has this name")
            return ConfigError(f"{self.seam.kind} {name!r} does not exist; {hint}")
        if len(entries) > 1:
            givers = self._givers(entries)
            return ConfigError(f"{self.seam.kind} {name!r} is given by {givers}; uninstall all but one of them")
        origin = self._origin(entries[0])
        try:
            return self._adapt(origin, _checked(entries[0].load(), self.seam.protocol))
        except MemoryError:
            raise
        except Exception as error:  # an import can raise anything
            return ConfigError(f"{origin} cannot be used: {described(error)}")


@lru_cache(1)
def _installed(path: tuple[str, ...]) -> Any:  # noqa: ARG001  what is installed depends on it
    """Return all entry points. A command needs five groups, and each reading of all packages takes 20 ms.

    They are `EntryPoints`, before Python 3.12 `SelectableGroups`; both have `select`.
    """
    from importlib.metadata import entry_points

    return entry_points()


def _checked(found: Any, protocol: type) -> Any:
    """Return an entry point's object, or an instance if it is a class; raise `TypeError` if members are missing."""
    plugin = found() if isinstance(found, type) else found
    wanted = dict.fromkeys((*vars(protocol), *protocol.__annotations__))
    lacking = [name for name in wanted if not name.startswith("_") and not hasattr(plugin, name)]
    if lacking:
        raise TypeError(f"it lacks {', '.join(lacking)} of docmill.plugins.{protocol.__name__}")
    if not isinstance(plugin.version, int | str):
        raise TypeError(f"its version must be a number or a text, got {plugin.version!r}")
    return plugin


def nearest(wrong: str, right: Mapping[str, Any] | list[str], unlike: str = "") -> str:
    """Return a hint for a wrong name: the nearest valid one, or all valid ones and `unlike`."""
    near = get_close_matches(wrong, right, 1)
    return f"the nearest is {near[0]!r}" if near else f"there are {', '.join(right)}{unlike}"
