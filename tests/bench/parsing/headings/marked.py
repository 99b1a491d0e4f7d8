"""Documents whose headings are marked: what they say, and what in them only looks like a heading."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

_SUBJECTS = (
    "The miller",
    "A second reading",
    "This procedure",
    "The committee",
    "Each supplier",
    "Our survey",
    "Water",
)
_VERBS = ("describes", "requires", "was measured against", "depends upon", "follows", "replaces", "explains")
_OBJECTS = (
    "the values recorded in spring", "a written notice to all members", "what the earlier report left open",
    "the flow at the lower gate", "three of the samples", "the rules that hold for visitors", "a new wheel of oak",
)  # fmt: skip
_ENDS = ("in most years", "without any further cost", "as the table shows", "before work begins", "on both sides")
_TWO, _THREE = 2, 3  # how deep a heading is


@dataclass(frozen=True)
class Piece:
    """A block: its kind, its text, the level of a heading below the title, and the lines of a list or of a drawing."""

    kind: str
    text: str = ""
    level: int = 0
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Marked:
    """A document: a name, the half it belongs to, the program that prints it, how it is set, and its pieces.

    `look` is a style sheet of the program. A `brand` stands on the cover in larger letters than the title.
    """

    name: str
    half: str
    program: str
    title: str
    outline: str
    look: str = ""
    brand: str = ""
    traps: str = ""

    @property
    def headings(self) -> list[tuple[int, str]]:
        """Return the level and the text of each heading, the title first."""
        return [(1, self.title), *((piece.level + 1, piece.text) for piece in self.pieces() if piece.kind == "heading")]

    def pieces(self) -> Iterator[Piece]:
        """Yield the document piece by piece, each heading with text below it."""
        chance = random.Random(self.name)
        for number, line in enumerate(self._lines()):
            text = line.strip()
            depth = (len(line) - len(line.lstrip())) // 2
            yield Piece("heading", text, depth)
            for _ in range(chance.randint(1, _THREE)):
                yield Piece("paragraph", paragraph(chance))
            yield from self._trap(number, chance)

    def _lines(self) -> list[str]:
        return [line for line in self.outline.splitlines() if line.strip()]

    def _trap(self, number: int, chance: random.Random) -> Iterator[Piece]:
        """Yield what looks like a heading and is none; the document says which it has."""
        names = self.traps.split()
        if not names or number % _TWO:
            return
        name = names[number // _TWO % len(names)]
        yield from {"contents": self._contents}.get(name, lambda _: iter([TRAPS[name]]))(chance)
        yield Piece("paragraph", paragraph(chance))

    def _contents(self, chance: random.Random) -> Iterator[Piece]:
        lines = [line.strip() for line in self._lines()]
        pages = sorted(chance.randint(2, 40) for _ in lines)
        yield Piece("contents", lines=tuple(f"{one} {'.' * 40} {at}" for one, at in zip(lines, pages, strict=True)))


TRAPS = {
    "steps": Piece("steps", lines=("Open the upper gate", "Wait for the wheel", "Close the lower gate")),
    "list": Piece("list", lines=("Oak for the paddles", "Iron for the axle", "Grease of any kind")),
    "lettered": Piece("lettered", lines=("Visitors under age", "Members of the board", "Staff on leave")),
    "drawing": Piece("drawing", lines=("Reservoir", "Upper gate", "Turbine house", "Mill race")),
    "caption": Piece("caption", "Figure 3. Flow at the lower gate"),
    "quote": Piece("quote", "Nobody who has stood below the wheel in March forgets the sound of it."),
    "table": Piece("table", lines=("Sample|Depth|Result", "North|12|clear", "South|31|cloudy")),
    "names": Piece("names", lines=("Harriet Lowell", "Chair of the Board", "Date:")),
    "warning": Piece("warning", "Warning: never reach into the wheel while the gate is open."),
}


def paragraph(chance: random.Random) -> str:
    """Return a few sentences."""
    parts = (_SUBJECTS, _VERBS, _OBJECTS, _ENDS)
    return " ".join(f"{' '.join(chance.choice(part) for part in parts)}." for _ in range(chance.randint(4, 7)))
