"""Tree: the chunks of a part of a document, and what stands below them where a strategy has levels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks.fitting import Fitted, Fitter
from tasks.split import Level, Options, Part, Splitter


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A chunk that fits, the role that its strategy gives it, and its parent."""

    fitted: Fitted
    role: str = ""
    parent: "Node | None" = None

    @property
    def depth(self) -> int:
        """Return how many chunks stand above this one."""
        return self.parent.depth + 1 if self.parent else 0


def grow(part: Part, splitter: Splitter, options: Options, fitter: Fitter) -> list[Node]:
    """Return the chunks of a part, each before those below it."""
    return list(_grow(part, (Level(splitter.role, splitter.split), *splitter.levels), options, fitter, None))


def _grow(part: Part, levels: Sequence[Level], options: Options, fitter: Fitter, parent: Node | None) -> Iterator[Node]:
    """Yield the nodes of the first level, each with its own; one that says what its parent says is left out."""
    for fitted in fitter.fit(levels[0].split(part, options)):
        node = parent
        if parent is None or fitted.span != parent.fitted.span:
            node = Node(fitted, levels[0].role, parent)
            yield node
        if levels[1:]:
            yield from _grow(part.within(*fitted.span), levels[1:], options, fitter, node)


def in_order(nodes: Sequence[Node]) -> list[tuple[Node, int]]:
    """Return nodes by start, each before what lies in it, with how many rows before it its parent stands, or 0."""
    ordered = sorted(nodes, key=lambda node: (node.fitted.span.start, -node.fitted.span.end, node.depth))
    rows = {id(node): row for row, node in enumerate(ordered)}
    return [(node, row - rows[id(node.parent)] if node.parent else 0) for row, node in enumerate(ordered)]
