"""Struck words: text that a page shows as deleted, between `~~`, as in Markdown."""

from typing import Any

from lxml import etree

from docmill.tasks.parse.canvas import STRUCK

_STYLED = etree.XPath("descendant::*[@style][contains(@style, 'line-through')]")
_BLOCK_WORDS = "p div section article li dd dt td th h1 h2 h3 h4 h5 h6 blockquote figcaption caption"
_BLOCKS = frozenset(_BLOCK_WORDS.split())
_APART = ("pre", "code", "svg", "math", "del", "s", "strike")  # code is as it stands, and nothing is struck twice


def mark_struck(root: Any, styled: bool) -> None:
    """Put signs around the struck words of a tree, those of each block for themselves.

    With `styled`, words are looked for that a style strikes.
    """
    nodes = dict.fromkeys([*root.iter("del", "s", "strike"), *(_STYLED(root) if styled else ())])
    for node in nodes:
        if not any(one.tag in _APART or one in nodes for one in node.iterancestors()):
            for one in _innermost(node):
                _wrap(one)


def _innermost(node: Any) -> list[Any]:
    """Return the blocks within a node that hold no other block, or the node itself."""
    return [one for one in node.iter(*_BLOCKS) if next(one.iterdescendants(*_BLOCKS), None) is None] or [node]


def _wrap(node: Any) -> None:
    if not any(map(str.isalnum, "".join(node.itertext()))):
        return
    said = node.text or ""
    node.text = said[: len(said) - len(said.lstrip())] + STRUCK + said.lstrip()
    if len(node):
        node[-1].tail = _ended(node[-1].tail or "")
    else:
        node.text = _ended(node.text)


def _ended(text: str) -> str:
    words = text.rstrip()
    return words + STRUCK + text[len(words) :]
