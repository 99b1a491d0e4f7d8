"""Confluence pages: a space that was exported as HTML."""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any

from docmill.tasks.sources.exports.export_document import ExportDocument, named, relinked, with_metas
from docmill.tasks.sources.exports.export_files import ExportFiles, read_text

_ID = re.compile(r"_(\d+)(?=\.html$)")
"""What follows the title of a page in the name of its file."""
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
    """Return whether files of these names are a space as HTML."""
    return any(name.endswith("styles/site.css") for name in names) and any(_ID.search(name) for name in names)


def read_confluence_pages(files: ExportFiles, link: str) -> Iterator[ExportDocument]:
    """Yield the pages under their titles, and what is attached to them; `link` is the address of the server."""
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
    """Return the address of a page, or of the page to which a file is attached."""
    id = _ID.search(name) or _ATTACHED.search(name)
    return f"{link.rstrip('/')}/pages/viewpage.action?pageId={id[1]}" if link and id else ""


def _is_index(name: str) -> bool:
    return name.rpartition("/")[2] == "index.html"


def _lean(page: str) -> str:
    """Return a page without the name of the space in its title, the path above it, and what stands below each page."""
    title = _TITLE.search(page)
    own = title[1].partition(" : ")[2] or title[1] if title else ""
    main = _MAIN.search(page)
    body = main[0] if main else page
    return f"<html><head><title>{own}</title></head><body><h1>{own}</h1>{_META.sub('>', body)}</body></html>"


def _told(page: str) -> dict[str, str]:
    """Return who wrote a page, and when it was changed last."""
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
