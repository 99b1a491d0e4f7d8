"""Notion: pages and databases of an export as HTML, or as Markdown and CSV."""

import re
from collections.abc import Iterable, Iterator

from docmill.tasks.sources.connectors.text_entries import Entry, document_of
from docmill.tasks.sources.exports.export_document import ExportDocument, named, relinked, with_metas
from docmill.tasks.sources.exports.export_files import ExportFiles, read_text

_ID = re.compile(r"[ -]([0-9a-f]{32})(?=_all\.csv$|\.[a-z]+$|/)")
"""What follows a page's title in the name of its file or folder."""
_ALL = re.compile(r"_all(?=\.csv$)")
_TITLE = re.compile(r"\A# (?P<title>[^\n]*)\n\n(?P<lines>(?:[^\n:]{1,60}: [^\n]*\n)*)")
_ROW = r"property-row-{}\b[^>]*>.*?<td>(.*?)</td>"
_TAG = re.compile(r"<[^>]*>")
_KEYS = {
    "author": ("Created by", "Author", "Owner", "Person"),
    "created": ("Created time", "Created", "Date"),
    "modified": ("Last edited time", "Last edited", "Updated"),
}
"""The properties that say who wrote a page and when, by Notion's default names; people may rename them."""
_ROWS = {"author": "created_by", "created": "created_time", "modified": "last_edited_time"}


def is_notion(names: Iterable[str]) -> bool:
    """Return whether files with these names are a Notion export."""
    return any(_ID.search(name) and name.endswith((".md", ".html", ".csv")) for name in names)


def read_notion(files: ExportFiles, _link: str) -> Iterator[ExportDocument]:
    """Yield the pages, named by their titles, with links to each other; for a database, the table with all rows."""
    kept = [name for name in files if not _is_left_out(name, files)]
    names = named(kept, lambda name: _ALL.sub("", _ID.sub("", name)))
    for name in kept:
        id = [*_ID.findall(name.rpartition("/")[2])][-1:]
        link = f"https://www.notion.so/{id[0]}" if id else ""
        if name.endswith(".md"):
            yield ExportDocument(names[name], _markdown(relinked(read_text(files, name), name, names)), link=link)
        elif name.endswith(".html"):
            page = relinked(read_text(files, name), name, names)
            yield ExportDocument(
                names[name], with_metas(page, {key: _row(page, row) for key, row in _ROWS.items()}), link=link
            )
        else:
            yield ExportDocument(names[name], files[name], link=link)


def _is_left_out(name: str, files: ExportFiles) -> bool:
    """Return whether a file adds nothing: the index, or a table of which another file has all rows."""
    return name == "index.html" or f"{name.removesuffix('.csv')}_all.csv" in files


def _markdown(text: str) -> bytes:
    """Return a page with its properties as front matter."""
    found = _TITLE.match(text)
    if found is None:
        return text.encode()
    lines = dict(line.split(": ", 1) for line in found["lines"].splitlines())
    told = {key: next((lines[name] for name in given if lines.get(name)), "") for key, given in _KEYS.items()}
    return document_of(Entry(text, {"title": found["title"], **told}), "markdown")


def _row(page: str, row: str) -> str:
    found = re.search(_ROW.format(row), page, re.DOTALL)
    return _TAG.sub("", found[1]).strip().removeprefix("@") if found else ""
