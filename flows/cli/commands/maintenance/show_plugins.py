"""The command `plugins`: what other distributions add, and whether it can be used."""

from dataclasses import asdict

import typer

from docmill.flows.cli.terminal.command import command
from docmill.flows.cli.terminal.output import AsJson, note, print_found

_COLUMNS = ("group", "name", "distribution", "version")


@command()
def plugins(as_json: AsJson = False) -> None:
    """List the installed plugins: group, name, distribution, version, and what is wrong with them.

    Exits with status 1 if one of them cannot be used.
    """
    from docmill.flows.maintenance.list_plugins import plugins as find

    found = list(find())
    print_found([asdict(one) for one in found], as_json, "No plugins are installed.", _COLUMNS)
    problems = [one.problem for one in found if one.problem]
    for problem in () if as_json else problems:
        note(problem)
    raise typer.Exit(1 if problems else 0)
