"""The text of a slide's shape: its paragraphs, and which of them are items of a list, as masters have it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from docmill.tasks.parse.office.parts import reference, whole

_BULLETS = ("buChar", "buAutoNum", "buBlip", "buNone")
_MAX_LEVEL = 9
_MAX_LINKS = 200


class Line(NamedTuple):
    """A paragraph and its node; depth 0 is no item of a list, `marker` is "-" or such as "2."."""

    text: str
    node: Any
    depth: int = 0
    marker: str = "-"


def lines_of(body: Any, styles: list[Any]) -> Iterator[Line]:
    """Yield a text body's paragraphs; `styles` are the list styles that apply to it, nearest first."""
    own = body.find("{*}lstStyle")
    chain = [style for style in (own, *styles) if style is not None]
    counts: Counter[int] = Counter()
    for paragraph in body.iterchildren("{*}p"):
        text = text_of(paragraph)
        if not text.strip():
            continue
        properties = paragraph.find("{*}pPr")
        level = min(whole(None if properties is None else properties.get("lvl"), 0), _MAX_LEVEL - 1)
        bullet = _bullet(properties, level, chain)
        for deeper in range(level + 1, _MAX_LEVEL):
            counts[deeper] = 0
        if bullet is None or bullet.tag.endswith("}buNone"):
            counts[level] = 0
            yield Line(text, paragraph)
        elif bullet.tag.endswith("}buAutoNum"):
            counts[level] = counts[level] + 1 if counts[level] else max(1, whole(bullet.get("startAt"), 1))
            yield Line(text, paragraph, level + 1, f"{counts[level]}.")
        else:
            counts[level] = 0
            yield Line(text, paragraph, level + 1)


def text_of(paragraph: Any) -> str:
    """Return a paragraph's text with its line breaks."""
    parts = paragraph.iter("{*}t", "{*}br")
    return "".join("\n" if node.tag.endswith("}br") else node.text or "" for node in parts).replace("\v", "\n")


def links_in(node: Any, addresses: dict[str, str]) -> dict[str, Any]:
    """Return the attribute `links` of what a node holds, if it links to any address; a link may be in several runs."""
    links: list[dict[str, str]] = []
    before = None
    for run in node.iter("{*}r"):
        click = run.find("{*}rPr/{*}hlinkClick")
        url = "" if click is None else addresses.get(reference(click), "")
        text = "".join(run.itertext("{*}t"))
        if url and before is not None and before is run.getprevious() and links and links[-1]["url"] == url:
            links[-1]["text"] += text
        elif url and text.strip() and len(links) < _MAX_LINKS:
            links.append({"text": text, "url": url})
        before = run if url else None
    return {"links": [{"text": " ".join(one["text"].split()), "url": one["url"]} for one in links]} if links else {}


def _bullet(properties: Any, level: int, chain: list[Any]) -> Any:
    """Return the element that says how a paragraph is marked, the nearest of those that apply."""
    styles = (style.find(f"{{*}}lvl{level + 1}pPr") for style in chain)
    for stated in (properties, *styles):
        found = None if stated is None else next((one for one in stated if _local(one) in _BULLETS), None)
        if found is not None:
            return found
    return None


def _local(node: Any) -> str:
    return str(node.tag).rpartition("}")[2]
