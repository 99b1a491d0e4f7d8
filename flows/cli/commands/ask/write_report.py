"""The command that writes the page of a store as files: report."""

from pathlib import Path
from typing import Annotated

import typer

from docmill.flows.cli.commands.ask.search_and_sql import At, Principal
from docmill.flows.cli.commands.ask.serve_stores import places
from docmill.flows.cli.terminal.command import UsageError, command, settings_of
from docmill.flows.cli.terminal.interruption import interruptible
from docmill.flows.cli.terminal.output import note, print_text
from docmill.flows.cli.terminal.progress import waiting

_HELD = 1000
"""Documents whose texts a report holds unless more are asked for: a browser searches as many while one types."""


@command("store")
def report(
    context: typer.Context,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FOLDER", help="Folder to write to (required). An earlier report in it is replaced."
        ),
    ] = None,
    documents: Annotated[
        int,
        typer.Option("--documents", min=0, metavar="N", help="Include the texts of the N documents changed last."),
    ] = _HELD,
    at: At = None,
    principal: Principal = None,
) -> None:
    """Export the web page as a static site.

    Open FOLDER/index.html in a browser. A report holds at most 20 million characters of document texts.
    """
    if html is None:
        raise UsageError("Name the folder to write to, such as: docmill report --html report", context)
    settings = settings_of(context)
    from docmill.flows.runs.phases import counted
    from docmill.flows.serving.open_stores import ServedStore
    from docmill.flows.serving.page.report_files import write_report
    from docmill.storage.snapshots.read.store import open_store

    (name,) = places((), settings)
    opened = open_store(settings.store, at, principals=principal)
    with opened as store, interruptible(lambda: "nothing was written"), waiting("writing"):
        done = write_report(ServedStore(name, store), html, documents)
    print_text(f"{done.folder / 'index.html'}: snapshot {done.snapshot}, {done.held:,} of {done.documents:,} documents")
    if done.pending:
        note(f"left out of the map, as they wait for their vectors: {counted(done.pending, 'chunks')}")
    if done.held < done.documents:
        why = "--documents N holds more" if done.held == documents else "more characters are too many for a browser"
        note(f"left out the texts of {done.documents - done.held:,} documents: {why}")
