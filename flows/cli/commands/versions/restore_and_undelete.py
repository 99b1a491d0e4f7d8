"""The commands that go back: restore to a snapshot, undelete to a document."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import AsJson, note, plain, print_json

if TYPE_CHECKING:
    from docmill.storage.snapshots.change.restoring import Restored


@command("store", "wait_s", "retention")
def restore(
    context: typer.Context,
    snapshot: Annotated[str, typer.Argument(help="A kept snapshot, by number or tag. `docmill history` lists them.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go back to an earlier snapshot.

    Commits a new snapshot with the documents of the earlier one; nothing is parsed or embedded. All snapshots stay.
    """
    settings = settings_of(context)
    from docmill.flows.config.from_settings import retention_of
    from docmill.storage.snapshots.change.restoring import restore as go_back

    done = go_back(settings.store, snapshot, retention_of(settings), dry_run, settings.wait_s)
    print_json(asdict(done)) if as_json else _print_restored(done)


def _print_restored(done: "Restored") -> None:
    documents = f"  documents  {done.added:,} added, {done.changed:,} changed, {done.removed:,} removed"
    if done.same:
        typer.echo(f"Nothing to do: the newest snapshot has the contents of snapshot {done.earlier}.")
    elif done.snapshot is None:
        typer.echo(f"This would commit a snapshot with the contents of snapshot {done.earlier}\n{documents}")
    else:
        typer.echo(f"Snapshot {done.snapshot} committed, with the contents of snapshot {done.earlier}\n{documents}")
        note("the next ingest compares your files with this snapshot, and ingests those that differ")


@command("store", "wait_s", "retention")
def undelete(
    context: typer.Context,
    uris: Annotated[list[str], typer.Argument(help="Uris of the documents.")],
    as_json: AsJson = False,
) -> None:
    """Restore deleted documents without parsing or embedding them."""
    settings = settings_of(context)
    from docmill.flows.config.from_settings import retention_of
    from docmill.storage.snapshots.change.restoring import undelete as restore

    number = restore(settings.store, uris, retention_of(settings), settings.wait_s).number
    if as_json:
        print_json({"snapshot": number, "restored": uris})
    else:
        typer.echo(f"snapshot {number} holds {', '.join(map(plain, uris))}")
