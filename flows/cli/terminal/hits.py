"""Hits: the results of a search as lines for the terminal.

`snippet` shows the passage of a chunk that best matches the query.
"""

import os
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from docmill.flows.cli.terminal.capabilities import colours, hyperlinks
from docmill.flows.cli.terminal.output import plain
from docmill.flows.runs.terminal_safe_text import visible
from docmill.storage.errors import Transient
from docmill.storage.search.keywords.analysis.analyser import analyse, load_analyser
from docmill.storage.search.keywords.analysis.separation import PAIR_SIGNS, SOFT_HYPHEN, located_pieces

if TYPE_CHECKING:
    from docmill.storage.search.rank.candidates.hit import Hit, OtherPlace
    from docmill.storage.snapshots.read.store import Store
    from docmill.tasks.sources.known_files import KnownFiles


WIDTH = 240
"""Characters: three lines of a terminal with 80 columns."""
_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:\+\+|#)?")  # the analyser's pieces that it may leave whole
_JOINED = re.compile(rf"[\w{SOFT_HYPHEN}]+(?:[-.{''.join(PAIR_SIGNS.values())}][\w{SOFT_HYPHEN}]+)+")
_IN_WORDS = "LMN"  # letters, marks and numbers, by Unicode category
_RUNS = (2, 3)  # letters in the runs that the analyser makes of words in some scripts
_NOT_SPACE = re.compile(r"\S+")

Span = tuple[int, int]


def snippet(query: str, text: str, mark: bool, language: str = "english", width: int = WIDTH) -> str:
    """Return about `width` characters of `text` on one line, from where most words of `query` occur.

    `mark` highlights the words that the keyword index would match in `language`.
    """
    wanted = frozenset(analyse(query, language))
    words = list(_NOT_SPACE.finditer(text))
    line, found = " ".join(word.group() for word in words), _found(text, wanted, language)
    spans = list(_on_the_line(found, [word.span() for word in words]))
    start = _best_start(spans, len(line), width)
    end = min(len(line), start + width)
    shown = [s for s in spans if start <= s[0] and s[1] <= end] if mark else []
    return f"{'…' if start else ''}{_marked(line, shown, start, end)}{'…' if end < len(line) else ''}"


def _found(text: str, wanted: frozenset[str], language: str) -> Iterator[Span]:
    """Yield the spans of a text that match terms of the query: pieces that the index keeps whole, or words in them."""
    analyser = load_analyser(language)
    for start, piece in located_pieces(text):
        terms = analyser[piece]
        if wanted.isdisjoint(terms):
            continue
        bare = piece.strip(".,-")
        whole = terms[0] in wanted and _JOINED.fullmatch(bare)
        own = [] if whole else [span for word in _WORD.finditer(piece) for span in _matched(word, wanted, language)]
        yield from ((start + s, start + e) for s, e in own or [_trimmed(piece)])


def _trimmed(piece: str) -> Span:
    """Return the span of a piece without surrounding punctuation."""
    kept = [place for place, sign in enumerate(piece) if unicodedata.category(sign)[0] in _IN_WORDS]
    return kept[0], kept[-1] + 1


def _matched(word: re.Match[str], wanted: frozenset[str], language: str) -> list[Span]:
    """Return the matching spans of a word: the whole word, or in scripts of runs its runs or single letters."""
    text, terms = word.group(), analyse(word.group(), language)
    for size in _RUNS:
        runs = [text[at : at + size] for at in range(len(text) - size + 1)]
        if len(runs) > 1 and terms[: len(runs)] == runs:
            return list(_joined_runs([run in wanted for run in runs], word.start(), size)) or _alone(word, wanted)
    return [word.span()] if wanted.intersection(terms) else []


def _alone(word: re.Match[str], wanted: frozenset[str]) -> list[Span]:
    """Return the spans of the single letters of a word that match."""
    return [(at, at + 1) for at, letter in enumerate(word.group(), start=word.start()) if letter in wanted]


def _joined_runs(lit: list[bool], start: int, size: int) -> Iterator[Span]:
    """Yield the spans of consecutive matching runs of `size` letters; the first run begins at `start`."""
    at, last = start, start
    for match, several in groupby(lit):
        length = len(list(several))
        if match:
            yield max(at, last), (last := at + length + size - 1)
        at += length


