"""The commands about logged queries: the group `queries`, and `replay`."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.search_and_sql import At, Mode
from docmill.flows.cli.terminal.command import command, command_group, opened_store, settings_of, takes
from docmill.flows.cli.terminal.output import AsJson, note, print_found, print_json
from docmill.flows.runs.phases import counted

if TYPE_CHECKING:
    from docmill.storage.snapshots.read.replay import ReplayedQuery

_EMPTY = "No query is logged; `queries.log = true` in docmill.toml logs what is asked from then on."
_NO_GAPS = "Every logged query has a hit that is likely to answer it."

group = command_group("queries", "Show what people ask, and what the documents do not answer.")


@group.command("list", cls=takes("store"))
def list_queries(
    context: typer.Context,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, metavar="N", help="Number of queries.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the logged queries, the most frequent first."""
    with opened_store(context) as store:
        found = [asdict(one) for one in store.queries()[:limit]]
    print_found(found if as_json else [_row(one) for one in found], as_json, _EMPTY)


def _row(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "times": one["times"],
        "query": one["query"],
        "last": one["last"][:10],
        "hits": one["hits"],
        "confidence": _share(one["confidence"]),
    }


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


@group.command(cls=takes("store"))
def gaps(context: typer.Context, at: At = None, as_json: AsJson = False) -> None:
    """List the queries that have no good answer, grouped by meaning.

    Asks each of them again, at most 200.
    """
    with opened_store(context, at) as store:
        found = store.gaps()
        is_logged = bool(found or store.queries())
    rows = [asdict(one) for one in found] if as_json else [
        {"times": one.times, "words": " ".join(one.words), "queries": " · ".join(own.query for own in one.queries)}
        for one in found
    ]  # fmt: skip
    print_found(rows, as_json, _NO_GAPS if is_logged else _EMPTY)


@group.command(cls=takes("store"))
def clear(context: typer.Context, as_json: AsJson = False) -> None:
    """Remove all logged queries, on other machines as well."""
    settings = settings_of(context)
    from docmill.storage.remote.mirror.open_folder import open_folder
    from docmill.storage.snapshots.history import query_log

    gone = query_log.clear(open_folder(settings.store).existing())
    print_json({"removed": gone}) if as_json else typer.echo(f"{counted(gone, 'queries')} removed")


@command("store", "search")
def replay(
    context: typer.Context,
    old: Annotated[str, typer.Argument(help="A kept snapshot, by number or tag.")],
    new: Annotated[
        str | None, typer.Argument(help="A second snapshot, or a candidate. The default is the newest.")
    ] = None,
    queries: Annotated[
        list[str] | None, typer.Option("--query", metavar="QUERY", help="Ask this instead; may be repeated.")
    ] = None,
    k: Annotated[int, typer.Option("-k", "--limit", min=1, metavar="N", help="Number of hits to compare.")] = 10,
    mode: Annotated[Mode, typer.Option(help="Search mode.")] = Mode.hybrid,
    as_json: AsJson = False,
) -> None:
    """Ask the most frequent queries of two snapshots, and show what moved.

    Asks the 100 queries that were logged most often, and no language model.
    """
    settings = settings_of(context)
    from docmill.flows.config.search_settings import how_of
    from docmill.storage.snapshots.read.store import open_store

    how = how_of(settings.search)
    if how.get("expand") == "model":
        how["expand"] = ""
    with open_store(settings.store, old) as before, open_store(settings.store, new) as after:
        found = before.replay(after, queries, k, mode.value, **how)
        numbers = before.snapshot.number, after.snapshot.number
    if as_json:
        print_json([asdict(one) for one in found])
        return
    moved = [one for one in found if not one.same]
    if found:
        note(f"snapshot {numbers[0]} → {numbers[1]}: {len(moved)} of {counted(len(found), 'queries')} moved")
    print_found([_moved(one) for one in moved], False, "Nothing moved." if found else _EMPTY)


def _moved(one: "ReplayedQuery") -> dict[str, Any]:
    return {
        "query": one.query,
        "times": one.times,
        "kept": f"{one.kept:.0%}",
        "confidence": " → ".join(map(_share, one.confidence)),
        "first": one.first[0] if one.first[0] == one.first[1] else " → ".join(one.first),
        "entered": _few(one.entered),
        "left": _few(one.left),
    }


def _few(uris: Sequence[str]) -> str:
    return ", ".join(uris[:2]) + (f" +{len(uris) - 2}" if len(uris) > 2 else "")
