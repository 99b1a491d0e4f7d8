"""The commands that query the store: search, sql."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.terminal.command import settings_of, takes
from docmill.flows.cli.terminal.output import aligned, as_json_text, for_terminal, is_terminal, note, plain, print_json
from docmill.flows.cli.terminal.progress import waiting
from docmill.flows.runs.visible_text import visible
from docmill.storage.errors import QueryError, Transient

if TYPE_CHECKING:
    import pyarrow as pa

    from docmill.flows.config.settings import Settings
    from docmill.storage.reader.store import Store
    from docmill.storage.retrieval.candidates.hit import Hit
    from docmill.storage.retrieval.candidates.search_options import Rewrite


class Mode(StrEnum):
    """The rankings that a search uses."""

    hybrid = "hybrid"
    vector = "vector"
    keyword = "keyword"


class TableFormat(StrEnum):
    """The output format of a table."""

    table = "table"
    json = "json"
    csv = "csv"
    parquet = "parquet"


At = Annotated[str | None, typer.Option("--at", metavar="N|TAG", help="A kept snapshot, by number or tag.")]

_VIEWS = "chunks, documents, routing, warnings, rejects, runs, costs, snapshots, evaluations, deleted, deleted_chunks"


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(cls=takes("store", "search"))(search)
    app.command(cls=takes("store"))(sql)


def search(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(help="The question.", show_default=False)] = None,
    k: Annotated[int, typer.Option("-k", "--limit", min=1, metavar="N", help="Number of hits.")] = 5,
    mode: Annotated[Mode, typer.Option(help="Search mode.")] = Mode.hybrid,
    where: Annotated[str | None, typer.Option(metavar="SQL", help="Only chunks that match this SQL condition.")] = None,
    at: At = None,
    parents: Annotated[bool, typer.Option("--parents", help="Return the parent of each chunk, once.")] = False,
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="Search for each line of a file.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the rank of each hit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the hits as JSON, with explanations.")] = False,
) -> None:
    """Find the chunks that answer a question."""
    asked = _asked(query, queries)
    settings = settings_of(context)
    if where is not None:
        _prepare()
    from docmill.flows.config.search_settings import how_of
    from docmill.storage.reader.store import open_store

    store = open_store(settings.store, at)
    how = how_of(settings.search)
    how["parents"] = parents
    with waiting("searching"):
        found = store.search_all(asked, k, mode.value, where, rewrite=_rewrite_of(settings), **how)
    if store.snapshot.pending and mode is not Mode.keyword:
        note(f"vectors {store.snapshot.spelled_vectors()}; chunks without one are found by their keywords alone")
    if as_json:
        lists = [[asdict(hit) for hit in hits] for hits in found]
        pairs = [{"query": text, "hits": hits} for text, hits in zip(asked, lists, strict=True)]
        print_json(lists[0] if query is not None else pairs)
        return
    for text, hits in zip(asked, found, strict=True):
        if query is None:
            typer.echo(f"# {plain(text)}")
        _print_hits(store, text, hits, explain)


def _rewrite_of(settings: "Settings") -> "Rewrite | None":
    """Return the query rewriter if the settings ask for one; without it, a search imports nothing of a run."""
    if settings.search.expand != "model":
        return None
    from docmill.flows.config.from_settings import rewrite_of

    return rewrite_of(settings)


def _asked(query: str | None, queries: Path | None) -> list[str]:
    """Return the queries of a command line, which has either one query or a file of queries."""
    if (query is None) == (queries is None):
        raise typer.BadParameter("give either a query or --queries FILE")
    if queries is None:
        return [query or ""]
    try:
        lines = queries.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise QueryError(f"{queries}: not UTF-8 ({error.reason} at byte {error.start})") from None
    asked = [line.strip() for line in lines if line.strip()]
    if not asked:
        raise QueryError(f"{queries}: no query in the file; write one per line")
    return asked


def _print_hits(store: "Store", query: str, hits: Sequence["Hit"], explain: bool) -> None:
    from docmill.flows.cli.terminal.snippet import snippet

    for hit in hits:
        headings = f"  {' › '.join(map(plain, hit.headings))}" if hit.headings else ""
        typer.echo(f"{hit.rank}. {hit.score:.3f}  {_place(store, hit)}{headings}")
        typer.echo(f"   {snippet(query, hit.text, mark=is_terminal())}")
        for line in _explained(hit) if explain else ():
            typer.echo(f"     {plain(line)}")
    if not hits:
        typer.echo("No hits.")


def _explained(hit: "Hit") -> Iterator[str]:
    """Yield lines that explain the rank of a hit."""
    if hit.vector_score is not None:
        yield f"vectors: rank {hit.vector_rank}, cosine {hit.vector_score:.3f}"
    if hit.keyword_score is not None:
        terms = ", ".join(f"{term} {gain:.2f}" for term, gain in sorted(hit.terms.items(), key=lambda pair: -pair[1]))
        yield f"keywords: rank {hit.keyword_rank}, BM25 {hit.keyword_score:.3f} ({terms})"
    for step in hit.steps:
        yield f"{step.step} {step.score:.3f}: {step.said}"


def _place(store: "Store", hit: "Hit") -> str:
    if hit.page:
        return f"{plain(hit.uri)} page {hit.page}"
    try:
        text = store.document(hit.uri).text
    except Transient:  # an object store does not answer, and the mirror lacks the text that the line is counted in
        return plain(hit.uri)
    return f"{plain(hit.uri)}:{text.count(chr(10), 0, hit.start_char) + 1}"


def sql(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help=f"One SELECT over {_VIEWS}.")],
    form: Annotated[TableFormat, typer.Option("--format", help="Output format.")] = TableFormat.table,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the rows to this file.")] = None,
    at: At = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Query the store with SQL."""
    form = TableFormat.json if as_json else form
    if form is TableFormat.parquet and output is None and is_terminal():
        raise typer.BadParameter("parquet cannot be printed on a terminal; name a file with --output")
    settings = settings_of(context)
    _prepare()
    from docmill.storage.reader.store import open_store

    shown = output is None and is_terminal()
    data = render(open_store(settings.store, at).sql(query), form, shown)
    if output is not None:
        output.write_bytes(data)
    else:
        typer.get_binary_stream("stdout").write(data)


