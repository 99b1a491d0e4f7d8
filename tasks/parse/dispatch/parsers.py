"""Parsers: the registry of parsers, and the formats that plugins add."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from importlib import import_module
from typing import Any

from docmill.storage.errors import ConfigError, Rejected
from docmill.storage.plugins.origin import described
from docmill.storage.plugins.registry import Registry, Seam, nearest
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.parser import Parser, ParserPlugin, parser_of_plugin
from docmill.tasks.parse.formats import FORMATS, FileType, ParseOptions
from docmill.tasks.parse.partition.unstructured_formats import NEEDED, UnstructuredOptions, lacking
from docmill.tasks.parse.programming_languages import BY_SUFFIX

_OUR_SUFFIXES = frozenset(BY_SUFFIX).union(*(form.suffixes for form in FORMATS.values()))


def _parser_of(form: str) -> Parser:
    """Return the parser of a built-in format, which has the format's name."""

    def parse(data: bytes, _type: FileType, limits: ParseOptions, _options: Any) -> Parsed:
        return FORMATS[form].parse(data, limits)

    return Parser(form, FORMATS[form].version, {form: ()}, parse)


def _parse_partitioned(data: bytes, file_type: FileType, limits: ParseOptions, options: UnstructuredOptions) -> Parsed:
    reader = import_module("docmill.tasks.parse.partition.unstructured_reader")
    parsed: Parsed = reader.parse_partitioned(data, file_type.format, limits, options)
    return parsed


def unstructured_parser() -> Parser:
    """Return the parser; the library is imported only when it reads a file."""
    formats: dict[str, Any] = dict.fromkeys(NEEDED, ())
    return Parser("unstructured", 1, formats, _parse_partitioned, UnstructuredOptions, lacking, "unstructured")


PARSERS: Registry[Parser] = Registry(
    Seam("docmill.parsers", "parser", ParserPlugin),
    {form: _parser_of(form) for form in FORMATS} | {"unstructured": unstructured_parser()},
    parser_of_plugin,
)


def plugged() -> Iterator[Parser]:
    """Yield the usable parsers of plugins."""
    for name in PARSERS:
        if name not in PARSERS.own:
            with suppress(ConfigError):
                yield PARSERS[name]


def unusable() -> str:
    """Return what is wrong with unusable plugin parsers, or ""."""
    problems = (one.problem for one in PARSERS.listed() if one.problem)
    return "".join(f"; {problem}" for problem in dict.fromkeys(problems))


def default_parser(form: str) -> Parser | None:
    """Return the default parser of a format: the built-in one, else a plugin's, or None.

    Raise `Rejected` if several plugins read a format that docmill does not.
    """
    if form in FORMATS:
        return PARSERS[form]
    found = [one for one in plugged() if form in one.formats]
    if len(found) > 1:
        names = " and ".join(map(str, found))
        raise Rejected("unsupported", f"{form} is read by {names}; choose one of them in [[parse.readers]]")
    return found[0] if found else None


def format_of_suffix(suffix: str) -> str:
    """Return the plugin format with a suffix, or ""; suffixes that docmill knows give ""."""
    if suffix in _OUR_SUFFIXES:
        return ""
    return next((name for one in plugged() for name, signs in one.formats.items() if suffix in signs), "")


def format_of_signature(data: bytes, kind: str) -> str:
    """Return the plugin format of a binary file that docmill does not read, or ""; `kind` is docmill's guess."""
    for one in plugged():
        for name, signs in one.formats.items():
            begun = any(data.startswith(sign) for sign in signs if isinstance(sign, bytes))
            if begun or (kind and name == kind):
                return name
    return ""


def options_of_parser(name: str, values: Mapping[str, Any]) -> Any:
    """Return a parser's options; raise ConfigError for an unknown parser or option, or an invalid value."""
    kind = PARSERS[name].options
    names = [field.name for field in fields(kind)]
    for given in values:
        if given not in names:
            hint = nearest(given, names) if names else "it has none"
            raise ConfigError(f"{name} has no option {given!r}; {hint}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{name}: {described(error)}") from None
