"""The commands that query the store: search, sql."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docmill.flows.cli.terminal.command import command, opened_store, settings_of
from docmill.flows.cli.terminal.output import is_terminal, may_write, note, plain, print_json, write_output
from docmill.flows.cli.terminal.progress import waiting
from docmill.flows.cli.terminal.table_formats import BINARY, TableFormat, format_of, render
from docmill.storage.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from docmill.flows.config.settings import Settings
    from docmill.storage.search.rank.candidates.hit import Hit
    from docmill.storage.search.rank.candidates.search_options import Rewrite
    from docmill.storage.snapshots.read.store import Store


class Mode(StrEnum):
    """The rankings that a search can use."""

    hybrid = "hybrid"
    vector = "vector"
    keyword = "keyword"


Passages = Annotated[
    int | None,
    typer.Option(
        "--passages",
        min=0,
        metavar="TOKENS",
        help="Keep only the sentences that answer, up to this many tokens over all hits.",
        show_default=False,
    ),
]
MinConfidence = Annotated[
    float | None,
    typer.Option(
        "--min-confidence",
        min=0,
        max=1,
        metavar="X",
        help="Leave out hits that answer with less confidence than this.",
        show_default=False,
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language", metavar="TAG", help="Language of the question, such as de; else detected.", show_default=False
    ),
]
Principal = Annotated[
    list[str] | None,
    typer.Option("--principal", metavar="NAME", help="Only documents that this principal may see; may be repeated."),
]
At = Annotated[str | None, typer.Option("--at", metavar="N|TAG", help="A kept snapshot, by number or tag.")]

_VIEWS = (
    "chunks, documents, routing, warnings, rejects, runs, costs, snapshots, evaluations, asked_questions, deleted, "
    "deleted_chunks, vectors, neighbours('CHUNK_ID', 5), lengths, duplicates, freshness"
)


@command("store", "search")
def search(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(help="The question.", show_default=False)] = None,
    k: Annotated[int, typer.Option("-k", "-n", "--limit", min=1, metavar="N", help="Number of hits.")] = 5,
    mode: Annotated[Mode, typer.Option(help="Search mode.")] = Mode.hybrid,
    where: Annotated[str | None, typer.Option(metavar="SQL", help="Only chunks that match this SQL condition.")] = None,
    at: At = None,
    principal: Principal = None,
    parents: Annotated[
        bool, typer.Option("--parents", help="Replace chunks by the section or paragraph that holds them.")
    ] = False,
    passages: Passages = None,
    min_confidence: MinConfidence = None,
    language: Language = None,
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
    from docmill.storage.snapshots.read.store import open_store

    store = open_store(settings.store, at, principals=principal)
    how = how_of(settings.search, passages=passages, min_confidence=min_confidence, language=language)
    how["parents"] = parents
    with waiting("searching"):
        rewrite = rewrite_of_search(settings)
        found = _each(asked, lambda texts: store.search_all(texts, k, mode.value, where, rewrite=rewrite, **how))
    _log(store, found, mode, where is not None, settings)
    for said in _remarks(store, mode, [own.hits for own in found]):
        note(said)
    if as_json:
        pairs = [own.as_json() for own in found]
        print_json(pairs[0]["hits"] if query is not None else pairs)
    else:
        _print(store, found, explain, passages=bool(how["passages"]), named=query is None)
    _end([own for own in found if own.refused])


def _log(store: "Store", found: "Sequence[_AnsweredQuery]", mode: Mode, filtered: bool, settings: "Settings") -> None:
    """Log the queries if the settings say so. An error in logging does not prevent the answer."""
    if not settings.queries.log:
        return
    from docmill.flows.config.search_settings import log_bounds_of
    from docmill.storage.errors import DocmillError
    from docmill.storage.snapshots.history import query_log
    from docmill.storage.snapshots.read.feedback import logged

    rows = [logged(store, one.query, one.hits, mode.value, filtered, "command") for one in found if not one.refused]
    try:
        query_log.append(store.stored.folder.beside, rows, log_bounds_of(settings.queries))
    except DocmillError as error:
        note(str(error))


@dataclass(frozen=True, slots=True)
class _AnsweredQuery:
    """A query with its hits, or with the reason why it has none."""

    query: str
    hits: "Sequence[Hit]" = ()
    refused: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object that the command prints."""
        found = {"query": self.query, "hits": [asdict(hit) for hit in self.hits]}
        return {**found, "error": self.refused} if self.refused else found


