"""Text entries: text with metadata as Markdown documents, kept by content until they are fetched."""

import datetime
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from posixpath import splitext
from typing import Any, Literal

from docmill.storage.errors import Rejected
from docmill.storage.keys import hash_bytes, key_of
from docmill.tasks.sources.connectors.contract import SourceItem, SourceListing
from docmill.tasks.sources.connectors.spool import Spool

Format = Literal["markdown", "text", "html"]
SUFFIXES: Mapping[Format, str] = {"markdown": ".md", "text": ".txt", "html": ".html"}

_MOST_STEP = 120
"""Characters of a path segment: a file system allows 255 bytes, and a character may need two."""
_MOST_NAME = 600
"""Characters of a name before its suffix; together with the name of its source it may have 1,024."""
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|\ud800-\udfff]+")
_MOST_DEPTH = 8
"""Depth of nested lists and tables that front matter keeps: people write two or three."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A text with its metadata. Entries of one `id` are parts of one document; without an id, the text is the id.

    `access` are the principals who may see it; None leaves that to sidecars and settings.
    """

    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    link: str = ""
    access: frozenset[str] | None = None

    def told(self) -> dict[str, Any]:
        """Return what the source says about the document besides its text."""
        return told_of(self.access)


class TextReader:
    """Reads a source that can only list everything; the result is compared by content.

    `entries` returns all entries; `format` is that of their texts. Markdown has the metadata as front matter. `mark`
    returns a text that changes with the entries, or None if only reading them can show a change.
    """

    def __init__(
        self,
        entries: Callable[[], Iterable[Entry]],
        format: Format = "markdown",
        mark: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._entries, self._format = entries, format
        self.mark = mark
        self._spool = Spool()
        self._links: dict[str, str] = {}

    def list(self, checkpoint: str) -> SourceListing:  # noqa: ARG002  it lists everything
        """Return all documents; the version of each is the hash of its bytes."""
        self._spool.clear()
        self._links.clear()
        names, items = Names(SUFFIXES[self._format]), dict[str, SourceItem]()
        for entry in _joined(self._entries()):
            data = document_of(entry, self._format)
            name = names.of(entry.id or hash_bytes(data))
            self._spool.put(name, data)
            self._links[name] = entry.link
            items[name] = SourceItem(name, hash_bytes(data), len(data), metadata=entry.told())
        return SourceListing(items.values())

    def fetch(self, item: SourceItem) -> bytes:
        """Return the bytes of a document that was listed."""
        data = self._spool.get(item.name)
        if data is None:
            raise Rejected("unreadable", "the source did not list it")
        return data

    def link(self, item: SourceItem) -> str:
        """Return the link from the metadata."""
        return self._links.get(item.name, "")


class Names:
    """Gives each id a name that is a plain path with a suffix; ids that would share a name get a hash.

    Ids in `known` keep their names.
    """

    def __init__(self, suffix: str, known: Mapping[str, str] | None = None) -> None:
        self._suffix = suffix
        self._known = known or {}
        self._taken = {name.casefold(): id for id, name in self._known.items()}

    def of(self, id: str) -> str:
        """Return the name of an id; the same id always gets the same name."""
        if id in self._known:
            return self._known[id]
        plain = safe_name(id)
        name = plain if plain.endswith(self._suffix) else f"{plain}{self._suffix}"
        if self._taken.setdefault(name.casefold(), id) != id:
            stem, suffix = (name.removesuffix(self._suffix), self._suffix) if self._suffix else splitext(name)
            name = f"{stem}-{key_of(id)[:8]}{suffix}"
        return name


def safe_name(id: str) -> str:
    """Return a plain relative path that resembles an id, such as a URL, without empty, hidden or upward segments."""
    _, separator, rest = id.partition("://")
    steps = [_UNSAFE.sub("-", step).strip() for step in (rest if separator else id).split("/")]
    kept = [_shortened(f"_{step}" if step.startswith((".", "~$")) else step) for step in steps if step.strip(". ")]
    name = "/".join(kept)
    if not name or len(name) > _MOST_NAME:
        return f"{name[:_MOST_NAME].rstrip('/')}-{key_of(id)[:16]}".removeprefix("-")
    return name


def _shortened(step: str) -> str:
    return step if len(step) <= _MOST_STEP else f"{step[: _MOST_STEP - 9]}-{key_of(step)[:8]}"


def document_of(entry: Entry, format: Format) -> bytes:
    """Return the document of an entry as bytes."""
    text = entry.text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    front = {str(key): plain_value(value) for key, value in entry.metadata.items()} if format == "markdown" else {}
    kept = {key: value for key, value in front.items() if value not in (None, "", [], {})}
    return f"{_front_matter(kept)}{text}".encode()


def _front_matter(values: Mapping[str, Any]) -> str:
    import yaml

    if not values:
        return ""
    # Sorted, so that the same metadata in another order are not a change.
    block = yaml.safe_dump(dict(values), allow_unicode=True, sort_keys=True, width=10_000)
    return f"---\n{block}---\n\n"


def plain_value(value: Any, depth: int = 0) -> Any:
    """Return a metadata value as front matter can store it: text, numbers, booleans, and lists and tables of these.

    Bytes are left out, because they are more often a picture than a text.
    """
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return None
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if depth < _MOST_DEPTH and isinstance(value, Mapping):
        return {str(key): plain_value(one, depth + 1) for key, one in value.items()}
    if depth < _MOST_DEPTH and isinstance(value, list | tuple):
        return [plain_value(one, depth + 1) for one in value]
    return str(value).encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _joined(entries: Iterable[Entry]) -> Iterable[Entry]:
    """Return one entry for each id: parts of a document are joined, and the metadata of the first part are kept."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.id or f"\0{entry.text}", []).append(entry)
    for parts in found.values():
        first = parts[0]
        texts = [part.text for part in parts] if first.id else [first.text]
        known = [part.access for part in parts if part.access is not None]
        # A principal who may not see one part may not see the document.
        access = frozenset.intersection(*known) if known else None
        yield Entry("\n\n".join(texts), first.metadata, first.id, first.link, access)


def told_of(access: frozenset[str] | None) -> dict[str, Any]:
    """Return the metadata that say who may see an item; none for None."""
    return {} if access is None else {"access": sorted(access)}


def principals_in(value: Any) -> frozenset[str] | None:
    """Return the principals in a column: a list, a JSON list, or names between commas; None if the column says nothing.

    Any other value gives an empty list, which hides the document.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = _listed(value.strip())
    if not isinstance(value, list | tuple | set | frozenset):
        return frozenset()
    return frozenset(str(one).strip() for one in value) - {""}


def _listed(text: str) -> Any:
    if not text.startswith("["):
        return text.split(",")
    try:
        return json.loads(text)
    except ValueError:
        return []