def _prepare() -> None:
    """Start the process that runs SQL, which loads its libraries while this one loads its own."""
    from docmill.storage.sql.statement_pool import prepare

    prepare()


def render(table: "pa.Table", form: TableFormat, shown: bool = False) -> bytes:
    """Return a table in a format; raise `QueryError` if the format cannot hold it.

    `shown` is for a terminal: characters that could control it are escaped, and every row of CSV is one line.
    """
    twice = next((name for name in table.column_names if table.column_names.count(name) > 1), "")
    if twice and form in (TableFormat.json, TableFormat.parquet):
        raise QueryError(f"{form.value} cannot hold two columns named {twice!r}; name them apart with AS")
    return _parquet(table) if form is TableFormat.parquet else _RENDER[form](table, shown).encode()


def _json(table: "pa.Table", shown: bool) -> str:
    text = as_json_text([dict(zip(table.column_names, row, strict=True)) for row in _rows(table)])
    return f"{for_terminal(text) if shown else text}\n"


def _csv(table: "pa.Table", shown: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    spell = visible if shown else str
    for row in [table.column_names, *_words(table)]:
        writer.writerow([spell(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue()


def _table(table: "pa.Table", _: bool) -> str:
    return f"{aligned(table.column_names, _words(table))}\n"


_RENDER = {TableFormat.json: _json, TableFormat.csv: _csv, TableFormat.table: _table}


def _rows(table: "pa.Table") -> list[tuple[Any, ...]]:
    from docmill.storage.sql.sandbox import columns_of

    return list(zip(*columns_of(table), strict=True))


def _words(table: "pa.Table") -> list[list[Any]]:
    return [[_word(value) for value in row] for row in _rows(table)]


def _word(value: Any) -> Any:
    """Return a boolean as SQL spells it, and a list or a struct as JSON."""
    return as_json_text(value) if isinstance(value, bool | list | dict) else value


def _parquet(table: "pa.Table") -> bytes:
    from pyarrow import ArrowNotImplementedError, parquet

    data = io.BytesIO()
    try:
        parquet.write_table(table, data)
    except ArrowNotImplementedError as error:
        raise QueryError(f"parquet cannot hold a column ({error}); cast it, as in length::VARCHAR") from None
    return data.getvalue()
