"""Commands about what is kept: undelete, publish, vacuum, compact."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.command import settings_of, takes
from flows.cli.output import plain, print_json, print_rows

if TYPE_CHECKING:
    from storage.compact import Compaction

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for command in (undelete, publish, vacuum, compact):
        app.command(cls=takes("store", "wait_s", "retention"))(command)


def undelete(
    context: typer.Context,
    uris: Annotated[list[str], typer.Argument(help="The documents, by uri.")],
    as_json: AsJson = False,
) -> None:
    """Bring deleted documents back, without parsing or embedding anything."""
    settings = settings_of(context)
    from flows.recipe import retention_of
    from storage.undelete import undelete as restore

    number = restore(settings.store, uris, retention_of(settings), settings.wait_s).number
    if as_json:
        print_json({"snapshot": number, "restored": uris})
    else:
        typer.echo(f"snapshot {number} holds {', '.join(map(plain, uris))}")


def publish(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="What the gate has held back; without one, list all.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Undo what was committed since.")] = False,
    discard: Annotated[bool, typer.Option("--discard", help="Give it up instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a snapshot current that the [gate] has held back."""
    settings = settings_of(context)
    from storage import candidates, snapshots

    if name and discard:
        candidates.discard(settings.store, name, settings.wait_s)
        name = None
    if name:
        number = candidates.publish(settings.store, name, force, settings.wait_s).number
        print_json({"snapshot": number}) if as_json else typer.echo(f"snapshot {number} is what was {name}")
        return
    held = [snapshots.read_candidate(settings.store, one) for one in snapshots.candidates(settings.store)]
    rows = [
        {
            "candidate": one,
            "created": state.created,
            "documents": state.rows("documents"),
            "chunks": state.rows("chunks"),
        }
        for one, state in zip(snapshots.candidates(settings.store), held, strict=True)
    ]
    if as_json:
        print_json(rows)
    elif rows:
        print_rows(rows)
    else:
        typer.echo("Nothing is held back.")


def vacuum(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would go, and remove nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the snapshots that [retention] does not keep, and their files."""
    settings = settings_of(context)
    from flows.recipe import retention_of
    from storage.compact import vacuum as clean

    done = clean(settings.store, retention_of(settings), dry_run, settings.wait_s)
    _print(done, "would remove" if dry_run else "removed", as_json)


def compact(context: typer.Context, as_json: AsJson = False) -> None:
    """Write anew in few files what many commits have left in many; a vacuum is part of it."""
    settings = settings_of(context)
    from flows.recipe import retention_of
    from storage.compact import compact as write_anew

    _print(write_anew(settings.store, retention_of(settings), settings.wait_s), "removed", as_json)


def _print(done: "Compaction", verb: str, as_json: bool) -> None:
    if as_json:
        print_json(asdict(done))
        return
    numbers = ", ".join(map(str, done.removed)) or "none"
    typer.echo(f"{verb} {len(done.removed)} snapshots ({numbers}), {done.bytes:,} bytes")
    if done.snapshot:
        typer.echo(f"committed snapshot {done.snapshot}, with the same content in fewer files")
