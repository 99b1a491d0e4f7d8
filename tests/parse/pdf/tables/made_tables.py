"""Pages with tables whose measures come by chance, always the same for one seed, and lie around each threshold."""

from random import Random

from tests.kit.pdf_pages import page
from tests.kit.writers.pdf import Pdf, text_width

WORDS = "river weir gate pump valve meter road bridge inn soldier market harbour quarry mill granary ferry"


def made(seed: int) -> bytes:
    """Return a PDF of one page with a table."""
    rng = Random(seed)
    pdf = page()
    (_banded, _outside, _figures, _named_over)[seed % 4](pdf, rng)
    return pdf.to_bytes()


def _words(rng: Random, letters: int) -> str:
    text = rng.choice(WORDS.split())
    while len(text) < letters:
        text += " " + rng.choice(WORDS.split())
    return text.capitalize()


def _figure(rng: Random) -> str:
    return str(rng.randrange(10, 9999))


def _right(pdf: Pdf, x: float, y: float, text: str, size: float = 10) -> None:
    pdf.text(x - text_width(text, size), y, text, size)


def _banded(pdf: Pdf, rng: Random) -> None:
    """Draw a grid of one header and one band, whose cells have lines of figures or of words, and a tall cell."""
    rows, step, room = rng.randint(2, 6), rng.choice((12, 14)), rng.choice((90, 110, 140))
    sides = [60.0, 60 + room, 140 + room, 220 + room]
    height = rows * step + 4
    for left, right in zip(sides, [*sides[1:], 300 + room], strict=True):
        pdf.box(left, 736, right - left, 16)
        pdf.box(left, 736 - height, right - left, height)
        pdf.text(left + 3, 740, _words(rng, 4))
    figures = rng.random() < 0.6
    for row in range(rows):
        y = 724 - row * step
        pdf.text(63, y, _words(rng, rng.choice((8, 14, 18, 24)))[: room // 5])
        for left in sides[1:3]:
            off = rng.choice((0, 2, 3, 4, 5, 6))
            pdf.text(left + 3, y - off, _figure(rng) if figures else _words(rng, 5)) if rng.random() < 0.9 else None
    if rng.random() < 0.5:
        pdf.text(sides[3] + 3, 724 - step * (rows // 2), "low")
    _tall(pdf, rng, 700 - height)
    _even(pdf, rng)


def _even(pdf: Pdf, rng: Random) -> None:
    """Draw a grid of two bands, each cell of which holds as many short lines of words."""
    rows = rng.randint(2, 4)
    for left in (60, 200, 340):
        for top in (300, 230):
            pdf.box(left, top - 70, 140, 70)
            pdf.lines(left + 3, top - 12, [_words(rng, 4) for _ in range(rows)])


def _tall(pdf: Pdf, rng: Random, top: float) -> None:
    """Draw a grid whose first cell is beside several rows and holds a line for some of them."""
    rows = rng.randint(4, 10)
    pdf.box(60, top - 16 * rows, 100, 16 * rows)
    for row in range(rows):
        y = top - 16 * (row + 1)
        pdf.box(160, y, 80, 16)
        pdf.box(240, y, 80, 16)
        pdf.text(163, y + 4, _figure(rng))
        pdf.text(243, y + 4, _figure(rng))
        pdf.text(63, y + 4, _words(rng, 6)) if rng.random() < rng.choice((0.5, 0.65, 0.8, 0.95)) else None


def _outside(pdf: Pdf, rng: Random) -> None:
    """Draw a grid of figures with names at its left, a header above, and sums below, nearer and further."""
    rows, columns = rng.randint(3, 8), rng.randint(2, 6)
    named, off = rng.choice((0.5, 0.7, 0.9, 1.0)), rng.choice((0, 0, 1, 2, 3, 4, 5, 6))
    for row in range(rows):
        y = 640 - 16 * (row + 1)
        for column in range(columns):
            pdf.box(160 + 60 * column, y, 60, 16)
            pdf.text(163 + 60 * column, y + 4.5, _figure(rng))
        _right(
            pdf, 150 if off < 6 else 150 - 7 * (row % 2), y + 4.5 - off, _words(rng, 6)
        ) if rng.random() < named else None
    share = rng.choice((0.3, 0.45, 0.6, 0.75, 0.9, 1.0))
    size = 10 * rng.choice((0.65, 0.78, 0.85, 1.0, 1.15, 1.22, 1.4))
    up, down, over = rng.uniform(1, 40), rng.uniform(1, 30), rng.choice((0, 0, 2, 3.5, 5, 7))
    for column in range(columns):
        x = 163 + 60 * column
        if rng.random() < share:
            pdf.text(x, 640 + up, rng.choice(WORDS.split()).capitalize(), size)
            pdf.text(x, 640 + up + rng.uniform(6, 13), "All", size) if rng.random() < 0.3 else None
        pdf.text(x - over, 640 - 16 * rows - 9 - down, _figure(rng), size) if rng.random() < share else None
    gap = rng.uniform(3, 12)
    text = _words(rng, 8)
    pdf.text(163, 640 + up + 40, text)
    pdf.text(163 + text_width(text, 10) + gap, 640 + up + 40, _words(rng, 8))
    left = 217 - rng.uniform(0, 8) - text_width("Weir", 10)
    pdf.text(left, 640 + up + 14, f"Weir{' ' * rng.randint(1, 4)}Gate") if columns == 2 else None


def _figures(pdf: Pdf, rng: Random) -> None:
    """Draw rows of figures by columns, with names of several lines, heads between, and words and units among them."""
    columns, step = rng.randint(1, 4), rng.choice((13, 16, 22))
    letters, mixed, named = (
        rng.choice((10, 30, 40, 50, 62)),
        rng.choice((0, 0.2, 0.3, 0.4)),
        rng.choice((0.2, 0.35, 0.5, 1)),
    )
    places, y = [], 700.0
    for row in range(rng.randint(2, 9)):
        places.append(y)
        between = rng.choice((0, 0, 0, 0, 1, 2, 3))
        for at in range(between):
            pdf.text(330, y - step * (at + 1), _words(rng, 10), font="bold")
        y -= step * (between + 1) * (rng.choice((1, 1, 1.4, 1.8, 2.5, 3.2)) if row > 1 else 1)
    for y in places:
        pdf.text(60, y, _words(rng, letters)) if rng.random() < named else None
        pdf.text(60, y + rng.choice((-1, 1)) * rng.uniform(6, 17), "of it") if rng.random() < 0.3 else None
    for column in range(columns):
        x = 400 + 50 * column
        for y in places:
            text = rng.choice(WORDS.split())[:5] if rng.random() < mixed else _figure(rng)
            unit = rng.choice(("", "", " kg", " meter", " meters", " meters hi"))
            if column == columns - 1 and rng.random() < 0.4:
                text += unit
            _right(pdf, x, y - rng.choice((0, 0, 3, 4.5, 6)), text)
    pdf.text(520, places[0], _words(rng, 8)) if rng.random() < 0.2 else None


def _named_over(pdf: Pdf, rng: Random) -> None:
    """Draw a table of figures with a name over some of its columns, which may stand off their middle."""
    xs = [200, 270, 340, 410]
    for at in range(5):
        pdf.text(60, 700 - 14 * at, _words(rng, 8))
        for x in xs:
            _right(pdf, x, 700 - 14 * at, _figure(rng) if at else str(2001 + x // 10))
        if at == 3 and rng.random() < 0.5:
            pdf.text(250, 693 - 14 * at, _words(rng, rng.choice((4, 9, 20))))
    first = rng.choice((0, 1, 2))
    middle = (xs[first] - 20 + xs[-1]) / 2 + rng.uniform(-11, 11)
    name = _words(rng, 4)
    pdf.text(middle - text_width(name, 10) / 2, 700 + rng.uniform(11, 22), name)
