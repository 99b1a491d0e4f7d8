"""The command group `docmill judge`: judge answers to queries, list judgements, and export them as questions."""

import getpass
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.commands.search_and_sql import At
from docmill.flows.cli.terminal.command import command_group, opened_store, takes
from docmill.flows.cli.terminal.output import AsJson, may_write, note, plain, print_found, print_json, write_output
from docmill.flows.runs.phases import counted
from docmill.storage.errors import QueryError

if TYPE_CHECKING:
    from docmill.storage.snapshots.read.judging import JudgedPassage

_SHOWN = 60
"""Characters of a quotation in the list: enough to recognize it, and short enough for one line."""


group = command_group("judge", "Say which passages answer a query, for `evaluate` and `tune`.")


@group.command("list", cls=takes("store"))
def list_judgements(
    context: typer.Context,
    query: Annotated[str | None, typer.Option(metavar="QUERY", help="Only judgements of this query.")] = None,
    at: At = None,
    as_json: AsJson = False,
) -> None:
    """List what people have judged, and where each passage is now."""
    with opened_store(context, at) as store:
        found = store.judgements(query)
    rows = [one.as_row() for one in found] if as_json else [_row(one) for one in found]
    print_found(rows, as_json, "Nothing was judged yet.")


def _row(one: "JudgedPassage") -> dict[str, str]:
    own = one.judgement
    return {
        "query": own.query,
        "verdict": f"{own.verdict}, disputed" if one.disputed else own.verdict,
        "by": own.judged_by,
        "passage": own.quotation[:_SHOWN],
        "state": one.state,
        "uri": one.uri or own.uri,
    }


@group.command(cls=takes("store"))
def add(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="The query.")],
    chunk: Annotated[
        str, typer.Option("--chunk", metavar="ID", help="The chunk that is judged; `search --json` gives ids.")
    ] = "",
    uri: Annotated[str, typer.Option("--uri", metavar="URI", help="The document whose passage is judged.")] = "",
    quote: Annotated[str, typer.Option("--quote", metavar="TEXT", help="The passage, in the document's words.")] = "",
    wrong: Annotated[bool, typer.Option("--wrong", help="The passage does not answer.")] = False,
    nothing: Annotated[bool, typer.Option("--nothing", help="Nothing in the store answers.")] = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Your name; by default that of the account.")
    ] = None,
    remark: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    at: At = None,
    as_json: AsJson = False,
) -> None:
    """Judge a passage as an answer to a query."""
    if nothing and (chunk or uri):
        raise QueryError("--nothing says that no passage answers: leave out --chunk and --uri")

    name = getpass.getuser() if by is None else by
    with opened_store(context, at) as store:
        made = store.judge(query, chunk or None, not (wrong or nothing), by=name, uri=uri, quotation=quote, note=remark)
    if as_json:
        print_json(asdict(made))
    else:
        typer.echo(f"{made.verdict}: {plain(made.query)}{f' – {plain(made.uri)}' if made.uri else ''}")


@group.command(cls=takes("store"))
def withdraw(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(help="Ids of judgements, as `judge list --json` gives them.")],
    as_json: AsJson = False,
) -> None:
    """Take judgements back."""
    with opened_store(context) as store:
        gone = [store.withdraw(one) for one in ids]
    if as_json:
        print_json([asdict(one) for one in gone])
    else:
        typer.echo(f"{counted(len(gone), 'judgements')} withdrawn")


@group.command(cls=takes("store"))
def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(callback=may_write, help="The CSV file to write.")],
    at: At = None,
    as_json: AsJson = False,
) -> None:
    """Write the judged queries with their answers as the questions that `evaluate` reads."""
    from docmill.tasks.evaluate.judgement_questions import as_csv, questions_of

    with opened_store(context, at) as store:
        judged = store.judgements()
    questions = questions_of(judged)
    write_output(file, as_csv(questions).encode())
    lost = [one for one in judged if one.state == "lost"]
    if as_json:
        print_json({"file": str(file), "questions": len(questions), "judgements": len(judged), "lost": len(lost)})
        return
    typer.echo(f"{counted(len(questions), 'questions')} from {counted(len(judged), 'judgements')} written to {file}")
    _tell_lost(lost)


def _tell_lost(lost: Sequence["JudgedPassage"]) -> None:
    for one in lost:
        note(f"lost: no document has {one.judgement.quotation[:_SHOWN]!r} of {one.judgement.uri} any more")
