"""Confluence space: one that was exported as XML, with the bodies of pages in Confluence's own format."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docmill.storage.errors import SourceError
from docmill.tasks.sources.connectors.spool import Spool
from docmill.tasks.sources.exports.export_document import ExportDocument, named, with_metas
from docmill.tasks.sources.exports.export_files import ExportFiles

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
    """The objects of a space that become documents: pages by id, and the names of people by key."""

    pages: dict[str, Fields] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)
    bodies: Spool = field(default_factory=Spool)


def is_confluence_space(names: Iterable[str]) -> bool:
    """Return whether files of these names are a space as XML."""
    return any(name.rpartition("/")[2] == _FILE for name in names)


def read_confluence_space(files: ExportFiles, link: str) -> Iterator[ExportDocument]:
    """Yield the current pages as HTML, below the pages above them, with links to each other."""
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
        html = f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{_plain(body, by_title, names[id])}"
        where = f"{link.rstrip('/')}/pages/viewpage.action?pageId={id}" if link else ""
        yield ExportDocument(names[id], with_metas(f"{html}</body></html>", told), link=where)


def _path(id: str, pages: Mapping[str, Fields]) -> list[str]:
    """Return the titles of the pages above a page, and its own; a ring of parents ends where it comes back."""
    steps, seen = list[str](), set[str]()
    while id in pages and id not in seen:
        seen.add(id)
        steps.insert(0, pages[id]["title"].replace("/", "-"))
        id = pages[id].get("parent", "")
    return steps


def _read(path: Path) -> _Space:
    from lxml import etree

    space = _Space()
    # Entities are not resolved and nothing is loaded: the file comes from anybody.
    options = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": True}
    try:
        for _, node in etree.iterparse(str(path), tag="object", **options):
            _keep(node, space)
            node.clear()
    except etree.XMLSyntaxError as error:
        raise SourceError(f"{_FILE} of the export is damaged or cut off: {error.msg}") from None
    return space


def _keep(node: Any, space: _Space) -> None:
    """Keep what an object says, if it is of a page, its body or a person."""
    kind, told = node.get("class"), _fields(node)
    if kind in _PAGES and told.get("contentStatus", "current") == "current" and not told.get("originalVersion"):
        if told.get("title"):
            space.pages[told["id"]] = told
    elif kind == "BodyContent" and told.get("content"):
        space.bodies.put(told["content"], told.get("body", "").encode())
    elif kind == "ConfluenceUserImpl":
        space.people[told["id"]] = told.get("fullName") or told.get("name", "")


def _fields(node: Any) -> dict[str, str]:
    """Return the properties of an object: texts, and the ids of the objects to which they refer."""
    found = {"id": (node.findtext("id") or "").strip()}
    for one in node.iterfind("property"):
        found[one.get("name", "")] = (one.findtext("id") or one.text or "").strip()
    return found


def _plain(body: str, names: Mapping[str, str], own: str) -> str:
    """Return a body as plain HTML: links to pages by their new names, code as code, and no macros."""

    def led(found: re.Match[str]) -> str:
        title, said = _PAGE_TITLE.search(found[1]), _LINK_BODY.search(found[1])
        text = said[1] if said else title[1] if title else ""
        new = names.get(title[1]) if title else None
        return f'<a href="{quote("../" * own.count("/") + new)}">{text}</a>' if new else text

    escaped = _CDATA.sub(lambda found: escape(found[1]), body)
    linked = _LINK.sub(led, escaped)
    return _OWN.sub("", _CODE.sub(r"<pre><code>\1</code></pre>", _PARAMETER.sub("", linked)))
