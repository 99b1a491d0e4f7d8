"""HTML chart: a page with the mean and interval of each evaluation and a table of the differences."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from docmill.flows.cli.pages.html_page import CLOSING, opening
from docmill.tasks.evaluate.bootstrap import Interval, difference, interval

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #1a1a1a }
h1 { font-size: 1.4rem } h2 { font-size: 1.05rem; margin: 1.6rem 0 .3rem }
table { border-collapse: collapse; margin: .5rem 0 } td, th { padding: .15rem .7rem .15rem 0; text-align: left }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
.better { color: #0a6b2d } .worse { color: #a11 } .soft { color: #666 }
svg { display: block; width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: #1a1a1a }
.axis { stroke: #ccc } .bar { stroke: #2457a6; stroke-width: 2 } .dot { fill: #2457a6 }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #eee } svg text { fill: #eee } .axis { stroke: #555 } .soft { color: #aaa }
  .bar { stroke: #7eb0ff } .dot { fill: #7eb0ff } .better { color: #6fd391 } .worse { color: #ff8a80 }
}
"""
_LEFT, _WIDTH, _ROW = 230, 900, 26


class Compared(NamedTuple):
    """An entry of a chart: its title, and the values of each measure by item."""

    title: str
    values: Mapping[str, Mapping[str, float]]


def chart(heading: str, note: str, found: Sequence[Compared]) -> str:
    """Return a self-contained HTML page without scripts. Differences are relative to the first entry."""
    body = "".join(_measure(name, found) for name in found[0].values)
    head = f'<h1>{escape(heading)}</h1>\n<p class="soft">{escape(note)}</p>\n'
    return opening(heading, _STYLE) + head + body + CLOSING


def _measure(name: str, found: Sequence[Compared]) -> str:
    means = [interval(one.values[name]) for one in found]
    rows = "".join(
        _row(one.title, mean, change) for one, mean, change in zip(found, means, _changes(name, found), strict=True)
    )
    head = "".join(f"<th{cls}>{text}</th>" for cls, text in _HEAD)
    titles = [one.title for one in found]
    return f"<h2>{escape(name)}</h2>\n{_drawing(titles, means)}<table>\n<tr>{head}</tr>\n{rows}</table>\n"


_HEAD = (("", ""), (' class="n"', "mean"), (' class="n"', "95 %"), (' class="n"', "difference"), ("", ""))


def _changes(name: str, found: Sequence[Compared]) -> Iterator[Interval | None]:
    yield None
    for one in found[1:]:
        yield difference(one.values[name], found[0].values[name])


def _row(title: str, mean: Interval, change: Interval | None) -> str:
    said = verdict = ""
    if change:
        said, verdict = f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]", change.verdict
    cells = f'<td class="n">{mean.mean:.3f}</td><td class="n">{mean.low:.3f} to {mean.high:.3f}</td>'
    return f'<tr><td>{escape(title)}</td>{cells}<td class="n">{said}</td><td class="{verdict}">{verdict}</td></tr>\n'


def _drawing(titles: Sequence[str], means: Sequence[Interval]) -> str:
    """Draw each mean with a line for its interval, all on one scale."""
    low, high = min(one.low for one in means), max(one.high for one in means)
    margin = 0.08 * (high - low) or 0.02
    low, high = low - margin if low < 0 else max(0.0, low - margin), high + margin
    digits = 2 if high - low >= 0.1 else 4

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - 20)

    height = _ROW * len(means) + 30
    parts = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="means with intervals">\n']
    for tick in (low + (high - low) * i / 4 for i in range(5)):
        parts.append(f'<line class="axis" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="0" y2="{height - 22}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{height - 6}" text-anchor="middle">{tick:.{digits}f}</text>\n')
    for place, (title, one) in enumerate(zip(titles, means, strict=True)):
        y = _ROW * place + _ROW / 2
        parts.append(f'<text x="0" y="{y + 4:.1f}">{escape(title[:36])}</text>')
        parts.append(f'<line class="bar" x1="{x(one.low):.1f}" x2="{x(one.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<circle class="dot" cx="{x(one.mean):.1f}" cy="{y:.1f}" r="5"/>\n')
    return "".join([*parts, "</svg>\n"])
