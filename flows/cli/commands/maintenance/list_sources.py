"""The command `sources`: every known source with its settings, and what the last run saw of it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from docmill.flows.cli.commands.start.init_file import toml_value
from docmill.flows.cli.terminal.command import command, settings_of
from docmill.flows.cli.terminal.output import AsJson, print_found

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings

_TO_THE_MINUTE = len("2026-11-24T15:40")
_NEVER = "never"


@command("*", name="sources")
def list_sources(context: typer.Context, as_json: AsJson = False) -> None:
    """List the sources: documents, settings, what the last run listed and fetched, and when it succeeded.

    These are the sources of the settings, and those that have documents in the store. What runs on other machines saw
    is not known here.
    """
    rows = [*_rows(settings_of(context))]
    nothing = "No source is known: set `sources` in docmill.toml."
    print_found(rows if as_json else [*map(_shown, rows)], as_json, nothing)


def _rows(settings: "Settings") -> Iterator[dict[str, Any]]:
    from dataclasses import asdict

    from docmill.storage.remote.mirror.mirror_folder import open_folder
    from docmill.storage.snapshots.history.source_log import LoggedSource, logged_sources
    from docmill.tasks.sources.discover import likely_name

    held, logged = _documents(settings), logged_sources(open_folder(settings.store, settings.mirrors).root)
    named = {likely_name(one): one for one in settings.sources}
    for name in dict.fromkeys((*named, *held)):
        known = logged.get(name, LoggedSource(name))
        table = settings.source.get(name, {})
        address = {"address": named[name].removeprefix(f"{name}=") if name in named else known.address}
        yield {**asdict(known), **address, "documents": held.get(name, 0), "settings": dict(table)}


def _documents(settings: "Settings") -> dict[str, int]:
    """Return the number of documents of each source in the store; none if there is no store yet."""
    from docmill.storage.errors import StoreError
    from docmill.storage.snapshots.read.store import open_store

    try:
        with open_store(settings.store) as store:
            rows = store.sql("SELECT source, count(*) AS documents FROM documents GROUP BY source ORDER BY source")
            return {row["source"]: row["documents"] for row in rows.to_pylist()}
    except StoreError:
        return {}


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a person sees of a source."""
    since = f"since {minute(row['failed'])}: {row['message']}" if row["failed"] else ""
    return {
        "source": row["source"],
        "address": row["address"],
        "documents": row["documents"],
        "listed": _counted(row, "listed"),
        "fetched": _counted(row, "fetched"),
        "last success (UTC)": minute(row["succeeded"]) or _NEVER,
        "settings": ", ".join(f"{name} = {toml_value(value)}" for name, value in row["settings"].items()),
        "problem": since,
    }


def seen(row: Mapping[str, Any]) -> str:
    """Return what the last run saw of a source, in one phrase."""
    listed, fetched = (_counted(row, name) for name in ("listed", "fetched"))
    problem = f"; not reached since {minute(row['failed'])}" if row["failed"] else ""
    return f"{listed} listed and {fetched} fetched at {minute(row['succeeded']) or _NEVER}{problem}"


def minute(time: str) -> str:
    """Return a time to the minute."""
    return time[:_TO_THE_MINUTE].replace("T", " ")


def _counted(row: Mapping[str, Any], name: str) -> str:
    from docmill.flows.runs.phases import sized

    size = row[f"{name}_bytes"]
    return f"{row[name]:,} ({sized(size)})" if size else f"{row[name]:,}"
