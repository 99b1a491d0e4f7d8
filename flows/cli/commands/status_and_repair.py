"""The commands that inspect and repair the store: status, sources, verify, repair, rejects."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.ingest_and_plan import print_report, run
from docmill.flows.cli.commands.init import toml_value
from docmill.flows.cli.terminal.command import checked_settings_of, command, opened_store, settings_of
from docmill.flows.cli.terminal.output import AsJson, minute, note, plain, print_found, print_json, print_rows
from docmill.flows.runs.phases import first_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from docmill.flows.config.settings import Settings
    from docmill.storage.snapshots.clean.repair import Encode

MOST_NAMED = 10
"""Number of documents named as at risk, which fits on a terminal; `--json` names all."""


@command("store")
def status(
    context: typer.Context,
    cluster: Annotated[bool, typer.Option("--cluster", help="Show the workers of [cluster] instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the store contains."""
    settings = settings_of(context)
    if cluster:
        _show_workers(settings, as_json)
        return
    from docmill.storage.snapshots.read.store import open_store

    _follow(settings.store)
    store = open_store(settings.store)
    facts = store.status()
    if as_json:
        print_json(facts)
        return
    facts["vectors"] = store.snapshot.spelled_vectors()
    facts["source_runs"] = {row["source"]: seen(row) for row in facts["source_runs"]}
    facts["poorly_read"] = {
        lang: f"{poor['documents']:,} ({poor['share']:.0%} of the letters unread)"
        for lang, poor in facts["poorly_read"].items()
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name.replace('_', ' '):<{width}}  {plain(_phrase(value))}")


def _show_workers(settings: "Settings", as_json: bool) -> None:
    """Print a row for each worker of the cluster."""
    from docmill.flows.cluster.cluster_engine import cluster_status

    rows = cluster_status(settings)
    print_json(rows) if as_json else print_rows(rows)


def _follow(store: Path) -> None:
    """Correct `current/` and `views.sql` after a copy, a move or an update of docmill."""
    from docmill.storage.errors import StoreError
    from docmill.storage.remote.mirror.open_folder import open_folder
    from docmill.storage.snapshots.write.current_folder import follow

    try:
        if follow(open_folder(store)):
            note("wrote views.sql and current/ again, after a copy, a move or an update of docmill")
    except StoreError as error:
        note(f"views.sql belongs to another folder and could not be written again: {error}")


def _phrase(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_phrase(part)}" for name, part in value.items()) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


@command("store")
def verify(
    context: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", help="Read every file and object and compare its checksum.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check that tables, artifacts, postings and vectors agree.

    Prints one line for each finding.
    """
    settings = settings_of(context)
    from docmill.storage.remote.mirror.open_folder import open_folder
    from docmill.storage.snapshots.clean.verify import verify as find

    findings = find(settings.store, deep=deep)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            typer.echo(plain(str(finding)))
    for one in open_folder(settings.store).set_aside():
        note(f"set aside by a repair: {one}")
    note({0: "no findings", 1: "1 finding"}.get(len(findings), f"{len(findings)} findings"))
    raise typer.Exit(1 if findings else 0)


@command("store", "wait_s")
def repair(
    context: typer.Context,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Leave out documents whose damaged files have no intact copy.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Rebuild lost or damaged files, and restore files that only the bucket or a mirror still has.

    Exits with status 1 if documents would be lost without --accept-loss, with status 3 if some have to be ingested
    again.
    """
    settings = settings_of(context)
    from docmill.storage.remote.mirror.open_folder import open_folder
    from docmill.storage.snapshots.clean.repair import repair as mend

    done = mend(settings.store, _encoder_of(settings.store), settings.wait_s, accept_loss)
    if as_json:
        print_json(asdict(done))
    elif done.done or not done.at_stake:
        typer.echo("\n".join(map(plain, done.done)) or "Nothing needed repair.")
    for what in done.lost:
        note(f"lost: {what}; ingest its source to restore it")
    if done.at_stake:
        _advise(done.at_stake, open_folder(settings.store).name)
    raise typer.Exit(1 if done.at_stake else 3 if done.lost else 0)


def _advise(at_stake: Sequence[str], store: str) -> None:
    """Print what would be lost, and what the user can do to prevent it."""
    note(f"not repaired, because this would be lost: {first_of(sorted(at_stake), MOST_NAMED)}")
    note("nothing was removed. Restore the damaged files from a copy of the store,")
    from docmill.storage.address import is_address

    if is_address(store):
        note("or run any docmill command on a machine whose mirror has intact copies: it returns them;")
    note(f"or accept the loss: docmill repair --accept-loss --store {store}")
    note("the next ingest then restores the documents whose source files still exist")


def _encoder_of(root: Path) -> "Encode":
    """Return an encoder with the store's model, which is loaded on the first call."""
    from docmill.storage.snapshots.history.snapshots import read

    def encode(texts: Sequence[str]) -> "npt.NDArray[np.float32]":
        from docmill.storage.search.encode.encoder import load_encoder
        from docmill.storage.snapshots.history.probed_models import probe_model

        space = probe_model(root, read(root).space)
        return load_encoder(space.model, space.revision, space.light).encode(texts)

    return encode


@command("*")
def rejects(
    context: typer.Context,
    retry: Annotated[bool, typer.Option("--retry", help="Try them again by ingesting `sources`.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the rejected files and the reason for each."""
    from docmill.flows.runs.run_options import RunOptions

    if retry:
        print_report(run(checked_settings_of(context), (), RunOptions(retry=True)), as_json)

    columns = "uri, reason, message, parser, content_hash, size, source, first_seen, last_seen"
    rows = opened_store(context).sql(f"SELECT {columns} FROM rejects ORDER BY uri").to_pylist()
    print_found(rows, as_json, "Nothing was rejected.", ("uri", "reason", "message"))


_NEVER = "never"


@command("*", name="sources")
def list_sources(context: typer.Context, as_json: AsJson = False) -> None:
    """List the sources: documents, settings, what the last run listed and fetched, and when it succeeded.

    These are the sources of the settings, and others with documents in the store. Runs on other machines are not shown.
    """
    rows = [*_rows(settings_of(context))]
    nothing = "No source is known: set `sources` in docmill.toml."
    print_found(rows if as_json else [*map(_shown, rows)], as_json, nothing)


def _rows(settings: "Settings") -> Iterator[dict[str, Any]]:
    from dataclasses import asdict

    from docmill.storage.remote.mirror.open_folder import open_folder
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
    """Return the number of documents of each source; empty if there is no store yet."""
    from docmill.storage.errors import StoreError
    from docmill.storage.snapshots.read.store import open_store

    try:
        with open_store(settings.store) as store:
            rows = store.sql("SELECT source, count(*) AS documents FROM documents GROUP BY source ORDER BY source")
            return {row["source"]: row["documents"] for row in rows.to_pylist()}
    except StoreError:
        return {}


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of the table for a source."""
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
    """Return a phrase on what the last run found in a source."""
    listed, fetched = (_counted(row, name) for name in ("listed", "fetched"))
    problem = f"; not reached since {minute(row['failed'])}" if row["failed"] else ""
    return f"{listed} listed and {fetched} fetched at {minute(row['succeeded']) or _NEVER}{problem}"


def _counted(row: Mapping[str, Any], name: str) -> str:
    from docmill.flows.runs.phases import sized

    size = row[f"{name}_bytes"]
    return f"{row[name]:,} ({sized(size)})" if size else f"{row[name]:,}"
