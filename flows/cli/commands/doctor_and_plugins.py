"""The commands that check the machine, the store and the plugins: doctor, plugins."""

from dataclasses import asdict
from typing import Annotated

import typer

from docmill.flows.cli.terminal.capabilities import colours
from docmill.flows.cli.terminal.command import assigned_of, command
from docmill.flows.cli.terminal.output import AsJson, note, plain, print_found, print_json

_COLOURS = {"ok": "green", "note": "yellow", "broken": "red"}
_DEEP = typer.Option("--deep", help="Read every file of the store and compare its checksum, as verify does.")


@command("*")
def doctor(
    context: typer.Context,
    deep: Annotated[bool, _DEEP] = False,
    as_json: AsJson = False,
) -> None:
    """Check Python, packages, model, programs, store, Prefect and disk, and say what to type.

    Exits with status 1 if something is broken that these settings need. A missing part that they do not need is a note.
    """
    from docmill.flows.maintenance.checkup import checkup

    found = list(checkup(context.meta["flags"], context.meta["config"], deep, assigned_of(context)))
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        width = max(len(one.name) for one in found)
        for one in found:
            state = typer.style(f"{one.state:<6}", fg=_COLOURS[one.state]) if colours() else f"{one.state:<6}"
            remedy = f"  → {plain(one.remedy)}" if one.remedy else ""
            typer.echo(f"{state}  {one.name:<{width}}  {plain(one.found)}{remedy}")
    raise typer.Exit(1 if any(one.state == "broken" for one in found) else 0)


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
