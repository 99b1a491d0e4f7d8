"""Run-in headings of HTML: the bold beginnings of paragraphs, set on lines of their own as headings."""

from collections.abc import Iterator
from typing import Any

from lxml import etree

from docmill.tasks.parse.titles.run_in import DEEPEST, SIGNS, LedParagraph, heading_of, is_lead, name_paragraphs

_STRONG = frozenset(("b", "strong", "em", "i"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_WITHIN = ("table", "li", "dd", "blockquote", "nav", "header", "footer", "aside", "form")


def set_run_in_headings_apart(root: Any) -> None:
    """Put the leads of a page's paragraphs into headings above them; the tree is modified in place."""
    found = list(_led(root))
    if not name_paragraphs([LedParagraph(lead, words) for _, _, lead, words in found]):
        return
    for paragraph, level, lead, _ in found:
        strong, sign = paragraph[0], lead[-1:]
        heading = etree.Element(f"h{min(level + 1, DEEPEST)}")
        heading.text = heading_of(lead)
        paragraph.addprevious(heading)
        tail = (strong.tail or "").lstrip()
        ended = "".join(strong.itertext()).rstrip().endswith(sign)
        paragraph.text = tail if ended else tail.removeprefix(sign).lstrip()
        paragraph.remove(strong)


def _led(root: Any) -> Iterator[tuple[Any, int, str, int]]:
    """Yield the paragraphs with a lead: the level of the heading above, the lead, and how many words follow."""
    level = 0
    for node in root.iter("p", *_HEADINGS):
        level = _HEADINGS.get(node.tag, level)
        if node.tag == "p" and _begins_bold(node):
            lead = _lead_of(node)
            if is_lead(lead) and (words := _words_behind(node)):
                yield node, level, lead, words


def _begins_bold(paragraph: Any) -> bool:
    """Return whether a paragraph of running text begins with bold or slanted words."""
    bold = len(paragraph) > 0 and paragraph[0].tag in _STRONG and not (paragraph.text or "").strip()
    return bold and next(paragraph.iterancestors(*_WITHIN), None) is None


def _lead_of(paragraph: Any) -> str:
    """Return the words that begin a paragraph in bold, with the sign behind them."""
    strong = paragraph[0]
    lead = " ".join("".join(strong.itertext()).split())
    sign = (strong.tail or "").strip()[:1]
    if sign in SIGNS and lead[-1:] not in SIGNS:
        lead += sign
    return lead


def _words_behind(paragraph: Any) -> int:
    """Return how many words follow those that begin a paragraph in bold."""
    inside = len("".join(paragraph[0].itertext()).split())
    return len("".join(paragraph.itertext()).split()) - inside
