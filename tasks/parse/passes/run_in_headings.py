"""Run-in headings of drawn formats: the leads of paragraphs, set on lines of their own as headings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from docmill.tasks.parse.passes.drawn_block import DrawnBlock, heading_block
from docmill.tasks.parse.titles.run_in import DEEPEST, SIGNS, LedParagraph, heading_of, is_lead, name_paragraphs


def with_run_in_headings(blocks: Sequence[DrawnBlock]) -> Sequence[DrawnBlock]:
    """Return blocks with the leads of paragraphs as headings, one level below the heading above them."""
    led = {at: found for at, one in enumerate(blocks) if one.lead and (found := _parted(one.text, one.lead))}
    if not name_paragraphs([LedParagraph(lead, len(rest.split())) for lead, rest in led.values()]):
        return blocks
    return list(_set_apart(blocks, led))


def _set_apart(blocks: Sequence[DrawnBlock], led: dict[int, tuple[str, str]]) -> Iterator[DrawnBlock]:
    level = 0
    for at, block in enumerate(blocks):
        level = block.level if block.kind == "title" else level
        if at in led:
            lead, rest = led[at]
            yield heading_block(heading_of(lead), min(level + 1, DEEPEST), block.page, block.box, {})
            yield replace(block, text=rest, attributes=_of_rest(block.attributes, rest))
        else:
            yield block


def _parted(text: str, lead: str) -> tuple[str, str] | None:
    """Return the lead of a paragraph, with the sign that ends it, and what follows it; None if it names nothing."""
    behind = text.removeprefix(lead).strip()
    if lead[-1:] not in SIGNS and behind[:1] in SIGNS:  # the sign may stand behind the bold letters
        lead, behind = lead + behind[:1], behind[1:].lstrip()
    return (lead, behind) if behind and text.startswith(lead[:-1]) and is_lead(lead) else None


def _of_rest(attributes: dict[str, Any], rest: str) -> dict[str, Any]:
    """Return the attributes of a paragraph without its lead: of the links, those that stand in the rest of it."""
    links = [link for link in attributes.get("links", ()) if link["text"] in rest]
    kept = attributes | {"links": links}
    return kept if links else {name: value for name, value in kept.items() if name != "links"}
