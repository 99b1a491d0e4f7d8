"""Chats: the messages of a channel as documents: each thread is one, and so are the other messages of each day."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from docmill.tasks.sources.connectors.text_entries import safe_name
from docmill.tasks.sources.exports.export_document import ExportDocument

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message: its time in UTC, and the id of the message that began its thread, "" outside of threads."""

    speaker: str
    time: datetime
    text: str
    id: str
    thread: str = ""
    link: str = ""


def chat_documents(place: str, title: str, messages: Iterable[ChatMessage]) -> Iterator[ExportDocument]:
    """Yield the documents of a channel, which is called `title`, below the folder `place`."""
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
