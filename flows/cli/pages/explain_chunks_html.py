"""HTML page of an explanation: a column with the text for each split, with starts and overlaps of chunks marked.

The page is one file without scripts or external resources. Its text is escaped, and it follows the reader's light or
dark theme.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from docmill.flows.cli.pages.explain_chunks_text import sizes_spelled
from docmill.flows.cli.pages.html_page import CLOSING, opening

if TYPE_CHECKING:
    from docmill.flows.explain import Explanation, Split
    from docmill.storage.schema import Draft
    from docmill.tasks.chunking.route import Routed

_HUES = 6  # one for each of --h0 to --h5 in the style below
_ROW = 6_000  # characters of text in one row of the page, so that the columns stay aligned
_TITLE = 400  # characters of a context in the tooltip

_STYLE = """
:root { color-scheme: light dark; --text: #1d1f23; --back: #fbfbf9; --soft: #6a6f78; --line: #d9d9d4; --card: #fff;
  --h0: #d3e8ff; --h1: #d5f0d3; --h2: #ffe3c9; --h3: #eadcff; --h4: #ffd9e2; --h5: #cdeeee; --edge: #1d1f23; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e5e7; --back: #17181b; --soft: #9aa0aa; --line: #34363c;
  --card: #1f2024; --h0: #1c3a5c; --h1: #1e4526; --h2: #573716; --h3: #3d2c63; --h4: #5a2434; --h5: #15474a;
  --edge: #f2f2f2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; font: 15px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--back); }
h1 { font-size: 1.3rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
p { margin: .2rem 0; } .soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; background: var(--card); }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
th { font-weight: 600; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
.grid { display: grid; grid-template-columns: repeat(var(--ways), minmax(22rem, 1fr)); gap: 0 1rem; }
.head { position: sticky; top: 0; background: var(--back); padding: .5rem 0; border-bottom: 2px solid var(--line);
  z-index: 1; }
.head b { font-size: 1rem; display: block; overflow-wrap: anywhere; }
.region { grid-column: 1 / -1; margin: 1.2rem 0 .3rem; padding: .3rem .7rem; border-left: .3rem solid var(--edge);
  background: var(--card); }
.text { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.65 ui-monospace, monospace; margin: 0;
  padding: .2rem 0; content-visibility: auto; contain-intrinsic-size: auto 60rem; }
.out { color: var(--soft); }
.h0 { background: var(--h0); } .h1 { background: var(--h1); } .h2 { background: var(--h2); }
.h3 { background: var(--h3); } .h4 { background: var(--h4); } .h5 { background: var(--h5); }
.over { text-decoration: underline; text-decoration-thickness: .18em; text-underline-offset: .2em;
  text-decoration-color: #e0202a; }
.over.more { text-decoration-style: double; }
sup { font: 600 .65rem/1 system-ui, sans-serif; color: var(--back); background: var(--edge); border-radius: .5em;
  padding: .1em .45em; margin-right: .25em; vertical-align: .35em; cursor: help; user-select: none; }
"""


def page(found: "Explanation") -> str:
    """Return the explanation as an HTML page."""
    return "".join(
        [
            opening(f"{found.uri}: chunks", _STYLE),
            *_head(found),
            _regions(found.routed),
            f'<div class="grid" style="--ways: {len(found.splits)}">\n',
            *(_way(found.document.parsed.text, split) for split in found.splits),
            *_rows(found),
            "</div>\n",
            CLOSING,
        ]
    )


def _head(found: "Explanation") -> Iterator[str]:
    whole = found.document.verdict
    source = f" of source {escape(found.source)}" if found.source else ""
    globs = f"; the globs {escape(', '.join(found.globs))} match it" if found.globs else ""
    yield f"<h1>{escape(found.uri)}</h1>\n<p>{escape(found.document.parsed.title)}</p>\n"
    yield f'<p class="soft">{escape(found.format)}, {len(found.document.parsed.text):,} characters{source}{globs}'
    yield f"; as a whole {whole.content_type} {whole.score:.2f}, "
    yield f"else {whole.runner_up} {whole.runner_up_score:.2f}.</p>\n"
    yield from (f"<p><b>Warning:</b> {escape(warning)}</p>\n" for warning in found.warnings)
    yield '<p class="soft">Each colour is a chunk, each number its beginning (point at it for what is said before it);'
    yield ' <span class="over">underlined text</span> is in two chunks, '
    yield '<span class="over more">doubly</span> in more, <span class="out">pale text</span> in none.</p>\n'


def _regions(routed: Sequence["Routed"]) -> str:
    rows = "".join(map(_region_row, range(1, len(routed) + 1), routed))
    names = ("", "region", "score", "runner-up", "evidence", "strategy", "decided by")
    return f"<table>\n<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>\n{rows}</table>\n"


def _region_row(number: int, one: "Routed") -> str:
    verdict = one.region.verdict
    cells = (
        verdict.content_type,
        f"{verdict.score:.2f}",
        f"{verdict.runner_up} {verdict.runner_up_score:.2f}" if verdict.runner_up else "",
        "; ".join(verdict.evidence),
        one.spelled(),
        one.rule,
    )
    return f'<tr><td class="n">{number}</td>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>\n'


def _way(text: str, split: "Split") -> str:
    sizes = sorted(chunk.tokens for chunk in split.chunks)
    covered = sum(chunk.end_char - chunk.start_char for chunk in split.chunks)
    once = _covered_once(split.chunks)
    facts = sizes_spelled(sizes) if sizes else ""
    said_twice = f", {100 * (covered - once) / max(1, len(text)):.0f} % of the text twice" if covered > once else ""
    return f'<div class="head"><b>{escape(split.spelled())}</b><span class="soft">{facts}{said_twice}</span></div>\n'


def _covered_once(chunks: Iterable["Draft"]) -> int:
    total, reached = 0, 0
    for chunk in chunks:
        total += max(0, chunk.end_char - max(chunk.start_char, reached))
        reached = max(reached, chunk.end_char)
    return total


def _rows(found: "Explanation") -> Iterator[str]:
    """Yield the text in rows that break at the same offsets in all columns: at a region or at the end of a line."""
    text = found.document.parsed.text
    pieces = [list(_segments(text, split.chunks)) for split in found.splits]
    starts = [[start for start, *_ in column] for column in pieces]
    for number, one in enumerate(found.routed, 1):
        verdict = one.region.verdict
        evidence = escape("; ".join(verdict.evidence))
        yield f'<div class="region"><b>{number} {verdict.content_type}</b> {evidence}</div>\n'
        for start, end in _slices(text, one.region.start, one.region.end):
            for column, begins in zip(pieces, starts, strict=True):
                first = max(0, bisect_right(begins, start) - 1)
                yield f'<div class="text">{"".join(_cells(text, column, first, start, end))}</div>\n'


def _slices(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        stop = text.find("\n", start + _ROW, end) + 1 or end
        stop = min(stop, start + 4 * _ROW, end)
        yield start, stop
        start = stop


def _segments(text: str, chunks: Sequence["Draft"]) -> Iterator[tuple[int, int, str, str]]:
    """Yield the text, cut at the bounds of chunks, as start, end, CSS classes, and labels of chunks that start."""
    begins: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for number, chunk in enumerate(chunks):
        begins.setdefault(chunk.start_char, []).append(number)
        ends.setdefault(chunk.end_char, []).append(number)
    held: dict[int, None] = {}
    places = sorted({0, len(text), *begins, *ends})
    for start, end in pairwise(places):
        for number in ends.get(start, ()):
            held.pop(number, None)
        held |= dict.fromkeys(begins.get(start, ()))
        marks = "".join(_mark(number, chunks[number]) for number in begins.get(start, ()))
        yield start, end, _classes(held), marks


def _classes(held: dict[int, None]) -> str:
    if not held:
        return "out"
    hue = f"h{next(reversed(held)) % _HUES}"
    return hue if len(held) == 1 else f"{hue} over" if len(held) == 2 else f"{hue} over more"


def _mark(number: int, chunk: "Draft") -> str:
    said = f"{chunk.tokens} tokens, {chunk.content_type}, {chunk.strategy}{f', {chunk.role}' if chunk.role else ''}"
    title = escape(f"{said}\n{chunk.context[:_TITLE]}", quote=True)
    return f'<sup title="{title}">{number + 1}</sup>'


def _cells(text: str, column: Sequence[tuple[int, int, str, str]], first: int, start: int, end: int) -> Iterator[str]:
    for i in range(first, len(column)):
        begin, stop, classes, marks = column[i]
        if begin >= end:
            return
        mark = marks if begin >= start else ""
        shown = text[max(begin, start) : min(stop, end)]
        if shown or mark:
            yield f'{mark}<span class="{classes}">{escape(shown)}</span>'
