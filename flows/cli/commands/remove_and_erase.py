"""The commands that remove documents from a store: remove, erase."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import AsJson, note, plain, print_json
from docmill.flows.runs.phases import counted

if TYPE_CHECKING:
    from docmill.storage.snapshots.change.removal import Removed
    from docmill.storage.snapshots.clean.erase import Erased


@command("store", "wait_s", "retention")
def remove(
    context: typer.Context,
    sources: Annotated[list[str], typer.Argument(help="Names of the sources.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the documents of a source from the store.

    The files of the source stay as they are. A wrong name prints the names of all sources.
    """
    settings = settings_of(context)
    from docmill.flows.maintenance.remove_and_erase import remove as take_out
    from docmill.flows.maintenance.remove_and_erase import still_named

    done = take_out(settings, sources, dry_run)
    if as_json:
        print_json(asdict(done) | {"sources": list(done.sources)})
    else:
        _print_removed(done, settings.retention.undelete_days)
    for one in still_named(settings, done.sources):
        note(f"the setting `sources` still has {one}: the next ingest adds its documents again")


def _print_removed(done: "Removed", undelete_days: float) -> None:
    units = {"documents": done.documents, "chunks": done.chunks, "rejected files": done.rejects}
    gone = ", ".join(counted(count, unit) for unit, count in units.items() if count or unit != "rejected files")
    named = ", ".join(map(plain, done.sources))
    if done.snapshot is None:
        typer.echo(f"This would remove {named}: {gone}")
        return
    typer.echo(f"Snapshot {done.snapshot} committed, without {named}: {gone} removed")
    one = f"docmill undelete URI brings one document back for {undelete_days:g} days; " if undelete_days else ""
    note(f"{one}docmill restore {done.snapshot - 1} goes back to the snapshot before")


@command("store", "wait_s", "retention")
def erase(
    context: typer.Context,
    uris: Annotated[list[str], typer.Argument(metavar="URI...", help="Documents, present or deleted.")],
    unlisted: Annotated[
        bool, typer.Option("--unlisted", help="Erase also what no snapshot lists any more, such as an old deletion.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove documents from the store for good, with all older snapshots.

    Nothing can be restored afterwards: older snapshots, tags and held-back snapshots name the same files and are
    deleted, too. Other documents stay, also deleted ones that can be restored. The command says where copies
    may remain.
    """
    settings = settings_of(context)
    from docmill.flows.maintenance.remove_and_erase import erase as wipe
    from docmill.flows.runs.report import EXIT_PARTLY

    done = wipe(settings, uris, unlisted, dry_run)
    print_json(asdict(done)) if as_json else _print_erased(done)
    for one in done.remains:
        note(f"not erased: {one}")
    if done.open:
        numbers = ", ".join(map(str, done.open))
        note(f"a reader keeps snapshot {numbers} open, and with it the text: close it, and type the same command again")
        raise typer.Exit(EXIT_PARTLY)


def _print_erased(done: "Erased") -> None:
    units = {
        "documents": done.documents,
        "chunks": done.chunks,
        "deleted documents": done.restorable,
        "rejected files": done.rejects,
        "questions": done.questions,
        "judgements": done.judgements,
    }
    gone = ", ".join(counted(count, unit) for unit, count in units.items() if count) or "what older files hold"
    named = ", ".join(map(plain, done.uris))
    typer.echo(f"{'This would erase' if done.snapshot is None else 'Erased'} {named}: {gone}")
    others = {"snapshots": done.snapshots, "tags": done.tags, "held back": done.candidates}
    for what, names in others.items():
        if names:
            typer.echo(f"  {what:<9}  {', '.join(map(plain, map(str, names)))} removed")
    if done.snapshot is not None:
        typer.echo(f"  Snapshot {done.snapshot} is all that is left, {done.bytes:,} bytes freed")
