"""Confluence: a space exported as HTML, or as XML with page bodies in Confluence's own format."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docmill.storage.errors import SourceError
from docmill.tasks.sources.connectors.spool import Spool
from docmill.tasks.sources.exports.export_document import ExportDocument, named, relinked, with_metas
from docmill.tasks.sources.exports.export_files import ExportFiles, read_text

_ID = re.compile(r"_(\d+)(?=\.html$)")
"""What follows a page's title in its file name."""
_ATTACHED = re.compile(r"(?:^|/)attachments/(\d+)/")
_TAG = re.compile(r"<[^>]*>")
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_META = re.compile(r"class=[\"']page-metadata[\"'][^>]*>(.*?)</div>", re.DOTALL)
_AUTHOR = re.compile(r"class=[\"']author[\"'][^>]*>(.*?)</span>", re.DOTALL)
_DATE = re.compile(r"\bon ([A-Z][a-z]{2} \d{1,2}, \d{4})")
_CRUMBS = re.compile(r"id=[\"']breadcrumbs[\"'][^>]*>(.*?)</ol>", re.DOTALL)
_CRUMB = re.compile(r"<a\b[^>]*>(.*?)</a>", re.DOTALL)
_MAIN = re.compile(r"<div id=[\"'](?:main-content|content)[\"'].*(?=<div id=[\"']footer[\"'])", re.DOTALL)


def is_confluence_pages(names: Iterable[str]) -> bool:
    """Return whether files with these names are a space exported as HTML."""
    return any(name.endswith("styles/site.css") for name in names) and any(_ID.search(name) for name in names)


def read_confluence_pages(files: ExportFiles, link: str) -> Iterator[ExportDocument]:
    """Yield the pages, named by their titles, and their attachments; `link` is the address of the server."""
    kept = [name for name in files if _ATTACHED.search(name) or (name.endswith(".html") and not _is_index(name))]
    names = named(kept, lambda name: _ID.sub("", name))
    for name in kept:
        where = _where(name, link)
        if not name.endswith(".html") or _ATTACHED.search(name):
            yield ExportDocument(names[name], files[name], link=where)
        else:
            page = relinked(read_text(files, name), name, names)
            yield ExportDocument(names[name], with_metas(_lean(page), _told(page)), _parents(page), where)


def _where(name: str, link: str) -> str:
    """Return the address of a page, or of the page that a file is attached to."""
    id = _ID.search(name) or _ATTACHED.search(name)
    return f"{link.rstrip('/')}/pages/viewpage.action?pageId={id[1]}" if link and id else ""


def _is_index(name: str) -> bool:
    return name.rpartition("/")[2] == "index.html"


def _lean(page: str) -> str:
    """Return a page without the space's name in its title, the path above it, and the footer below."""
    title = _TITLE.search(page)
    own = title[1].partition(" : ")[2] or title[1] if title else ""
    main = _MAIN.search(page)
    body = main[0] if main else page
    return f"<html><head><title>{own}</title></head><body><h1>{own}</h1>{_META.sub('>', body)}</body></html>"


def _told(page: str) -> dict[str, str]:
    """Return who wrote a page and when it was last changed."""
    said = _META.search(page)
    author, date = (pattern.search(said[1]) if said else None for pattern in (_AUTHOR, _DATE))
    return {"author": _plain(author[1]) if author else "", "modified": _iso(date[1]) if date else ""}


def _parents(page: str) -> dict[str, Any]:
    found = _CRUMBS.search(page)
    parents = [_plain(one) for one in _CRUMB.findall(found[1])] if found else []
    return {"parents": parents} if parents else {}


def _plain(markup: str) -> str:
    return " ".join(unescape(_TAG.sub("", markup)).split())


def _iso(date: str) -> str:
    from datetime import datetime

    return datetime.strptime(date, "%b %d, %Y").date().isoformat()


_FILE = "entities.xml"
_PAGES = ("Page", "BlogPost")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\] ?>", re.DOTALL)
_LINK = re.compile(r"<ac:link\b[^>]*>(.*?)</ac:link>", re.DOTALL)
_PAGE_TITLE = re.compile(r"<ri:page\b[^>]*\bri:content-title=\"([^\"]*)\"")
_LINK_BODY = re.compile(r"<ac:(?:plain-text-)?link-body>(.*?)</ac:(?:plain-text-)?link-body>", re.DOTALL)
_CODE = re.compile(r"<ac:plain-text-body>(.*?)</ac:plain-text-body>", re.DOTALL)
_PARAMETER = re.compile(r"<ac:parameter\b[^>]*>.*?</ac:parameter>", re.DOTALL)
_OWN = re.compile(r"</?(?:ac|ri):[^>]*>")
Fields = Mapping[str, str]


