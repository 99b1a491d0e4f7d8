"""Paths of XML nodes, written as XPath: `/rss/channel/item[3]`."""

from collections import Counter
from typing import Any, NamedTuple

from docmill.tasks.parse.markup.xml.xml_nodes import has_twin, name_of


class NodePlace(NamedTuple):
    """A node and its path."""

    node: Any
    path: str


class NodePath:
    """The path of the current node of a walk; names shared with siblings are numbered."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._steps: list[str] = []
        # For each ancestor, how often every name has occurred among its children so far.
        self._counts: list[Counter[str]] = [Counter()]

    def __str__(self) -> str:
        return "/" + "/".join(self._steps)

    def step_in(self, node: Any) -> None:
        """Move from a node to one of its children."""
        name = name_of(node)
        counts = self._counts[-1]
        counts[name] += 1
        self._steps.append(f"{name}[{counts[name]}]" if self._is_numbered(node, counts[name]) else name)
        self._counts.append(Counter())

    def step_out(self) -> None:
        """Move back to the parent."""
        self._steps.pop()
        self._counts.pop()

    def _is_numbered(self, node: Any, count: int) -> bool:
        """Return whether a node has siblings of its name: beside it, or before it."""
        return node is not self._root and (count > 1 or has_twin(node))
