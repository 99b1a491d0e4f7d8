"""A drawing: a timeline as one SVG file, which moves by CSS alone and needs nothing besides itself.

GitHub shows an SVG as an image: it runs no script, loads no font, and plays the animations of its style sheet. Where
nothing moves, because a reader has asked for that or a program does not know CSS, the file shows the last picture.
"""

from collections.abc import Iterator
from html import escape

from tests.kit.picture.screen import Line, Style, runs
from tests.kit.picture.session import COLUMNS
from tests.kit.picture.timeline import Shown, Timeline

CHAR, LEADING, MARGIN, BAR = 8.4, 19, 16, 36
"""Points: the width of a character, the height of a line, the room around the text, the height of the title bar."""
_INK = "#1f2328"
_COLOURS = {
    1: "#cf222e",
    2: "#1a7f37",
    3: "#9a6700",
    4: "#0969da",
    5: "#8250df",
    6: "#1b7c83",
    8: "#6e7781",
    70: "#1a7f37",
    197: "#0969da",
    237: "#d0d7de",
}
"""Colours on white with a contrast of 4.5 or more, by their number in a terminal; the last three are progress bars."""
_FLAGS = {
    "bold": "font-weight:600",
    "dim": "opacity:.65",
    "italic": "font-style:italic",
    "underline": "text-decoration:underline",
}


def svg(timeline: Timeline, title: str) -> str:
    """Return the file."""
    width = round(COLUMNS * CHAR + 2 * MARGIN)
    height = round(BAR + timeline.rows * LEADING + 2 * MARGIN)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
            f"<title>{escape(title)}</title>",
            "<style>",
            *_style(timeline),
            "</style>",
            f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8" fill="#ffffff" stroke="#d0d7de"/>',
            f'<path d="M.5 {BAR}V8.5a8 8 0 0 1 8-8H{width - 8.5}a8 8 0 0 1 8 8V{BAR}z" '
            'fill="#f6f8fa" stroke="#d0d7de"/>',
            *(f'<circle cx="{20 + 18 * n}" cy="{BAR / 2}" r="5.5" fill="#d0d7de"/>' for n in range(3)),
            f'<text class="title" x="{width / 2}" y="{BAR / 2 + 4}" text-anchor="middle">{escape(title)}</text>',
            *(drawn for one in timeline.shown for drawn in _drawn(one, timeline.length)),
            "</svg>",
            "",
        ]
    )


def _style(timeline: Timeline) -> Iterator[str]:
    yield (
        "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:"
        + _INK
        + ";white-space:pre}"
    )
    yield ".title{font:12px -apple-system,'Segoe UI',sans-serif;fill:#59636e}.cover{fill:#fff;opacity:0}"
    yield f"g,.cover{{animation:{timeline.length:.2f}s step-end infinite}}"
    yield from (f".{_colour(number)}{{fill:{colour}}}" for number, colour in _COLOURS.items())
    yield from (f".{name}{{{look}}}" for name, look in _FLAGS.items())
    yield from sorted({frames for one in timeline.shown for frames in _frames(one, timeline.length)})
    yield "@media (prefers-reduced-motion:reduce){g,.cover{animation:none!important}}"


def _colour(number: int) -> str:
    return f"c{number}"


def _at(seconds: float, length: float) -> str:
    return f"{100 * seconds / length:.2f}"


def _name(one: Shown, kind: str) -> str:
    return f"{kind}{round(one.start * 100)}" + ("" if kind == "t" else f"-{round(one.end * 100)}")


def _frames(one: Shown, length: float) -> Iterator[str]:
    """Yield the animations that a line needs: it is there from its start to its end, and what is typed is uncovered."""
    start, end = _at(one.start, length), _at(one.end, length)
    gone = "" if one.end >= length else f"{end}%{{opacity:0}}"
    yield f"@keyframes {_name(one, 's')}{{0%{{opacity:0}}{start}%{{opacity:1}}{gone}}}"
    if one.typed:
        width, steps, done = (
            COLUMNS * CHAR,
            COLUMNS,
            _at(one.start + one.typed * COLUMNS / max(len(one.line), 1), length),
        )
        yield (
            f"@keyframes {_name(one, 't')}{{0%{{opacity:1}}{start}%{{opacity:1;transform:none;"
            f"animation-timing-function:steps({steps})}}{done}%{{opacity:1;transform:translateX({width:.0f}px)}}"
            f"100%{{opacity:0;transform:translateX({width:.0f}px)}}}}"
        )


def _drawn(one: Shown, length: float) -> Iterator[str]:
    base = round(BAR + MARGIN + one.row * LEADING) + 14
    hidden = "" if one.end >= length else ' opacity="0"'
    yield f'<g{hidden} style="animation-name:{_name(one, "s")}">{_text(one.line, base)}</g>'
    if one.typed:
        left = MARGIN + 2 * CHAR
        width = COLUMNS * CHAR + MARGIN - 2 * CHAR - 2
        yield (
            f'<svg x="{left:.1f}" y="{base - 14}" width="{width:.1f}" height="{LEADING}"><rect class="cover" '
            f'width="{width:.1f}" height="{LEADING}" style="animation-name:{_name(one, "t")}"/></svg>'
        )


def _text(line: Line, base: int) -> str:
    return "".join(_stretch(column, text, style, base) for column, text, style in runs(line) if text.strip())


def _stretch(column: int, text: str, style: Style, base: int) -> str:
    """Return one stretch of text, as wide as it is in a terminal, whatever the font."""
    classes = " ".join([*([_colour(style.colour)] if style.colour in _COLOURS else []), *sorted(style.flags)])
    place = f'x="{MARGIN + column * CHAR:.1f}" y="{base}" textLength="{len(text) * CHAR:.1f}"'
    return f"<text {place}" + (f' class="{classes}"' if classes else "") + f">{escape(text)}</text>"
