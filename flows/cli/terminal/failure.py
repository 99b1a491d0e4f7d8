"""Failure: how a command tells of an error: one line for a person, one JSON object with `--json`.

Both go to standard error. On standard output an error would reach a program as if it were a result:
`docmill search --json … | jq -r '.[].uri'` would print `null` for it and go on.
"""

import json
import sys
import traceback
from typing import Any

import typer

from docmill.flows.cli.terminal.capabilities import colours
from docmill.flows.cli.terminal.output import NAME, for_terminal, harmless, note
from docmill.storage.errors import ConfigError, DocmillError, Transient

FAILED, WRONG_USAGE = 1, 2
"""Exit statuses: an error that a message explains, and a command line that is wrong."""


def wants_json(context: Any) -> bool:
    """Return whether a command was asked for JSON."""
    parameters = context.params
    return bool(parameters.get("as_json")) or str(parameters.get("form", "")).startswith("json")


def tell(error: Exception, as_json: bool, debug: bool = False) -> None:
    """Print an error on standard error; with `debug`, its traceback first."""
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
