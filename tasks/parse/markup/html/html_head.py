"""HTML head: the title and metadata of a page."""

from typing import Any

from docmill.tasks.parse.trees import words_in

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
_LANGUAGES = ("lang", "{http://www.w3.org/XML/1998/namespace}lang", "xml:lang")


def head_metadata(root: Any) -> tuple[str, dict[str, Any]]:
    """Return a page's title and metadata; the first statement wins, except that authors are joined."""
    language = _language(root)
    metadata: dict[str, Any] = {"language": language} if language else {}
    for meta in root.iter("meta"):
        _add(metadata, meta)
    # A drawing has a title of its own.
    title = next((one for one in root.iter("title") if next(one.iterancestors("svg"), None) is None), None)
    return "" if title is None else words_in(title), metadata


def _language(root: Any) -> str:
    """Return the language by the first attribute that states one; the HTML parser keeps `xml:lang` as it is."""
    stated = next(filter(None, map(root.get, _LANGUAGES)), "")
    return str(stated).strip()


def _add(metadata: dict[str, Any], meta: Any) -> None:
    name = _NAMES.get((meta.get("name") or meta.get("property") or "").strip().lower())
    content = " ".join((meta.get("content") or "").split())
    if not name or not content:
        return
    # Pages often state an author twice, for search engines and for social networks.
    if name == "author" and content not in metadata.get(name, content):
        metadata[name] += f", {content}"
    else:
        metadata.setdefault(name, content)
