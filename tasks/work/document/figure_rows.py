"""Figure rows: what the row of a document says of each of its figures."""

from typing import Any

from docmill.storage.schema import Element, Parsed
from docmill.tasks.split.parts.captions import bound_captions

_FACTS = ("key", "media_type", "width", "height", "bytes")


def figure_rows(parsed: Parsed) -> tuple[dict[str, Any], ...]:
    """Return a row of `FIGURE` for each figure of a document, in order."""
    figures = [one for one in parsed.elements if one.kind == "figure"]
    captions = bound_captions(parsed).of if figures else {}
    return tuple(_row(parsed.text, one, captions.get(one.start_char)) for one in figures)


def _row(text: str, figure: Element, caption: Element | None) -> dict[str, Any]:
    own = figure.attributes
    below = "" if caption is None else " ".join(text[caption.start_char : caption.end_char].strip("*_ \n").split())
    return {
        **{name: own[name] for name in _FACTS},
        "start_char": figure.start_char,
        "end_char": figure.end_char,
        "page": figure.page or None,
        "box": [*figure.box] if figure.box else [],
        "caption": own.get("caption") or below,
        "alt": own.get("alt", ""),
    }