@dataclass
class _Space:
    """The objects of a space that become documents: pages by id, and people's names by key."""

    pages: dict[str, Fields] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)
    bodies: Spool = field(default_factory=Spool)


def is_confluence_space(names: Iterable[str]) -> bool:
    """Return whether files with these names are a space exported as XML."""
    return any(name.rpartition("/")[2] == _FILE for name in names)


def read_confluence_space(files: ExportFiles, link: str) -> Iterator[ExportDocument]:
    """Yield the current pages as HTML, each in the folder of its parent pages, with links to each other."""
    space = _read(next(files[name] for name in files if name.rpartition("/")[2] == _FILE))
    paths = {id: f"{'/'.join(_path(id, space.pages))}.html" for id in space.pages}
    names = named(space.pages, paths.__getitem__)
    by_title = {page["title"]: names[id] for id, page in space.pages.items()}
    for id, page in space.pages.items():
        body = (space.bodies.get(id) or b"").decode()
        title = escape(page["title"])
        told = {
            "author": space.people.get(page.get("creator", ""), ""), "created": page.get("creationDate", "")[:10],
            "modified": page.get("lastModificationDate", "")[:10],
        }  # fmt: skip
        html = f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{_bare(body, by_title, names[id])}"
        where = f"{link.rstrip('/')}/pages/viewpage.action?pageId={id}" if link else ""
        yield ExportDocument(names[id], with_metas(f"{html}</body></html>", told), link=where)


def _path(id: str, pages: Mapping[str, Fields]) -> list[str]:
    """Return the titles of a page's ancestors and its own; a cycle of parents ends where it closes."""
    steps, seen = list[str](), set[str]()
    while id in pages and id not in seen:
        seen.add(id)
        steps.insert(0, pages[id]["title"].replace("/", "-"))
        id = pages[id].get("parent", "")
    return steps


def _read(path: Path) -> _Space:
    from lxml import etree

    space = _Space()
    # Entities are not resolved and nothing is loaded, because the file may come from anyone.
    options = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": True}
    try:
        for _, node in etree.iterparse(str(path), tag="object", **options):
            _keep(node, space)
            node.clear()
    except etree.XMLSyntaxError as error:
        raise SourceError(f"{_FILE} of the export is damaged or cut off: {error.msg}") from None
    return space


def _keep(node: Any, space: _Space) -> None:
    """Keep the data of an object if it is a page, a body or a person."""
    kind, told = node.get("class"), _fields(node)
    if kind in _PAGES and told.get("contentStatus", "current") == "current" and not told.get("originalVersion"):
        if told.get("title"):
            space.pages[told["id"]] = told
    elif kind == "BodyContent" and told.get("content"):
        space.bodies.put(told["content"], told.get("body", "").encode())
    elif kind == "ConfluenceUserImpl":
        space.people[told["id"]] = told.get("fullName") or told.get("name", "")


def _fields(node: Any) -> dict[str, str]:
    """Return the properties of an object: texts, and the ids of objects that it refers to."""
    found = {"id": (node.findtext("id") or "").strip()}
    for one in node.iterfind("property"):
        found[one.get("name", "")] = (one.findtext("id") or one.text or "").strip()
    return found


def _bare(body: str, names: Mapping[str, str], own: str) -> str:
    """Return a body as plain HTML: links use the new names of pages, code stays code, and macros are removed."""

    def led(found: re.Match[str]) -> str:
        title, said = _PAGE_TITLE.search(found[1]), _LINK_BODY.search(found[1])
        text = said[1] if said else title[1] if title else ""
        new = names.get(title[1]) if title else None
        return f'<a href="{quote("../" * own.count("/") + new)}">{text}</a>' if new else text

    escaped = _CDATA.sub(lambda found: escape(found[1]), body)
    linked = _LINK.sub(led, escaped)
    return _OWN.sub("", _CODE.sub(r"<pre><code>\1</code></pre>", _PARAMETER.sub("", linked)))
