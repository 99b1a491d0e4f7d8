"""Commands about what is kept: undelete, publish, reembed, vacuum, compact."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.terminal.command import settings_of, takes
from docmill.flows.cli.terminal.output import note, plain, print_found, print_json
from docmill.storage.errors import QueryError

if TYPE_CHECKING:
    from docmill.storage.upkeep.compact import Compaction

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for command in (undelete, publish, vacuum, compact):
        app.command(cls=takes("store", "wait_s", "retention"))(command)
    app.command(cls=takes("store", "wait_s", "retention", "embedding", "gate"))(reembed)


def undelete(
    context: typer.Context,
    uris: Annotated[list[str], typer.Argument(help="The documents, by uri.")],
    as_json: AsJson = False,
) -> None:
    """Bring deleted documents back, without parsing or embedding anything."""
    settings = settings_of(context)
    from docmill.flows.config.task_options import retention_of
    from docmill.storage.versions.undelete import undelete as restore

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
    from docmill.storage.history import snapshots
    from docmill.storage.versions import candidates

    if not name and (discard or force):
        raise QueryError("name what is held back; without --discard and --force all are listed")
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
    print_found(rows, as_json, "Nothing is held back.")


def reembed(
    context: typer.Context,
    model: Annotated[str, typer.Option("--model", help="A local path, or a hub name; none takes [embedding].")] = "",
    as_json: AsJson = False,
) -> None:
    """Give the store the vectors of another model; searches keep to the old ones until all are made."""
    settings = settings_of(context)
    from docmill.flows.cli.terminal.progress import progress_bar
    from docmill.flows.config.task_options import gate_of, retention_of, space_of
    from docmill.tasks.publishing.reembed import CommitTerms
    from docmill.tasks.publishing.reembed import reembed as embed_again

    if model:
        settings = settings.model_copy(update={"embedding": settings.embedding.model_copy(update={"model": model})})
    space = space_of(settings)
    with progress_bar("reembed") as progress:
        terms = CommitTerms(retention_of(settings), gate_of(settings), settings.wait_s)
        done = embed_again(settings.store, space, terms, progress)
    made = done.published
    if as_json:
        print_json(
            {"embedded": done.embedded, "snapshot": made and made.snapshot, "candidate": made and made.candidate}
        )
    elif made is None:
        typer.echo(f"The store's vectors are those of {plain(space.model)} already.")
    elif made.candidate:
        typer.echo(f"The gate has kept it back as {made.candidate}: {made.finding and made.finding.spelled()}")
    else:
        typer.echo(f"snapshot {made.snapshot} has the vectors of {plain(space.model)}, {done.embedded:,} made now")
        note(f"for the next ingest set [embedding] model = {space.model!r}")


def vacuum(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would go, and remove nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the snapshots that [retention] does not keep, and their files."""
    settings = settings_of(context)
    from docmill.flows.config.task_options import retention_of
    from docmill.storage.upkeep.compact import vacuum as clean

    done = clean(settings.store, retention_of(settings), dry_run, settings.wait_s)
    _print(done, "would remove" if dry_run else "removed", as_json)


def compact(context: typer.Context, as_json: AsJson = False) -> None:
    """Write anew in few files what many commits have left in many; a vacuum is part of it."""
    settings = settings_of(context)
    from docmill.flows.config.task_options import retention_of
    from docmill.storage.upkeep.compact import compact as write_anew

    _print(write_anew(settings.store, retention_of(settings), settings.wait_s), "removed", as_json)


def _print(done: "Compaction", verb: str, as_json: bool) -> None:
    if as_json:
        print_json(asdict(done))
        return
    numbers = ", ".join(map(str, done.removed)) or "none"
    typer.echo(f"{verb} {len(done.removed)} snapshots ({numbers}), {done.bytes:,} bytes")
    for number in done.damaged:
        note(f"snapshot {number} is damaged, and what it needs not known, so no file was removed; see: docmill verify")
    if done.snapshot:
        typer.echo(f"committed snapshot {done.snapshot}, with the same content in fewer files")
