"""The command that updates files and databases of other programs: export."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.commands.search_and_sql import At, Principal
from docmill.flows.cli.terminal.command import command, opened_store
from docmill.flows.cli.terminal.interruption import interruptible
from docmill.flows.cli.terminal.output import AsJson, note, print_json, print_text
from docmill.flows.cli.terminal.progress import waiting
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.storage.exports.export import Exported
    from docmill.storage.snapshots.read.store import Store

_KEPT = "run the same command again to finish"
_CHANGES = ("added", "changed", "removed")


@command("store")
def export(
    context: typer.Context,
    to: Annotated[
        str,
        typer.Argument(
            show_default=False,
            help="NAME.jsonl, NAME.parquet, jsonl:FOLDER, parquet:FOLDER, hf:FOLDER, lancedb:FOLDER, qdrant:FOLDER,"
            " qdrant:http://HOST:PORT or postgresql://HOST/DATABASE.",
        ),
    ],
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Table or collection of a database. [default: chunks]", show_default=False),
    ] = None,
    where: Annotated[str | None, typer.Option(metavar="SQL", help="Only chunks that match this SQL condition.")] = None,
    at: At = None,
    principal: Principal = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="N|TAG", help="Only what changed since this snapshot, and ids of removed chunks; files only."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a target that was exported with other options.")
    ] = False,
    atlas: Annotated[
        bool, typer.Option("--atlas", help="Write the map for embedding-atlas: to NAME.parquet or a folder.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Sync chunks and vectors to a file or database.

    The first export writes all chunks. Later ones write changed chunks and delete removed ones. Passwords and keys come
    from the environment, such as PGPASSWORD and QDRANT_API_KEY.
    """
    if atlas:
        if table or where or since or replace:
            raise ConfigError("--atlas writes the whole map: it takes no --table, --where, --since or --replace")
        from docmill.storage.exports.export import path_of

        target = path_of(to)
        _export_map(opened_store(context, at, principal), target, as_json)
        return
    opened = opened_store(context, at, principal)
    with opened as store, interruptible(lambda: _KEPT), waiting("exporting"):
        done = store.export(to, table=table, where=where, since=since, replace=replace)
    if as_json:
        print_json(asdict(done))
    else:
        print_text(_spelled(done))
    _end(done.pending)


def _end(pending: int) -> None:
    """End the command, with the status for partly done if chunks without vectors were left out."""
    if pending:
        from docmill.flows.runs.phases import counted
        from docmill.flows.runs.report import EXIT_PARTLY

        note(f"left out, as they wait for their vectors: {counted(pending, 'chunks')}; docmill ingest embeds them")
        raise typer.Exit(EXIT_PARTLY)


def _export_map(opened: "Store", to: Path, as_json: bool) -> None:
    """Write the map of a snapshot for embedding-atlas, and print how to open it."""
    from docmill.flows.measure.atlas_files import write_atlas
    from docmill.flows.runs.phases import counted

    with opened as store, interruptible(lambda: _KEPT), waiting("placing the chunks"):
        done = write_atlas(store, to)
        number = store.snapshot.number
    if as_json:
        print_json({"snapshot": number, **asdict(done), "command": done.command})
    else:
        left = f", {done.left_out:,} left out" if done.left_out else ""
        print_text(f"{done.chunks}: snapshot {number}, {counted(done.points, 'points')}{left}")
        note(f"open it with: {done.command}")
    _end(done.pending)


def _spelled(done: "Exported") -> str:
    """Return a line that summarizes an export."""
    from docmill.flows.runs.phases import counted

    counts = {name: getattr(done, name) for name in _CHANGES}
    changes = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "no change"
    return f"{done.target}: snapshot {done.snapshot}, {counted(done.chunks, 'chunks')} ({changes})"
