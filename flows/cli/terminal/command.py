"""Command: a command class with flags for the settings, which reports an expected failure in one line."""

import inspect
import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, get_args, get_origin

import typer

from docmill.flows.cli.terminal.capabilities import colours
from docmill.flows.cli.terminal.given_values import take_plainly
from docmill.flows.cli.terminal.help_pages import GroupedCommands, PanelledOptions
from docmill.flows.cli.terminal.output import ADDRESS, NAME, for_terminal, harmless, note
from docmill.storage.errors import ConfigError, DocmillError, Transient

if TYPE_CHECKING:
    from docmill.flows.config.configuration import Key, KeyPath
    from docmill.flows.config.settings import Settings
    from docmill.storage.snapshots.read.store import Store

FAILED, WRONG_USAGE = 1, 2
"""Exit statuses: an error with a message, and a wrong command line."""


def wants_json(context: Any) -> bool:
    """Return whether JSON output was requested."""
    parameters = context.params
    return bool(parameters.get("as_json")) or str(parameters.get("form", "")).startswith("json")


def tell(error: Exception, as_json: bool, debug: bool = False) -> None:
    """Print an error in one line, or as a JSON object; with `debug`, its traceback first.

    Both go to standard error. On standard output an error would reach a program as if it were a result:
    `docmill search --json … | jq -r '.[].uri'` would print `null` for it and go on.
    """
    if debug:
        typer.echo(harmless(traceback.format_exc()), err=True, nl=False)
    if as_json:
        kind = type(error).__name__ if isinstance(error, DocmillError) else OSError.__name__
        tell_json(kind, _spelled(error), FAILED, retry=isinstance(error, Transient))
        return
    for finding in error.args if isinstance(error, ConfigError) else (_spelled(error),):
        note(finding, typer.style(NAME, fg="red", bold=True) if colours(sys.stderr) else NAME)


def tell_json(kind: str, message: str, status: int, retry: bool = False) -> None:
    """Print an error as one line of JSON on standard error.

    `kind` is the name of a class in `docmill.errors`, `OSError` or `UsageError`; `retry` says whether the same call may
    work later.
    """
    told = {"error": {"kind": kind, "message": message, "retry": retry, "status": status}}
    text = json.dumps(told, ensure_ascii=False)
    typer.echo(for_terminal(text) if sys.stderr.isatty() else text.encode("utf-8", "backslashreplace"), err=True)


def _spelled(error: Exception) -> str:
    """Return the message of an error, without the errno of an OSError."""
    if not isinstance(error, DocmillError) and isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


_SETTINGS = ("set", "config")


def command_group(name: str, purpose: str) -> typer.Typer:
    """Return an empty group of commands with its purpose in the help."""
    return typer.Typer(name=name, cls=GroupedCommands, help=purpose, rich_markup_mode=None, no_args_is_help=True)


def settings_of(context: typer.Context) -> "Settings":
    """Return the settings for this invocation of a command."""
    from docmill.flows.config.configuration import load

    settings = load(context.meta["flags"], context.meta["config"], assigned=assigned_of(context))
    # Only for commands on a store: `explain` must not fetch the list of snapshots from a bucket.
    reaches = {"*", "store"} & {*getattr(context.command, "sections", ())}
    return _reach(settings) if reaches else settings


def opened_store(context: typer.Context, at: str | None = None, principals: Sequence[str] | None = None) -> "Store":
    """Return the store of the settings, opened at a snapshot or a tag."""
    settings = settings_of(context)
    from docmill.storage.snapshots.read.store import open_store

    return open_store(settings.store, at, principals=principals)


def checked_settings_of(context: typer.Context, ahead: "Callable[[Settings], None] | None" = None) -> "Settings":
    """Return the settings for a command that ingests; raise `ConfigError` with a finding for each wrong value.

    `ahead` is called with the settings before the check, which loads most modules of a run.
    """
    settings = settings_of(context)
    if ahead:
        ahead(settings)
    from docmill.flows.config.check_values import wrong_values
    from docmill.flows.config.configuration import spelled

    if wrong := list(wrong_values(settings)):
        raise ConfigError(*spelled(wrong, context.meta["flags"], context.meta["config"], assigned_of(context)))
    return settings


