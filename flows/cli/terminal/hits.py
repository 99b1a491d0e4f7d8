"""Hits: the results of a search as lines for a person."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from docmill.flows.cli.terminal.capabilities import colours, hyperlinks
from docmill.flows.cli.terminal.output import plain
from docmill.flows.cli.terminal.snippet import WIDTH, snippet
from docmill.storage.errors import Transient

if TYPE_CHECKING:
    from docmill.storage.search.rank.candidates.hit import Hit, OtherPlace
    from docmill.storage.snapshots.read.store import Store
    from docmill.tasks.sources.known_files import KnownFiles

_MOST_PLACES = 3  # fit into a line; `--json` lists all


def print_hits(store: "Store", query: str, hits: Sequence["Hit"], explain: bool, passages: bool = False) -> None:
    """Print the relevance and the place of each hit, its raw scores, and the text that best matches the query.

    With `passages`, that text is the passage of the hit, in full.
    """
    coloured, language, files = colours(), store.snapshot.keywords.language, _known_files(store)
    for hit in hits:
        headings = f"  {' › '.join(map(plain, hit.headings))}" if hit.headings else ""
        place = _styled(_place(hit, _url(store, hit, files)), coloured, fg="cyan", bold=True)
        raw = _styled(_raw_scores(hit), coloured, dim=True)
        typer.echo(f"{hit.rank}. {hit.relevance:.2f}  {place}{headings}  {raw}")
        text, width = _shown(hit) if passages else (hit.text, WIDTH)
        typer.echo(f"   {snippet(query, text, mark=coloured, language=language, width=width)}")
        if hit.also_at:
            typer.echo(f"   {_styled(_also(hit), coloured, dim=True)}")
        for line in _explained(hit) if explain else ():
            typer.echo(f"     {plain(line)}")
    if not hits:
        typer.echo("No hits.")


def _shown(hit: "Hit") -> tuple[str, int]:
    """Return the passage of a hit with its whole length, or a remark that it has none."""
    text = hit.passage.text if hit.passage else "(no passage: the sentences of other hits answer better)"
    return text, len(text)


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


def _also(hit: "Hit") -> str:
    """Return a line with the first other places of a hit, and how many there are besides."""
    places = [_place(place) for place in hit.also_at[:_MOST_PLACES]]
    more = len(hit.also_at) - len(places)
    return f"also at {', '.join(places)}{f' and {more} more' if more else ''}"


def _place(hit: "Hit | OtherPlace", url: str = "") -> str:
    """Return the document of a hit with the page or line; the name is a link if there is a URL."""
    name = linked(plain(hit.uri), url)
    return f"{name} page {hit.page}" if hit.page else f"{name}:{hit.line}"


def _url(store: "Store", hit: "Hit", files: "KnownFiles | None") -> str:
    """Return where a click on a hit leads: to the original, else to its file if that is known here, else ""."""
    if files is None:
        return ""
    if url := opened_in_browser(hit.source_url):
        return url
    with suppress(Transient):  # an object store does not answer, and the mirror lacks the document
        if file := files.of(hit.uri, store.document(hit.uri).row.content_hash):
            return file_url(file)
    return ""


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


def opened_in_browser(url: str) -> str:
    """Return a URL if a browser opens it and a terminal can be handed it, else ""."""
    return url if url.startswith(("https://", "http://")) and url.isprintable() else ""


def linked(text: str, url: str) -> str:
    """Return a visible text that links to a URL (OSC 8); without one, the text."""
    return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if url else text
