"""List depths: items of lists whose depth a class or style states, as their lists of all depths stand side by side.

Word and Outlook write such items as paragraphs, each with its mark typed before it; Google Docs and Quill as items.
"""

import re
from typing import Any

from docmill.tasks.parse.markup.html.html_nodes import drop

SIGNS = re.compile(r"mso-list|lst-kix_|ql-indent-|aria-level")
"""What a page has that states depths; others need not be walked for them."""
DEPTH, MARKER = "docmill-depth", "docmill-marker"  # the attributes of an item in which they are left
_DEPTH = re.compile(r"mso-list:[^;]*\blevel([1-9])|\blst-kix_\w+-(\d)\b|\bql-indent-(\d)\b")
_LEVELS = frozenset("123456789")
_MARK = re.compile(r"mso-list:\s*ignore", re.IGNORECASE)


def state_depths(root: Any) -> None:
    """Write the depth of each item that states it into an attribute; paragraphs of Word become items."""
    for node in list(root.iter("li", "p")):
        depth = _stated(node)
        if depth:
            node.set(DEPTH, str(depth))
            if node.tag == "p":
                node.tag = "li"
                node.set(MARKER, _take_mark(node))


def _stated(node: Any) -> int:
    """Return the depth, from 1, that a node or its list states, 0 if none does or the node is a plain paragraph."""
    if node.tag == "p":
        found = _DEPTH.search(node.get("style") or "")
        return int(found[1]) if found and found[1] else 0
    around = node.getparent()
    said = " ; ".join(filter(None, (node.get("style"), node.get("class"), around.get("class"))))
    if found := _DEPTH.search(said):
        return int(found[1]) if found[1] else int(found[2] or found[3]) + 1
    level = node.get("aria-level")
    return int(level) if level in _LEVELS else 0


def _take_mark(paragraph: Any) -> str:
    """Remove the mark typed before an item; return it if it is a number, else a dash."""
    mark = next((span for span in paragraph.iter("span") if _MARK.search(span.get("style") or "")), None)
    if mark is None:
        return "-"
    written = "".join(mark.itertext()).strip()
    drop(mark)
    return written if len(written) > 1 and any(map(str.isalnum, written)) else "-"
