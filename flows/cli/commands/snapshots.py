"""The commands that list, publish, tag, compare and restore snapshots."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.search_and_sql import At
from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import AsJson, minute, note, plain, print_found, print_json, print_rows
from docmill.storage.errors import QueryError

if TYPE_CHECKING:
    from docmill.storage.schema import RunRow
    from docmill.storage.snapshots.change.diff import Change, Difference
    from docmill.storage.snapshots.change.restoring import Restored

VERBS = ("remove", "erase", "restore", "undelete", "reembed")
"""Commands besides `ingest` that commit their own run; `compact` and `repair` commit without one."""


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
    """Yield the rows of `history` for the terminal, without the last two columns if they would be empty."""
    pending = any(snapshot["pending"] for snapshot in snapshots)
    for snapshot in snapshots:
        number = snapshot["snapshot"]
        own = ", ".join(tag for tag, tagged in tags.items() if tagged == number)
        yield {
            "snapshot": number,
            "created (UTC)": minute(snapshot["created"]),
            **_made(runs.get(number)),
            "documents": snapshot["documents"],
            "chunks": snapshot["chunks"],
            "rejected": snapshot["rejects"],
            **({"without vectors": snapshot["pending"]} if pending else {}),
            **({"tag": own} if tags else {}),
        }


def _made(run: "RunRow | None") -> dict[str, str]:
    """Return the command that made a snapshot, and what it changed."""
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
    from docmill.storage.snapshots.change import candidate_snapshots
    from docmill.storage.snapshots.history import snapshots

    if not name and (discard or force):
        raise QueryError("name a snapshot that the gate held back; `docmill publish` lists them")
    if name and discard:
        candidate_snapshots.discard(settings.store, name, settings.wait_s)
        name = None
    if name:
        number = candidate_snapshots.publish(settings.store, name, force, settings.wait_s).number
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


_SPAN = re.compile(r"(.*)\[(\d+):(\d+)\]", re.DOTALL)
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}


@command("store", "wait_s")
def tag(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The tag. Without it, list all tags.")] = None,
    at: At = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the tag.")] = False,
    as_json: AsJson = False,
) -> None:
    """Name a snapshot, by default the newest.

    A named snapshot is kept until the name is deleted.
    """
    settings = settings_of(context)
    from docmill.storage.snapshots.change.tagging import delete_tag, set_tag
    from docmill.storage.snapshots.history import tags

    if name is None:
        if at or delete:
            raise QueryError("name a tag")
        _print_tags(tags.tags(settings.store), as_json)
    elif delete:
        delete_tag(settings.store, name, settings.wait_s)
        _print_tags(tags.tags(settings.store), as_json)
    else:
        number = set_tag(settings.store, name, at, settings.wait_s)
        _print_tags({name: number}, as_json)


def _print_tags(held: dict[str, int], as_json: bool) -> None:
    rows = [{"tag": name, "snapshot": number} for name, number in held.items()]
    print_found(rows, as_json, "No snapshot has a tag.")


@command("store")
def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(help="A kept snapshot, by number or tag.")],
    new: Annotated[str | None, typer.Argument(help="A second snapshot. The default is the newest.")] = None,
    text: Annotated[bool, typer.Option("--text", help="Show text changes as a diff.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what changed between two snapshots.

    Lists documents and chunks that were added, removed, changed or moved.
    """
    settings = settings_of(context)
    from docmill.storage.snapshots.change.diff import diff as compare
    from docmill.storage.snapshots.read.store import open_store

    before, after = open_store(settings.store, old), open_store(settings.store, new)
    found = compare(before.stored, after.stored, texts=text)
    if as_json:
        print_json(asdict(found))
    else:
        _print_difference(found)


def _print_difference(found: "Difference") -> None:
    typer.echo(f"snapshot {found.old} → {found.new}")
    if min(found.vectors) < 1:
        before, after = (int(100 * share) for share in found.vectors)
        typer.echo(f"vectors  {before} % → {after} % of the chunks")
    for name, changes in (("documents", found.documents), ("chunks", found.chunks)):
        typer.echo(f"{name}  {_counts(changes)}")
        for change in _joined(changes):
            places = dict.fromkeys(plain(place) for place in (change.before, change.after) if place)
            typer.echo(f"  {_SIGNS[change.kind]} {' → '.join(places)}")
            for line in change.text:
                typer.echo(f"      {line[:1]}{plain(line[1:])}")


def _joined(changes: Iterable["Change"]) -> Iterator["Change"]:
    """Yield changes. Consecutive chunks of a document that moved by the same distance are joined into one change."""
    for distance, run in groupby(changes, _distance):
        first, *others = run
        if distance is None or not others:
            yield from (first, *others)
            continue
        before, after = (
            f"{start[: start.rindex(':')]}:{end[end.rindex(':') + 1 :]}"
            for start, end in ((first.before, others[-1].before), (first.after, others[-1].after))
            if start and end
        )
        yield replace(first, before=before, after=f"{after}, {1 + len(others):,} chunks")


def _distance(change: "Change") -> tuple[str, str, int] | None:
    """Return the old and new document of a moved chunk and the distance, or None for another change."""
    was, now = (_SPAN.fullmatch(place or "") for place in (change.before, change.after))
    return (was[1], now[1], int(now[2]) - int(was[2])) if change.kind == "moved" and was and now else None


def _counts(changes: Iterable["Change"]) -> str:
    counts = Counter(change.kind for change in changes)
    return ", ".join(f"{counts[kind]} {kind}" for kind in _SIGNS if counts[kind]) or "no change"


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
        note("the next ingest compares your files with this snapshot, and ingests the differing files")


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
