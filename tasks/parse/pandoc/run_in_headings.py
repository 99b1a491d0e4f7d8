"""Run-in headings in pandoc's tree: the bold beginnings of paragraphs, set on lines of their own as headings."""

from collections.abc import Iterator
from typing import Any

from docmill.tasks.parse.pandoc.inlines import Node, plain_text
from docmill.tasks.parse.titles.run_in import DEEPEST, SIGNS, LedParagraph, heading_of, is_lead, name_paragraphs

_STRONG = ("Strong", "Emph", "Underline")


def with_run_in_headings(blocks: list[Node]) -> list[Node]:
    """Return blocks with the leads of paragraphs as headings, one level below the heading above them."""
    led = [LedParagraph(lead, _words(rest)) for lead, rest in map(_parted, _paragraphs(blocks)) if lead]
    return list(_set_apart(blocks, [0])) if name_paragraphs(led) else blocks


def _paragraphs(blocks: list[Node]) -> Iterator[list[Node]]:
    for node in blocks:
        if node["t"] == "Para":
            yield node["c"]
        elif node["t"] == "Div":
            yield from _paragraphs(node["c"][1])


def _set_apart(blocks: list[Node], level: list[int]) -> Iterator[Node]:
    """Yield blocks; `level` holds that of the heading above, which the blocks of a division share."""
    for node in blocks:
        content: Any = node.get("c")
        lead, rest = _parted(content) if node["t"] == "Para" else ("", [])
        if node["t"] == "Header":
            level[0] = content[0]
        if lead:
            title = [{"t": "Str", "c": heading_of(lead)}]
            yield {"t": "Header", "c": [min(level[0] + 1, DEEPEST), ["", [], []], title]}
            yield {"t": "Para", "c": rest}
        elif node["t"] == "Div":
            yield {"t": "Div", "c": [content[0], list(_set_apart(content[1], level))]}
        else:
            yield node


def _parted(inlines: list[Node]) -> tuple[str, list[Node]]:
    """Return the lead of a paragraph and what follows it; the lead is "" if it has none."""
    if len(inlines) < 2 or not _stands_out(inlines[0]):
        return "", []
    lead, rest = plain_text(inlines[:1]), inlines[1:]
    sign = rest[0]["c"][:1] if rest[0]["t"] == "Str" else ""
    # The sign that ends it may stand behind the bold letters.
    if sign in SIGNS and lead[-1:] not in SIGNS:
        lead, rest = lead + sign, [{"t": "Str", "c": rest[0]["c"][1:]}, *rest[1:]]
    return (lead, rest) if is_lead(lead) and _words(rest) else ("", [])


def _stands_out(node: Node) -> bool:
    return node["t"] in _STRONG and not any(one["t"] == "Note" for one in node["c"])


def _words(inlines: list[Node]) -> int:
    return len(plain_text(inlines).split())
