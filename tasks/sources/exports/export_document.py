"""Export document: a page, thread, note or mail of an export, and what several kinds of exports share."""

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from docmill.storage.keys import key_of
from docmill.tasks.sources.connectors.text_entries import safe_name

_LINK = re.compile(r"(?P<before>\]\(<?|\b(?:href|src)=\")(?P<target>[^)>\"\s#?]+)")
_HEAD = re.compile(r"<head\b[^>]*>", re.IGNORECASE)
_METAS = {"author": "author", "created": "dcterms.created", "modified": "dcterms.modified"}
"""The names of HTML meta elements for facts about a document."""


@dataclass(frozen=True, slots=True)
class ExportDocument:
    """A document: its name with a suffix, its bytes or where they are, and what the export says about it.

    If the bytes are only read when they are fetched, `version` is their hash.
    """

    name: str
    data: bytes | Path | Callable[[], bytes]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    link: str = ""
    modified_ns: int = 0
    version: str = ""
    size: int = 0


def named(names: Iterable[str], plain: Callable[[str], str]) -> dict[str, str]:
    """Return a distinct new name for each name in an export, made by `plain`."""
    found, taken = dict[str, str](), set[str]()
    for name in names:
        stem, suffix = posixpath.splitext(safe_name(plain(name)))
        new = f"{stem}{suffix}"
        if new.casefold() in taken:  # two pages may have the same title
            new = f"{stem}-{key_of(name)[:8]}{suffix}"
        taken.add(new.casefold())
        found[name] = new
    return found


def relinked(text: str, here: str, names: Mapping[str, str]) -> str:
    """Return a Markdown or HTML page with links to other files of the export replaced by their new names.

    `here` is the page's old name; `names` maps old names to new ones.
    """
    own = posixpath.dirname(f"/{names[here]}")

    def led(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), unquote(found["target"])))
        new = names.get(target)
        return found[0] if new is None else found["before"] + quote(posixpath.relpath(f"/{new}", own))

    return _LINK.sub(led, text)


def with_metas(page: str, told: Mapping[str, str]) -> bytes:
    """Return an HTML page whose head says who wrote it and when."""
    metas = "".join(f'<meta name="{_METAS[name]}" content="{escape(value)}">' for name, value in told.items() if value)
    head = _HEAD.search(page)
    whole = f"{page[: head.end()]}{metas}{page[head.end() :]}" if head else f"<head>{metas}</head>{page}"
    return whole.encode()


_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message: its time in UTC, and the id of the message that started its thread, "" outside threads."""

    speaker: str
    time: datetime
    text: str
    id: str
    thread: str = ""
    link: str = ""


def chat_documents(place: str, title: str, messages: Iterable[ChatMessage]) -> Iterator[ExportDocument]:
    """Yield the documents of a channel named `title`, in the folder `place`."""
    threads, days = defaultdict[str, list[ChatMessage]](list), defaultdict[str, list[ChatMessage]](list)
    for one in sorted(messages, key=lambda message: (message.time, message.id)):
        threads[one.thread or one.id].append(one)
    for id, held in threads.items():
        if len(held) == 1:
            days[held[0].time.date().isoformat()].append(held[0])
        else:
            yield _document(place, f"{held[0].time.date().isoformat()} thread {id}", title, held, {"thread": id})
    for day, held in days.items():
        yield _document(place, day, title, held, {})


def _document(place: str, name: str, title: str, messages: list[ChatMessage], told: dict[str, str]) -> ExportDocument:
    first, last = messages[0], messages[-1]
    shown = [{"speaker": one.speaker, "time": one.time.strftime("%Y-%m-%dT%H:%M:%SZ"), "text": one.text}
             for one in messages]  # fmt: skip
    data = json.dumps({"title": f"{title} {first.time.date().isoformat()}", "messages": shown}, ensure_ascii=False)
    metadata = {
        "channel": title, "authors": [*dict.fromkeys(one.speaker for one in messages)],
        "created": first.time.isoformat(), "modified": last.time.isoformat(), **told,
    }  # fmt: skip
    path = f"{safe_name(place)}/{safe_name(name)}.json"
    return ExportDocument(path, data.encode(), metadata, first.link, max(0, int(last.time.timestamp())) * _NS)