def settings_file_of(context: typer.Context) -> Path:
    """Return the path of the settings file, which need not exist."""
    from docmill.flows.config.configuration import FILE_NAME, chosen_file

    return (chosen_file(context.meta["config"]) or Path(FILE_NAME)).absolute()


def assigned_of(context: typer.Context) -> "dict[KeyPath, Any]":
    """Return the values of `--set` by key path."""
    if not context.meta["set"]:
        return {}
    from docmill.flows.config.assignments import read_assignments

    assigned, flags = read_assignments(context.meta["set"]), context.meta["flags"]
    twice = [".".join(path) for path in assigned if any(path[: len(flag)] == flag for flag in flags)]
    if twice:
        raise ConfigError(*(f"--set {key} and a flag for the same key were given; give one of them" for key in twice))
    return assigned


def _reach(settings: "Settings") -> "Settings":
    """Replace a store on object storage by its local mirror, with an up-to-date list of snapshots if it answers."""
    from docmill.storage.remote.mirror.open_folder import open_folder

    transfers = logging.getLogger("docmill.remote")
    transfers.setLevel(logging.INFO)
    # Replaced rather than added: a test or service may call several commands in one process.
    transfers.handlers = [_Notes()]
    folder = open_folder(settings.store, settings.mirrors)
    folder.refresh_if_possible()
    return settings.model_copy(update={"store": folder.root})


UsageError: Any = typer.BadParameter.__mro__[1]
"""The base class of errors in a command line, which typer 0.26 does not export."""


class _Notes(logging.Handler):
    """Prints the log messages of libraries on standard error, each warning once."""

    def __init__(self) -> None:
        super().__init__()
        self._warned: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if record.levelno < logging.WARNING or message not in self._warned:
            note(message)
        self._warned.add(message)


