"""The commands that show documents and their chunks: list, show, explain."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.commands.search_and_sql import At
from docmill.flows.cli.terminal.command import command, opened_store, settings_of
from docmill.flows.cli.terminal.output import (
    AsJson,
    may_write,
    note,
    plain,
    print_found,
    print_json,
    print_rows,
    write_output,
)
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.tasks.chunking.route import Route

_DAY = len("2026-11-24")
_OPENING = 60
"""Characters of a chunk's text that `show` prints, enough to tell the chunks apart."""


@command("store", name="list")
def list_documents(
    context: typer.Context,
    prefix: Annotated[str, typer.Argument(help="Only documents whose uri begins with this.", show_default=False)] = "",
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="Only documents that match this SQL condition.")
    ] = None,
    limit: Annotated[int | None, typer.Option("-n", "--limit", min=1, metavar="N", help="Number of documents.")] = None,
    after: Annotated[str, typer.Option(metavar="URI", help="Only documents after this one.", show_default=False)] = "",
    at: At = None,
    as_json: AsJson = False,
) -> None:
    """List the documents: their type, chunks, size, dates and warnings."""
    from docmill.flows.serving.answers import document_row
    from docmill.storage.sql.document_warnings import messages_of

    with opened_store(context, at) as store:
        rows = store.documents(where, prefix=prefix, after=after, limit=limit)
        found = [document_row(row) | {"warnings": messages_of(row.metadata, row.metadata_warnings)} for row in rows]
        print_found(found if as_json else [*map(_listed, found)], as_json, "No document matches.")
        if limit is not None and len(found) == limit < store.snapshot.rows("documents"):
            note(f"there may be more; add --after {plain(found[-1]['uri'])!r}")


def _listed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of the list for a document."""
    return {
        "uri": row["uri"],
        "type": row["format"],
        "content": row["content_type"],
        "chunks": row["chunks"],
        "bytes": row["size"],
        "created": str(row["created"] or "")[:_DAY],
        "modified": str(row["modified"] or "")[:_DAY],
        "warnings": "; ".join(row["warnings"]),
    }


@command("store")
def show(
    context: typer.Context,
    uri: Annotated[str, typer.Argument(help="The uri of a document, as `docmill list` prints it.", show_default=False)],
    at: At = None,
    as_json: AsJson = False,
) -> None:
    """Show one document: its facts, its outline and its chunks."""
    from docmill.flows.serving.answers import CHUNK_COLUMNS, document_row, section_row
    from docmill.storage.snapshots.read.outline import outline
    from docmill.storage.snapshots.read.stored_documents import chunks_in

    with opened_store(context, at) as store:
        document = store.document(uri)
        chunks = chunks_in(store, document.row, CHUNK_COLUMNS)
    facts = {**document_row(document.row), "metadata": document.metadata, "warnings": document.warnings}
    sections = [section_row(one) for one in outline(document.text, document.elements)]
    if as_json:
        print_json({"document": facts, "sections": sections, "chunks": chunks})
        return
    _print_facts(facts)
    for title, rows in (("outline", [*_outlined(sections)]), ("chunks", [*_shortened(chunks)])):
        typer.echo(f"\n{title}")
        print_rows(rows) if rows else typer.echo("none")


def _print_facts(facts: Mapping[str, Any]) -> None:
    """Print the known facts, one per line."""
    known = {name: value for name, value in facts.items() if value and name != "metadata"}
    width = max(map(len, known))
    for name, value in known.items():
        said = f"{value:,}" if isinstance(value, int) else "; ".join(value) if name == "warnings" else str(value)
        typer.echo(f"{name.replace('_', ' '):<{width}}  {plain(said)}")


def _outlined(sections: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    paged = any(section["page"] for section in sections)
    for section in sections:
        yield {
            "section": section["number"],
            "heading": section["heading"],
            "characters": section["characters"],
            "line": section["line"],
            **({"page": section["page"]} if paged else {}),
        }


def _shortened(chunks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    paged = any(chunk["page"] for chunk in chunks)
    for chunk in chunks:
        yield {
            "chunk": chunk["ordinal"],
            "span": f"{chunk['start_char']}-{chunk['end_char']}",
            "tokens": chunk["tokens"],
            "content": chunk["content_type"],
            "strategy": chunk["strategy"],
            "line": chunk["line"],
            **({"page": chunk["page"]} if paged else {}),
            "text": " ".join(chunk["text"][: 2 * _OPENING].split())[:_OPENING],
        }


@command("sources", "discover", "parse", "embedding", "chunk", "routes", "split")
def explain(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file. It need not belong to a store or a source.")],
    strategy: Annotated[list[str] | None, typer.Option(help="Also split with this strategy; may be repeated.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="K=V", help="Option of --strategy, such as size=100 or recursive.size=100."),
    ] = None,
    limit: Annotated[
        int, typer.Option("-k", "-n", "--limit", min=0, metavar="N", help="Number of chunks to show; 0 shows all.")
    ] = 100,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", callback=may_write, help="Write an HTML page that shows the chunks.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Show how a file is split.

    Lists the content type of each region, the rule that routes it, and the chunks.
    """
    settings = settings_of(context)
    from docmill.flows.explain import explain as find

    found = find(settings, file, _trials(settings, strategy or [], option or []))
    if html is not None:
        from docmill.flows.cli.pages.explain_chunks_html import page

        write_output(html, page(found).encode())
        note(f"wrote {html}")
    if as_json:
        print_json(found.as_json())
    elif html is None:
        from docmill.flows.cli.pages.explain_chunks_text import draw

        draw(found, limit)


def _trials(settings: "Settings", strategies: list[str], options: list[str]) -> dict[str, "Route"]:
    """Return the routes to try, by name."""
    from docmill.tasks.chunking.route import Route

    if options and not strategies:
        raise ConfigError("--option needs a --strategy to apply to")
    values: dict[str, dict[str, Any]] = {name: dict(settings.split.get(name, {})) for name in strategies}
    for one in options:
        key, separator, value = one.partition("=")
        owner, _, name = key.rpartition(".")
        if not separator or owner not in ("", *strategies):
            raise ConfigError(f"--option must be NAME=VALUE or STRATEGY.NAME=VALUE of a --strategy, got {one!r}")
        for strategy in [owner] if owner else strategies:
            values[strategy][name] = _value(value)
    return {_title(name, own): Route(name, own) for name, own in values.items()}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _title(strategy: str, values: dict[str, Any]) -> str:
    return " ".join([strategy, *(f"{name}={value}" for name, value in values.items())])
