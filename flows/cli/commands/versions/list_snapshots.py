"""The commands that list snapshots: history, and publish for those that the gate held back."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import AsJson, plain, print_found, print_json, print_rows
from docmill.storage.errors import QueryError

if TYPE_CHECKING:
    from docmill.storage.schema import RunRow


VERBS = ("remove", "erase", "restore", "undelete", "reembed")
"""Commands besides `ingest` that commit a run of their own; `compact` and `repair` commit without one."""
_TO_THE_MINUTE = len("2026-11-24T15:40")


@command("store")
def history(context: typer.Context, as_json: AsJson = False) -> None:
    """List the snapshots, oldest first, and what each one changed.

    `docmill search --at N` searches snapshot N, `docmill restore N` goes back to it.
    """
    settings = settings_of(context)
    from docmill.storage.arrow_schema import from_table
    from docmill.storage.schema import RunRow
    from docmill.storage.snapshots.history.tags import tags
    from docmill.storage.snapshots.read.store import open_store
    from docmill.storage.snapshots.tables.tables import read_table

    with open_store(settings.store) as store:
        snapshots = store.history()
        if as_json:
            print_json(snapshots)
            return
        runs = {run.snapshot: run for run in from_table(read_table(store.stored, "runs"), RunRow)}
        print_rows(list(history_rows(snapshots, runs, tags(store.root))))


def history_rows(
    snapshots: Sequence[Mapping[str, Any]], runs: Mapping[int, "RunRow"], tags: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `history` for a person; the last two columns are left out where they would be empty."""
    pending = any(snapshot["pending"] for snapshot in snapshots)
    for snapshot in snapshots:
        number = snapshot["snapshot"]
        own = ", ".join(tag for tag, tagged in tags.items() if tagged == number)
        yield {
            "snapshot": number,
            "created (UTC)": snapshot["created"][:_TO_THE_MINUTE].replace("T", " "),
            **_made(runs.get(number)),
            "documents": snapshot["documents"],
            "chunks": snapshot["chunks"],
            "rejected": snapshot["rejects"],
            **({"without vectors": snapshot["pending"]} if pending else {}),
            **({"tag": own} if tags else {}),
        }


def _made(run: "RunRow | None") -> dict[str, str]:
    """Return which command made a snapshot, and what that changed."""
    if run is None:
        return {"made by": "compact or repair", "change": ""}
    counts = {name: getattr(run, name) for name in ("added", "changed", "moved", "deleted")}
    change = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return {"made by": run.engine if run.engine in VERBS else "ingest", "change": change}


@command("store", "wait_s", "retention")
def publish(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Name of the held-back snapshot. Without it, list all.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the commits made since.")] = False,
    discard: Annotated[bool, typer.Option("--discard", help="Discard it instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a snapshot that the gate held back."""
    settings = settings_of(context)
    from docmill.storage.snapshots.change import candidates
    from docmill.storage.snapshots.history import snapshots

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