class SettingsCommand(PanelledOptions):
    """A command that takes the settings of some sections of docmill.toml, by `--set` or their own flags."""

    sections: tuple[str, ...] = ()

    def panel_of(self, parameter: Any) -> str:
        """Return "Settings" for parameters that set a key or name the settings file."""
        is_setting = parameter.name in _SETTINGS or parameter.name.startswith(_name_of())
        return "Settings" if is_setting else super().panel_of(parameter)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's parameters, followed by those of its settings."""
        return take_plainly([*super().get_params(ctx), *_setting_options(self.sections)])

    def invoke(self, ctx: Any) -> Any:
        """Run the command. An expected failure is printed on standard error and exits with status 1."""
        config = ctx.params.pop("config")
        ctx.meta["config"] = Path(config) if config else None  # typer 0.26 gives a string
        ctx.meta["set"] = ctx.params.pop("set", None) or []
        debug = ctx.params.pop("debug")
        given = {key.path: ctx.params.pop(_name_of(*key.path)) for key in _keys_of(self.sections)}
        ctx.meta["flags"] = {path: value for path, value in given.items() if value not in (None, [], ())}
        try:
            _check_paths(self.callback, ctx.params)
            with _stoppable() if "wait_s" in self.sections else nullcontext():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (DocmillError, OSError) as error:
            tell(error, wants_json(ctx), debug)
            raise typer.Exit(FAILED) from None
        except UsageError as error:
            _tell_usage(error, wants_json(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. With `--json`, an error in the command line is printed as JSON, too."""
        as_json, typed = "--json" in args, list(args)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            _tell_usage(self._with_suggestion(error, ctx, typed), as_json)

    def _with_suggestion(self, error: Any, ctx: Any, typed: list[str]) -> Any:
        """Return the error, for an unknown option with a suggestion."""
        if hasattr(error, "possibilities"):
            from docmill.flows.cli.terminal.unknown_option import suggestion

            name, error.possibilities = error.option_name, None
            after = " ".join(typed).partition(name)[2].lstrip("= ").partition(" ")[0]
            said = suggestion(self, ctx, name, "" if after.startswith("-") else after)
            error.message += f". {said}" if said else ""
        return error


def _check_paths(callback: Callable[..., Any] | None, given: Mapping[str, Any]) -> None:
    """Raise `ConfigError` for an address in place of a path, because as a path it would name a new folder."""
    parameters = inspect.signature(callback).parameters if callback else {}
    for name, one in parameters.items():
        kind = get_args(one.annotation)[0] if get_origin(one.annotation) is Annotated else one.annotation
        if Path in (kind, *get_args(kind)) and ADDRESS.match(str(given.get(name) or "")):
            address = str(given[name]).replace(":/", "://", 1)
            raise ConfigError(f"{address} is an address; {name} takes a path of this machine")


def _stoppable() -> AbstractContextManager[None]:
    """Return a context in which a signal ends a writing command and releases what other machines wait for.

    Commands with all settings, such as `ingest`, do this themselves and print what is kept of their work.
    """
    from docmill.flows.cli.terminal.interruption import COMMITTED_IS_KEPT, interruptible

    return interruptible(lambda: COMMITTED_IS_KEPT)


def _tell_usage(error: Any, as_json: bool) -> NoReturn:
    """Raise the error for typer to print, or print it as JSON and end the command."""
    if not as_json:
        raise error
    tell_json("UsageError", error.format_message(), WRONG_USAGE)
    raise typer.Exit(WRONG_USAGE) from None


def takes(*sections: str) -> type[SettingsCommand]:
    """Return a command class that takes these sections and top-level keys; "*" means all."""
    mirrors = ("mirrors",) if "store" in sections else ()
    return type("SettingsCommand", (SettingsCommand,), {"sections": (*sections, *mirrors)})


def command(*sections: str, name: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that marks a function as a command with these sections, named like it or by `name`."""

    def marked(function: Callable[..., None]) -> Callable[..., None]:
        vars(function)["command"] = name, takes(*sections)
        return function

    return marked


def add_commands(app: typer.Typer, module: ModuleType) -> None:
    """Add the commands and groups that a module defines."""
    for one in [*vars(module).values()]:
        if isinstance(one, typer.Typer):
            app.add_typer(one)
        elif getattr(one, "__module__", "") == module.__name__ and hasattr(one, "command"):
            name, kind = one.command
            app.command(name, cls=kind)(one)


def _name_of(*path: str) -> str:
    """Return the parameter name of a key."""
    return "__".join(("setting", *path))


def _keys_of(sections: tuple[str, ...]) -> list["Key"]:
    from docmill.flows.config.configuration import keys

    return [key for key in keys() if key.flag and ("*" in sections or key.path[0] in sections)]


@cache
def _setting_options(sections: tuple[str, ...]) -> tuple[Any, ...]:
    """Return an option for each key, built by typer from a function with these parameters."""

    def command(**_: Any) -> None: ...

    parameters = [_parameter(key) for key in _keys_of(sections)]
    if sections:
        parameters.append(_shared("set", list[str] | None, None, _SET, metavar="KEY=VALUE", autocompletion=_keys_like))
    parameters.append(_shared("config", Path | None, None, _CONFIG, metavar="FILE"))
    parameters.append(_shared("debug", bool, False, "Show the traceback of an error."))
    # typer reads options from a signature, and no written function could have a parameter for each key.
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return tuple(typer.main.get_command(app).params)


_CONFIG = "Use this settings file instead of the nearest docmill.toml."
_SET = "Set any other key, such as chunk.context_tokens=60; may be repeated. `docmill settings` lists the keys."


def _keys_like(incomplete: str) -> list[str]:
    """Return the beginnings of assignments for a shell to complete."""
    from docmill.flows.config.configuration import keys

    return [f"{key.dotted}=" for key in keys() if key.dotted.startswith(incomplete)]


def _shared(name: str, kind: Any, default: Any, text: str, **more: Any) -> inspect.Parameter:
    option = typer.Option(f"--{name}", help=text, show_default=False, **more)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _parameter(key: "Key") -> inspect.Parameter:
    annotation: Any = key.field.annotation
    default = key.field.get_default()
    option = typer.Option(
        key.flag,
        help=f"{key.field.description} [default: {default}]" if default not in ((), {}, "") else key.field.description,
        metavar=_metavar(annotation),
        show_default=False,
    )
    # As text, so that errors in a value have the same message wherever it comes from.
    kind: Any = list[str] if annotation == tuple[str, ...] else str
    return inspect.Parameter(
        _name_of(*key.path), inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _metavar(annotation: Any) -> str | None:
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    return {int: "N", float: "X", Path: "PATH"}.get(annotation, "TEXT")
