"""The commands that change what the store holds: remove, erase, undelete, publish, reembed, vacuum, compact."""

import os
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.terminal.command import settings_of, takes
from docmill.flows.cli.terminal.output import AsJson, note, plain, print_found, print_json
from docmill.flows.runs.phases import counted
from docmill.storage.errors import QueryError

if TYPE_CHECKING:
    from docmill.storage.upkeep.compact import Compaction
    from docmill.storage.upkeep.erase import Erased
    from docmill.storage.versions.removal import Removed


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for command in (remove, erase, undelete, publish, vacuum, compact):
        app.command(cls=takes("store", "wait_s", "retention"))(command)
    app.command(cls=takes("store", "wait_s", "retention", "embedding", "gate", "model"))(reembed)


def remove(
    context: typer.Context,
    sources: Annotated[list[str], typer.Argument(help="Names of the sources.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and remove nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the documents of a source from the store.

    The files of the source stay as they are. A wrong name prints the names of all sources.
    """
    settings = settings_of(context)
    from docmill.flows.remove import remove as take_out
    from docmill.flows.remove import still_named

    done = take_out(settings, sources, dry_run)
    if as_json:
        print_json(asdict(done) | {"sources": list(done.sources)})
    else:
        _print_removed(done, settings.retention.undelete_days)
    for one in still_named(settings, done.sources):
        note(f"the setting `sources` still has {one}: the next ingest adds its documents again")


def erase(
    context: typer.Context,
    uris: Annotated[list[str], typer.Argument(metavar="URI...", help="Documents, present or deleted.")],
    unlisted: Annotated[
        bool, typer.Option("--unlisted", help="Erase also what no snapshot lists any more, such as an old deletion.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and remove nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove documents from the store for good, with all older snapshots.

    Nothing can be restored afterwards: older snapshots, tags and held-back snapshots name the same files and go, too.
    Other documents stay, also deleted ones that can be restored. The command says where copies may remain.
    """
    settings = settings_of(context)
    from docmill.flows.erase import erase as wipe
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


def undelete(
    context: typer.Context,
    uris: Annotated[list[str], typer.Argument(help="Uris of the documents.")],
    as_json: AsJson = False,
) -> None:
    """Restore deleted documents without parsing or embedding them."""
    settings = settings_of(context)
    from docmill.flows.config.from_settings import retention_of
    from docmill.storage.versions.undelete import undelete as restore

    number = restore(settings.store, uris, retention_of(settings), settings.wait_s).number
    if as_json:
        print_json({"snapshot": number, "restored": uris})
    else:
        typer.echo(f"snapshot {number} holds {', '.join(map(plain, uris))}")


def publish(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Name of the held-back snapshot. Without it, list all.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the commits made since.")] = False,
    discard: Annotated[bool, typer.Option("--discard", help="Discard it instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a snapshot that the gate held back."""
    settings = settings_of(context)
    from docmill.storage.history import snapshots
    from docmill.storage.versions import candidates

    if not name and (discard or force):
        raise QueryError("name a snapshot that the gate held back; `docmill publish` lists them")
    if name and discard:
        candidates.discard(settings.store, name, settings.wait_s)
        name = None
    if name:
        number = candidates.publish(settings.store, name, force, settings.wait_s).number
        print_json({"snapshot": number}) if as_json else typer.echo(
            f"snapshot {number} published; it was held back as {plain(name)}"
        )
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
    print_found(rows, as_json, "No snapshot is held back.")


def reembed(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Option("--model", help="Local path, Hub name or model by API. The default is the model in [embedding]."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Re-embed the store with another model.

    Searches use the old vectors until all new ones are ready.
    """
    settings = settings_of(context)
    from docmill.flows.cli.terminal.interruption import interruptible, kept_of
    from docmill.flows.cli.terminal.progress import progress_shown
    from docmill.flows.config.from_settings import gate_of, payment_of, retention_of, space_of
    from docmill.flows.runs.pace import Pace
    from docmill.flows.runs.phases import EMBED, Phase
    from docmill.storage.mirror.mirror_folder import open_folder
    from docmill.tasks.publishing.reembed import CommitTerms
    from docmill.tasks.publishing.reembed import reembed as embed_again

    if model:
        settings = settings.model_copy(update={"embedding": settings.embedding.model_copy(update={"model": model})})
    space = space_of(settings)
    with interruptible(lambda: kept_of(settings.store)), progress_shown("reembed") as show:
        terms = CommitTerms(retention_of(settings), gate_of(settings), settings.wait_s)
        pace = Pace(warming=0)

        def tell(done: int, total: int) -> None:
            show(Phase(EMBED, done, total, "vectors", pace.rate(done)))

        folder = open_folder(settings.store, settings.mirrors)
        payment = payment_of(settings, folder, f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.getpid()}-reembed")
        done = embed_again(folder, space, terms, tell, payment)
    made = done.published
    if as_json:
        print_json(
            {"embedded": done.embedded, "snapshot": made and made.snapshot, "candidate": made and made.candidate}
        )
    elif made is None:
        typer.echo(f"The store already uses {plain(space.model)}.")
    elif made.candidate:
        finding = made.finding.spelled() if made.finding else ""
        typer.echo(f"The gate held the snapshot back as {made.candidate}: {plain(finding)}")
    else:
        typer.echo(
            f"snapshot {made.snapshot} has the vectors of {plain(space.model)}, {done.embedded:,} newly embedded"
        )
        note(f"for the next ingest set [embedding] model = {space.model!r}")


def vacuum(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be removed, and remove nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete snapshots that [retention] does not keep, and their files."""
    settings = settings_of(context)
    from docmill.flows.config.from_settings import retention_of
    from docmill.storage.upkeep.compact import vacuum as clean

    done = clean(settings.store, retention_of(settings), dry_run, settings.wait_s)
    _print(done, "would remove" if dry_run else "removed", as_json)


def compact(context: typer.Context, as_json: AsJson = False) -> None:
    """Merge the many small files of past commits into few.

    Vacuums as well.
    """
    settings = settings_of(context)
    from docmill.flows.config.from_settings import retention_of
    from docmill.storage.upkeep.compact import compact as write_anew

    _print(write_anew(settings.store, retention_of(settings), settings.wait_s), "removed", as_json)


def _print(done: "Compaction", verb: str, as_json: bool) -> None:
    if as_json:
        print_json(asdict(done))
        return
    numbers = ", ".join(map(str, done.removed)) or "none"
    counted = "1 snapshot" if len(done.removed) == 1 else f"{len(done.removed)} snapshots"
    typer.echo(f"{verb} {counted} ({numbers}), {done.bytes:,} bytes")
    for number in done.damaged:
        note(
            f"snapshot {number} is damaged, so the files it needs are unknown and none was removed; run docmill verify"
        )
    if done.snapshot:
        typer.echo(f"committed snapshot {done.snapshot}, with the same content in fewer files")
