"""The commands that rewrite a store: vacuum, compact, reembed."""

import os
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import AsJson, note, plain, print_json

if TYPE_CHECKING:
    from docmill.storage.snapshots.clean.compact import Compaction


@command("store", "wait_s", "retention")
def vacuum(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be removed, and remove nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete snapshots that [retention] does not keep, and their files."""
    settings = settings_of(context)
    from docmill.flows.config.from_settings import retention_of
    from docmill.storage.snapshots.clean.compact import vacuum as clean

    done = clean(settings.store, retention_of(settings), dry_run, settings.wait_s)
    _print(done, "would remove" if dry_run else "removed", as_json)


@command("store", "wait_s", "retention")
def compact(context: typer.Context, as_json: AsJson = False) -> None:
    """Merge the many small files of past commits into few.

    Vacuums as well.
    """
    settings = settings_of(context)
    from docmill.flows.config.from_settings import retention_of
    from docmill.storage.snapshots.clean.compact import compact as write_anew

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


@command("store", "wait_s", "retention", "embedding", "gate", "model")
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
    from docmill.flows.runs.phases import EMBED, Pace, Phase
    from docmill.storage.remote.mirror.open_folder import open_folder
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
