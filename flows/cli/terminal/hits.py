"""Hits: the results of a search as lines for a person."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from docmill.flows.cli.terminal.capabilities import colours, hyperlinks
from docmill.flows.cli.terminal.output import plain
from docmill.flows.cli.terminal.snippet import snippet
from docmill.storage.errors import Transient

if TYPE_CHECKING:
    from docmill.storage.reader.store import Store
    from docmill.storage.retrieval.candidates.hit import Hit, OtherPlace
    from docmill.tasks.sources.known_files import KnownFiles

_MOST_PLACES = 3  # fit into a line; `--json` lists all


def print_hits(store: "Store", query: str, hits: Sequence["Hit"], explain: bool) -> None:
    """Print the relevance and the place of each hit, its raw scores, and the passage that best matches the query."""
    coloured, language, files = colours(), store.snapshot.keywords.language, _known_files(store)
    for hit in hits:
        headings = f"  {' › '.join(map(plain, hit.headings))}" if hit.headings else ""
        place = _styled(_place(store, hit, files), coloured, fg="cyan", bold=True)
        raw = _styled(_raw_scores(hit), coloured, dim=True)
        typer.echo(f"{hit.rank}. {hit.relevance:.2f}  {place}{headings}  {raw}")
        typer.echo(f"   {snippet(query, hit.text, mark=coloured, language=language)}")
        if hit.also_at:
            typer.echo(f"   {_styled(_also(store, hit), coloured, dim=True)}")
        for line in _explained(hit) if explain else ():
            typer.echo(f"     {plain(line)}")
    if not hits:
        typer.echo("No hits.")


def _styled(text: str, coloured: bool, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
    return typer.style(text, fg=fg, bold=bold, dim=dim) if coloured else text


def _raw_scores(hit: "Hit") -> str:
    """Return the scores of a hit in the indexes that found it."""
    scores = (("cosine", hit.vector_score), ("BM25", hit.keyword_score))
    return f"({', '.join(f'{name} {score:.3f}' for name, score in scores if score is not None)})"


def _explained(hit: "Hit") -> Iterator[str]:
    """Yield lines that explain the rank of a hit."""
    if hit.vector_score is not None:
        yield f"vectors: rank {hit.vector_rank}, cosine {hit.vector_score:.3f}"
    if hit.keyword_score is not None:
        yield f"keywords: rank {hit.keyword_rank}, BM25 {hit.keyword_score:.3f} ({', '.join(_terms(hit))})"
    for note in hit.steps:
        yield f"{note.step} {note.score:.3f}: {note.said}"


def _terms(hit: "Hit") -> Iterator[str]:
    """Yield the matched terms, heaviest first, each with its share of the score and the fields that have it."""
    for term, gain in sorted(hit.terms.items(), key=lambda pair: -pair[1]):
        yield f"{term} {gain:.2f} in {' and '.join(hit.fields[term])}"


def _also(store: "Store", hit: "Hit") -> str:
    """Return a line with the first other places of a hit, and how many there are besides."""
    places = [_place(store, place, None) for place in hit.also_at[:_MOST_PLACES]]
    more = len(hit.also_at) - len(places)
    return f"also at {', '.join(places)}{f' and {more} more' if more else ''}"


def _place(store: "Store", hit: "Hit | OtherPlace", files: "KnownFiles | None") -> str:
    """Return the document of a hit with the page or line; the name is a link if `files` knows the document's file."""
    name = plain(hit.uri)
    if files is not None:
        with suppress(Transient):  # an object store does not answer, and the mirror lacks the document
            name = linked(name, files.of(hit.uri, store.document(hit.uri).row.content_hash))
    return f"{name} page {hit.page}" if hit.page else f"{name}:{hit.line}"


def _known_files(store: "Store") -> "KnownFiles | None":
    """Return the files of a store's documents if the terminal takes links to them."""
    if not hyperlinks():
        return None
    from docmill.tasks.sources.known_files import KnownFiles

    return KnownFiles(store.root)


def file_url(path: Path) -> str:
    """Return the `file:` URL of an absolute path, with the host: on another machine, as in ssh, it opens nothing."""
    import socket
    from urllib.parse import quote

    return f"file://{quote(socket.gethostname())}{quote(os.fsencode(path))}"


def linked(text: str, path: Path | None) -> str:
    """Return a visible text that links to a file (OSC 8); without a file, the text."""
    return text if path is None else f"\x1b]8;;{file_url(path)}\x1b\\{text}\x1b]8;;\x1b\\"