def _on_the_line(spans: Iterator[Span], words: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans of a text after its `words` are joined by single spaces. A span over two words becomes two."""
    starts = [start for start, _ in words]
    places = list(accumulate((end - start + 1 for start, end in words), initial=0))
    for start, end in spans:
        for number in range(bisect_right(starts, start) - 1, len(words)):
            first, last = words[number]
            if first >= end:
                break
            shift = places[number] - first
            yield max(first, start) + shift, min(last, end) + shift


def _best_start(spans: Sequence[Span], length: int, width: int) -> int:
    """Return the start of the window with the most spans; the first one wins a tie."""
    if length <= width or not spans:
        return 0
    starts = [0, *(max(0, min(s - width // 8, length - width)) for s, _ in spans)]
    return max(starts, key=lambda start: sum(start <= s and e <= start + width for s, e in spans))


def _marked(line: str, spans: Sequence[Span], start: int, end: int) -> str:
    parts, at = [], start
    for left, right in spans:
        parts += [visible(line[at:left]), typer.style(visible(line[left:right]), bold=True, fg="yellow")]
        at = right
    return "".join([*parts, visible(line[at:end])])


_MOST_PLACES = 3  # as many fit into a line; `--json` lists all


def print_hits(store: "Store", query: str, hits: Sequence["Hit"], explain: bool, passages: bool = False) -> None:
    """Print the relevance, place and raw scores of each hit, and the text that best matches the query.

    With `passages`, that text is the whole passage of the hit.
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
    for line in _doubt(hits):
        typer.echo(line)


def _doubt(hits: Sequence["Hit"]) -> Iterator[str]:
    """Yield a warning if no hit is likely to answer, which the relevance of a hit does not show: it is relative."""
    from docmill.storage.search.rank.candidates.confidence import DOUBTFUL

    sure = max((hit.confidence for hit in hits if hit.confidence is not None), default=DOUBTFUL)
    if round(sure, 2) < DOUBTFUL:  # as displayed
        yield f"No hit is likely to answer: the highest confidence is {sure:.2f}."


def _shown(hit: "Hit") -> tuple[str, int]:
    """Return the passage of a hit and its whole length, or a remark that it has none."""
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
    """Yield the matched terms, heaviest first, with their share of the score and the fields that contain them."""
    for term, gain in sorted(hit.terms.items(), key=lambda pair: -pair[1]):
        yield f"{term} {gain:.2f} in {' and '.join(hit.fields[term])}"


def _also(hit: "Hit") -> str:
    """Return a line with the first other places of a hit, and the number of further ones."""
    places = [_place(place) for place in hit.also_at[:_MOST_PLACES]]
    more = len(hit.also_at) - len(places)
    return f"also at {', '.join(places)}{f' and {more} more' if more else ''}"


def _place(hit: "Hit | OtherPlace", url: str = "") -> str:
    """Return the document of a hit with the page or line. The name is a link if there is a URL."""
    name = linked(plain(hit.uri), url)
    return f"{name} page {hit.page}" if hit.page else f"{name}:{hit.line}"


def _url(store: "Store", hit: "Hit", files: "KnownFiles | None") -> str:
    """Return the link of a hit: to the original, else to its file if known here, else ""."""
    if files is None:
        return ""
    if url := opened_in_browser(hit.source_url):
        return url
    with suppress(Transient):  # the object store does not answer, and the mirror lacks the document
        if file := files.of(hit.uri, store.document(hit.uri).row.content_hash):
            return file_url(file)
    return ""


def _known_files(store: "Store") -> "KnownFiles | None":
    """Return the files of a store's documents if the terminal supports links."""
    if not hyperlinks():
        return None
    from docmill.tasks.sources.known_files import KnownFiles

    return KnownFiles(store.root)


def file_url(path: Path) -> str:
    """Return the `file:` URL of an absolute path. Because it contains the host, it opens nothing on another machine."""
    import socket
    from urllib.parse import quote

    return f"file://{quote(socket.gethostname())}{quote(os.fsencode(path))}"


def opened_in_browser(url: str) -> str:
    """Return a URL if a browser can open it and it is safe in a terminal, else ""."""
    return url if url.startswith(("https://", "http://")) and url.isprintable() else ""


def linked(text: str, url: str) -> str:
    """Return a text that links to a URL (OSC 8), or without one the text alone."""
    return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if url else text
