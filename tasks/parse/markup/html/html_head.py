"""The head of an HTML page: its title and what it says of itself."""

from typing import Any

_NAMES = {
    "description": "description",
    "og:description": "description",
    "author": "author",
    "article:author": "author",
    "dc.creator": "author",
    "keywords": "keywords",
    "article:published_time": "created",
    "date": "created",
    "dc.date": "created",
    "dcterms.created": "created",
    "article:modified_time": "modified",
    "last-modified": "modified",
    "dcterms.modified": "modified",
}


def head_metadata(root: Any) -> tuple[str, dict[str, Any]]:
    """Return a page's title and metadata; the first of several statements counts, but for authors."""
    metadata: dict[str, Any] = {}
    language = root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang")
    if language and language.strip():
        metadata["language"] = language.strip()
    for meta in root.iter("meta"):
        name = _NAMES.get((meta.get("name") or meta.get("property") or "").strip().lower())
        content = " ".join((meta.get("content") or "").split())
        if name == "author" and content not in metadata.get(name, content):
            metadata[name] += f", {content}"
        elif name and content:
            metadata.setdefault(name, content)
    title = next(root.iter("title"), None)
    return "" if title is None else " ".join("".join(title.itertext()).split()), metadata
