"""Sections: tables of docmill.toml as immutable objects. Values of the right type are checked here, others by pydantic.

pydantic converts all other values or refuses them, with the same messages as if nothing were checked here. It is not
imported unless there are such values.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from operator import ge, gt, le
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, dataclass_transform, get_args, get_origin

from docmill.storage.plain_values import NotPlainError, ValueRule, plain, plain_table

_REQUIRED: Any = ...


@dataclass(frozen=True, slots=True)
class Before(ValueRule):
    """A function that converts a value before it is checked; it raises `ValueError` for a wrong value."""

    function: Callable[[Any], Any]

    def before(self, value: Any) -> Any:
        return self.function(value)


@dataclass(frozen=True, slots=True)
class KeyField(ValueRule):
    """A key of a section: the type of its values with their bounds, its default, and what it means."""

    default: Any = _REQUIRED
    bounds: tuple[tuple[str, Any], ...] = ()
    description: str = ""
    examples: tuple[str, ...] = ()
    repr: bool = True
    annotation: Any = Any
    metadata: tuple[object, ...] = ()

    def allows(self, value: Any) -> bool:
        return all(_BOUNDS[name](value, limit) for name, limit in self.bounds)

    def is_required(self) -> bool:
        return self.default is _REQUIRED

    def get_default(self) -> Any:
        """Return the default; a table is copied."""
        return dict(self.default) if isinstance(self.default, dict) else self.default

    def typed(self, annotation: Any) -> "KeyField":
        """Return this field with an annotation, which is split into the type and its metadata."""
        beside = getattr(annotation, "__metadata__", ())
        return replace(self, annotation=get_args(annotation)[0] if beside else annotation, metadata=beside)


def Field(  # noqa: N802  it is used like the constructor of a type
    default: Any = _REQUIRED,
    *,
    description: str = "",
    examples: Iterable[str] = (),
    repr: bool = True,
    **bounds: Any,
) -> Any:
    """Return the description of a key. `bounds` have the names of pydantic, such as `ge` and `min_length`."""
    return KeyField(default, tuple(bounds.items()), description, tuple(examples), repr)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class ConfigSection:
    """A table of docmill.toml. A wrong value raises `pydantic.ValidationError`."""

    model_fields: ClassVar[Mapping[str, KeyField]] = {}

    def __init_subclass__(cls) -> None:
        given = {name: vars(cls).get(name, _REQUIRED) for name in cls.__annotations__}
        fields = {name: one if isinstance(one, KeyField) else KeyField(one) for name, one in given.items()}
        cls.model_fields = {name: one.typed(cls.__annotations__[name]) for name, one in fields.items()}

    def __init__(self, **values: Any) -> None:
        with suppress(ValueError):  # then pydantic converts a value, or says what is wrong
            self._fill(self._plain_values(values))
            return
        self._fill(dict(self._model()(**values)))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the section of values that were each checked; raise `ValueError` if they contradict each other."""
        section = cls.__new__(cls)
        section._fill(values)
        return section

    @classmethod
    def of_plain(cls, value: Any) -> Self:
        """Return the section of a plain table; return a section as it is."""
        return value if isinstance(value, cls) else cls.of(cls._plain_values(plain_table(value)))

    @classmethod
    def _plain_values(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        required = {name for name, one in cls.model_fields.items() if one.is_required()}
        if not required <= values.keys() <= cls.model_fields.keys():
            raise NotPlainError
        known = cls.model_fields
        return {
            name: plain(one, known[name].annotation, (*known[name].metadata, known[name]))
            for name, one in values.items()
        }

    def _fill(self, values: Mapping[str, Any]) -> None:
        absent = {name: one.get_default() for name, one in self.model_fields.items() if name not in values}
        vars(self).update({name: values[name] if name in values else absent[name] for name in self.model_fields})
        self._check()

    def _check(self) -> None:
        """Raise `ValueError` if values contradict each other."""

    @classmethod
    def model_validate(cls, values: Mapping[str, Any]) -> Self:
        """Return the section with these values by name."""
        return cls(**values)

    @classmethod
    def model_validate_json(cls, text: str) -> Self:
        """Return the section that `model_dump_json` wrote."""
        return cls(**json.loads(text))

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """Return a copy with some values replaced; the new values are not checked."""
        copy = type(self).__new__(type(self))
        vars(copy).update(vars(self) | dict(update))
        return copy

    def model_dump(
        self, *, mode: Literal["python", "json"] = "python", exclude: Iterable[str] = (), exclude_defaults: bool = False
    ) -> dict[str, Any]:
        """Return the values by name, with sections as tables; in the mode `json`, all values are JSON types."""
        kept = {name: vars(self)[name] for name in self.model_fields if name not in {*exclude}}
        if exclude_defaults:
            kept = {name: one for name, one in kept.items() if one != self.model_fields[name].default}
        return {name: _dumped(one, mode) for name, one in kept.items()}

    def model_dump_json(self, *, exclude: Iterable[str] = ()) -> str:
        """Return the values as JSON."""
        return json.dumps(self.model_dump(mode="json", exclude=exclude), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def _model(cls) -> Any:
        own: Any = cls  # mypy confuses the hash of a class with the hash of its instances
        return _model_of(own)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; `model_copy` makes another with a new {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        shown = (f"{name}={vars(self)[name]!r}" for name, one in self.model_fields.items() if one.repr)
        return f"{type(self).__name__}({', '.join(shown)})"

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> Any:
        """Return how pydantic validates a section that is part of something else."""
        return handler.generate_schema(_annotation((cls,)))


def is_section(annotation: Any) -> bool:
    """Return whether an annotation is the type of a section."""
    return isinstance(annotation, type) and issubclass(annotation, ConfigSection)


def _dumped(value: Any, mode: Literal["python", "json"]) -> Any:
    if isinstance(value, ConfigSection):
        return value.model_dump(mode=mode)
    if isinstance(value, dict):
        return {name: _dumped(one, mode) for name, one in value.items()}
    if isinstance(value, list | tuple):
        kind = list if mode == "json" else type(value)
        return kind([_dumped(one, mode) for one in value])
    return str(value) if mode == "json" and isinstance(value, Path) else value


def _matches(value: str, pattern: str) -> bool:
    # Only texts of one line, because `$` differs between pydantic's patterns and Python's.
    return "\n" not in value and re.search(pattern, value) is not None


_BOUNDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": gt,
    "ge": ge,
    "le": le,
    "min_length": lambda value, limit: len(value) >= limit,
    "max_length": lambda value, limit: len(value) <= limit,
    "pattern": _matches,
}


@cache
def _model_of(section: Any) -> Any:
    """Return the pydantic model that converts the values of a section, or refuses them."""
    from pydantic import ConfigDict, create_model, model_validator

    def check(model: Any) -> Any:
        section.of(dict(model))
        return model

    config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    checks: dict[str, Any] = {"check": model_validator(mode="after")(check)}
    fields: dict[str, Any] = {
        name: (_annotation((one.annotation, *one.metadata)), _rule(one)) for name, one in section.model_fields.items()
    }
    return create_model(section.__name__, __config__=config, __validators__=checks, **fields)


def _annotation(annotated: tuple[Any, ...]) -> Any:
    """Return a type and its metadata as an annotation, with our rules replaced by pydantic's."""
    kind, *beside = annotated
    if own := getattr(kind, "__metadata__", ()):
        return _annotation((get_args(kind)[0], *own, *beside))
    if get_origin(kind) in (tuple, dict):
        kind = get_origin(kind)[tuple(_annotation((one,)) for one in get_args(kind))]
    if is_section(kind):
        return _as_part(kind)
    return Annotated[(kind, *map(_rule, beside))] if beside else kind


def _as_part(section: type[ConfigSection]) -> Any:
    """Return the annotation for a section within another section or within a foreign model."""
    from pydantic import PlainSerializer, WrapValidator

    def made(value: Any, validate: Callable[[Any], Any]) -> ConfigSection:
        return value if isinstance(value, section) else section.of(dict(validate(value)))

    return Annotated[section._model(), WrapValidator(made), PlainSerializer(section.model_dump)]


def _rule(rule: object) -> object:
    from pydantic import BeforeValidator
    from pydantic import Field as ModelField

    if isinstance(rule, Before):
        return BeforeValidator(rule.function)
    if isinstance(rule, KeyField):
        return ModelField(**({} if rule.is_required() else {"default": rule.default}), **dict(rule.bounds))
    return rule


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number counts."""

    name: str


Bytes = Annotated[int, Unit("bytes")]
Seconds = Annotated[float, Unit("seconds")]
Minutes = Annotated[float, Unit("minutes")]
Hours = Annotated[float, Unit("hours")]
Days = Annotated[float, Unit("days")]
Megabytes = Annotated[int, Unit("megabytes")]
Dimensions = Annotated[int, Unit("dimensions")]
Tokens = Annotated[int, Unit("tokens")]
Share = Annotated[float, Unit("from 0 to 1")]
Processes = Annotated[int, Unit("processes")]
Characters = Annotated[int, Unit("characters")]
Files = Annotated[int, Unit("files")]
Times = Annotated[float, Unit("times")]
Levels = Annotated[int, Unit("levels")]
Calls = Annotated[int, Unit("calls")]
Tries = Annotated[int, Unit("tries")]
Money = Annotated[float, Unit("in the currency of `prices`")]
Hits = Annotated[int, Unit("hits")]
Queries = Annotated[int, Unit("queries")]
Snapshots = Annotated[int, Unit("snapshots")]