def _each(asked: Sequence[str], search: "Callable[[Sequence[str]], list[list[Hit]]]") -> list[_AnsweredQuery]:
    """Return the answer of each query; raise only if no query can be answered."""
    try:
        return [_AnsweredQuery(text, hits) for text, hits in zip(asked, search(asked), strict=True)]
    except QueryError:
        if len(asked) == 1:
            raise
    found: list[_AnsweredQuery] = []
    for text in asked:
        try:
            found.append(_AnsweredQuery(text, search([text])[0]))
        except QueryError as error:
            found.append(_AnsweredQuery(text, refused=str(error)))
    if all(own.refused for own in found):
        raise QueryError(found[0].refused)
    return found


def _print(store: "Store", found: Sequence[_AnsweredQuery], explain: bool, passages: bool, named: bool) -> None:
    """Print the hits of each query, under a heading with the query if `named`."""
    from docmill.flows.cli.terminal.hits import print_hits

    for own in found:
        if named:
            typer.echo(f"# {plain(own.query)}")
        if not own.refused:
            print_hits(store, own.query, own.hits, explain, passages=passages)


def _end(refused: Sequence[_AnsweredQuery]) -> None:
    """End the command, with the status for partly done if some of several queries were refused."""
    for own in refused:
        note(f"{plain(own.query)!r} was not searched for: {own.refused}")
    if refused:
        from docmill.flows.runs.report import EXIT_PARTLY

        raise typer.Exit(EXIT_PARTLY)


def _remarks(store: "Store", mode: Mode, found: "Sequence[Sequence[Hit]]") -> "Iterator[str]":
    """Yield notes on all hits: that vectors are pending, and that long queries were cut."""
    from docmill.storage.search.rank.candidates.query import REMARK

    if store.snapshot.pending and mode is not Mode.keyword:
        yield f"vectors {store.snapshot.spelled_vectors()}; chunks without one are found by their keywords alone"
    notes = (step for hits in found for hit in hits[:1] for step in hit.steps)
    yield from dict.fromkeys(one.said for one in notes if one.step == REMARK)


def rewrite_of_search(settings: "Settings") -> "Rewrite | None":
    """Return the query rewriter if the settings ask for one. Without it, a search imports no modules of a run."""
    if settings.search.expand != "model":
        return None
    from docmill.flows.config.from_settings import rewrite_of

    return rewrite_of(settings)


def _asked(query: str | None, queries: Path | None) -> list[str]:
    """Return the queries of a command line, which names either one query or a file of queries."""
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


@command("store")
def sql(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(help=f"One SELECT over {_VIEWS}.", show_default=False)] = None,
    form: Annotated[
        TableFormat | None,
        typer.Option("--format", help="Output format. [default: by the suffix of --output, else table]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", callback=may_write, help="Write the rows to this .csv, .json, .parquet or .xlsx."),
    ] = None,
    at: At = None,
    principal: Principal = None,
    tables: Annotated[bool, typer.Option("--tables", help="Describe all tables, views and columns.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Query the store with SQL."""
    form = format_of(TableFormat.json if as_json else form, output)
    if form in BINARY and output is None and is_terminal():
        raise typer.BadParameter(f"{form.value} cannot be printed on a terminal; name a file with --output")
    if (query is None) != tables:
        raise typer.BadParameter("give either a SELECT or --tables")
    if query is None:
        _describe(form, output)
        return
    _prepare()

    _put(opened_store(context, at, principal).sql(query), form, output)


def _describe(form: TableFormat, output: Path | None) -> None:
    """Print the meaning of each table, view and column: as text on a terminal, else as rows."""
    import pyarrow as pa

    from docmill.storage.sql.column_descriptions import TABLES

    if form is TableFormat.table and output is None:
        for name, (said, columns) in TABLES.items():
            width = max(map(len, columns))
            lines = (f"  {column:<{width}}  {meaning}" for column, meaning in columns.items())
            typer.echo("\n".join([f"{name}: {said}", *lines, ""]))
        return
    rows = [(name, column, said) for name, (_, columns) in TABLES.items() for column, said in columns.items()]
    names = ("table", "column", "description")
    _put(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), form, output)


def _put(table: "pa.Table", form: TableFormat, output: Path | None) -> None:
    """Print a table or write it to a file, which does not change if the format cannot hold the table."""
    if output is None:
        typer.get_binary_stream("stdout").write(render(table, form, is_terminal()))
    else:
        write_output(output, render(table, form))


def _prepare() -> None:
    """Start the process that runs SQL, so that it loads its libraries while this process loads its own."""
    from docmill.storage.sql.statement_pool import prepare

    prepare()
