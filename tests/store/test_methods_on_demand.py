"""Classes whose methods are compiled on demand are those that `dataclass` makes."""

import copy
import dataclasses
import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from docmill.storage.process import methods_on_demand

SOURCE = """
from dataclasses import dataclass, field

@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: dict = field(default_factory=dict, compare=False)
    secret: str = field(default="s", repr=False)

@dataclass(frozen=True, slots=True)
class Solid(Point):
    z: int = 3

    def __post_init__(self):
        if self.z < 0:
            raise ValueError(f"z is {self.z}")

@dataclass(order=True)
class Mutable:
    self: int
    others: list = field(default_factory=list)

@dataclass
class Own:
    n: int

    def __repr__(self):
        return "own"
"""
CALLS = {
    "repr": lambda m: [repr(one(1)) for one in (m.Point, m.Solid, m.Mutable, m.Own)],
    "equal": lambda m: [m.Point(1) == m.Point(1, tags={1: 2}), m.Point(1) == m.Solid(1), m.Own(1) == m.Own(2)],
    "hash": lambda m: [hash(m.Point(1)) == hash(m.Point(1)), len({m.Solid(1), m.Solid(1), m.Solid(2)})],
    "order": lambda m: sorted([m.Mutable(2), m.Mutable(1, [3]), m.Mutable(1)]),
    "replace": lambda m: dataclasses.replace(m.Solid(1), z=9),
    "copy": lambda m: copy.deepcopy(m.Solid(1, tags={"a": [1]})),
    "frozen": lambda m: setattr(m.Point(1), "x", 2),
    "deleted": lambda m: delattr(m.Solid(1), "x"),
    "missing": lambda m: m.Point(),
    "unknown": lambda m: m.Solid(1, w=2),
    "checked": lambda m: m.Solid(1, z=-1),
    "unhashable": lambda m: hash(m.Mutable(1)),
    "asdict": lambda m: dataclasses.asdict(m.Solid(1, tags={"a": 1})),
    "names": lambda m: [m.Point.__init__.__qualname__, m.Solid.__match_args__, m.Mutable(1).__eq__.__name__],
}


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """Return a module as `dataclass` makes its classes, and one of docmill with methods on demand."""

    def made(name: str) -> ModuleType:
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(SOURCE, vars(module))
        return module

    whole = made("docmill.a_test_of_whole_classes")
    monkeypatch.setitem(vars(dataclasses), "exec", exec)  # which is taken back
    methods_on_demand.compile_on_demand()
    return whole, made("docmill.a_test_on_demand")


def outcome(call: Any, module: ModuleType) -> str:
    try:
        return repr(call(module))
    except (TypeError, ValueError, dataclasses.FrozenInstanceError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", CALLS)
def test_classes_do_what_those_of_dataclass_do(name: str, pair: tuple[ModuleType, ModuleType]) -> None:
    whole, on_demand = pair
    for _ in range(2):  # the first call compiles
        assert outcome(CALLS[name], on_demand) == outcome(CALLS[name], whole)


def test_a_method_is_compiled_at_its_first_call_and_then_is_that_of_dataclass(
    pair: tuple[ModuleType, ModuleType],
) -> None:
    whole, on_demand = pair
    codes = [vars(module.Point)["__init__"].__code__ for module in pair]
    assert codes[0].co_varnames[:2] == ("self", "x")
    assert codes[1].co_varnames[:2] != ("self", "x")
    on_demand.Solid(1)
    assert vars(on_demand.Solid)["__init__"].__code__.co_code == vars(whole.Solid)["__init__"].__code__.co_code
    assert vars(on_demand.Point)["__init__"].__code__ is codes[1]


def test_threads_that_call_first_at_once_get_whole_objects(pair: tuple[ModuleType, ModuleType]) -> None:
    made: list[Any] = []
    start = threading.Barrier(8)

    def make(number: int) -> None:
        start.wait()
        made.append(pair[1].Solid(number))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.x for one in made) == [*range(8)]


def test_classes_of_other_packages_are_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(dataclasses), "exec", methods_on_demand._define)
    module = ModuleType("another")
    monkeypatch.setitem(sys.modules, "another", module)
    exec(SOURCE, vars(module))
    assert vars(module.Point)["__init__"].__code__.co_varnames[:2] == ("self", "x")


@pytest.mark.parametrize(("version", "put_off"), [((3, 13), True), ((3, 14), False)])
def test_a_version_of_python_that_was_not_seen_compiles_at_once(
    version: tuple[int, int], put_off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(dataclasses), "exec", exec)
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    methods_on_demand.compile_on_demand()
    assert (vars(dataclasses)["exec"] is not exec) == put_off
