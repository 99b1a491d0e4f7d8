"""The commands that name and compare snapshots: tag, diff."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.commands.ask.search_and_sql import At
from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import AsJson, plain, print_found, print_json
from docmill.storage.errors import QueryError

if TYPE_CHECKING:
    from docmill.storage.snapshots.change.diff import Change, Difference


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
    """Yield changes, with chunks of a document that moved by the same distance, one after the other, as one of all."""
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
    """Return from which document to which a chunk has moved, and how far; None for any other change."""
    was, now = (_SPAN.fullmatch(place or "") for place in (change.before, change.after))
    return (was[1], now[1], int(now[2]) - int(was[2])) if change.kind == "moved" and was and now else None


def _counts(changes: Iterable["Change"]) -> str:
    counts = Counter(change.kind for change in changes)
    return ", ".join(f"{counts[kind]} {kind}" for kind in _SIGNS if counts[kind]) or "no change"
