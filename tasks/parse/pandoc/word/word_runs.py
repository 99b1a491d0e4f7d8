"""Word runs: the runs and paragraphs that are written into a document, and its fields."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_FIELDS = (W + "fldSimple", W + "fldChar")
OFF = ("0", "false", "off", "none")


def run_of(text: str) -> Any:
    """Return a run with a text, whose spaces stay."""
    run = etree.Element(W + "r")
    etree.SubElement(run, W + "t", {SPACE: "preserve"}).text = text
    return run


def paragraph_of(text: str) -> Any:
    """Return a paragraph of one run."""
    paragraph = etree.Element(W + "p")
    paragraph.append(run_of(text))
    return paragraph


def put_first(paragraph: Any, text: str) -> None:
    """Put a run with a text before the others of a paragraph."""
    properties = paragraph.find(W + "pPr")
    paragraph.insert(0 if properties is None else paragraph.index(properties) + 1, run_of(text))


@dataclass(slots=True)
class WordField:
    """A field: what it says, the node that begins it, whether it shows a result, and the paragraphs of all its text."""

    place: Any
    said: str = ""
    shown: bool = False
    paragraphs: dict[Any, None] = field(default_factory=dict)


def fields_in(root: Any) -> Iterator[WordField]:
    """Yield simple fields, and those of several runs as they end; fields may be nested. One without an end is none."""
    begun: list[WordField] = []
    has_fields = next(root.iter(*_FIELDS), None) is not None  # without any, the texts need not be walked through
    for node in root.iter(*_FIELDS, W + "instrText", W + "t") if has_fields else ():
        if node.tag == W + "fldSimple":
            yield WordField(node, node.get(W + "instr") or "", bool("".join(node.itertext()).strip()))
        elif node.tag == W + "fldChar":
            yield from _turned(node, begun)
        elif begun and node.tag == W + "instrText":
            begun[-1].said += node.text or ""
        else:
            for one in begun:
                one.paragraphs |= dict.fromkeys(node.iterancestors(W + "p"))


def _turned(node: Any, begun: list[WordField]) -> list[WordField]:
    """Begin a field, or note that it shows a result, or end it; return one that ends."""
    kind = node.get(W + "fldCharType")
    if kind == "begin":
        begun.append(WordField(node.getparent()))
    elif kind == "separate" and begun:
        begun[-1].shown = True
    return [begun.pop()] if kind == "end" and begun else []
