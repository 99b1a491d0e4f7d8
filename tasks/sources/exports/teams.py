"""Teams: Microsoft Teams messages, from a personal export or, for channels, from Graph."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from docmill.tasks.sources.exports.export_document import ChatMessage, ExportDocument, chat_documents
from docmill.tasks.sources.exports.export_files import ExportFiles, read_json

_SAID = ("Text", "RichText", "RichText/Html", "RichText/UriObject")
"""The types of messages that people write; others are calls, and notices of who joined or left."""
Row = Mapping[str, Any]


def is_teams(names: Iterable[str]) -> bool:
    """Return whether files with these names are Teams messages, from a personal export or from the Graph tool."""
    return any(name.rpartition("/")[2] in ("messages.json", "channelMessages.json") for name in names)


def read_teams(files: ExportFiles, _link: str) -> Iterator[ExportDocument]:
    """Yield the threads and days of each conversation."""
    for name in files:
        if name.endswith(".json"):
            place = name.rpartition("/")[0] or name.removesuffix(".json")
            yield from _conversations(read_json(files, name), place)


def _conversations(value: Any, place: str) -> Iterator[ExportDocument]:
    for one in _list(value, "conversations"):
        title = str(one.get("displayName") or one.get("id") or "conversation")
        yield from chat_documents(title, title, _own(_list(one, "MessageList")))
    rows = value if isinstance(value, list) else _list(value, "value")
    if found := [*_of_graph(one for one in rows if isinstance(one, dict))]:
        yield from chat_documents(place, place.rpartition("/")[2], found)


def _own(rows: Iterable[Row]) -> Iterator[ChatMessage]:
    """Yield the messages of a personal export."""
    for row in rows:
        time = _time(row.get("originalarrivaltime"))
        if time and row.get("content") and row.get("messagetype") in _SAID:
            speaker = row.get("displayName") or str(row.get("from", "?")).rpartition(":")[2]
            yield ChatMessage(speaker, time, row["content"], str(row.get("id", "")))


def _of_graph(rows: Iterable[Row]) -> Iterator[ChatMessage]:
    """Yield the messages from Graph, in which replies name the message that they answer."""
    for row in rows:
        time, body = _time(row.get("createdDateTime")), row.get("body")
        if time and isinstance(body, dict) and body.get("content") and row.get("messageType", "message") == "message":
            text = "\n".join(filter(None, (row.get("subject"), body["content"])))
            id, link = str(row.get("id", "")), str(row.get("webUrl") or "")
            yield ChatMessage(_speaker(row.get("from")), time, text, id, str(row.get("replyToId") or ""), link)


def _speaker(who: Any) -> str:
    """Return the name in a set of identities: preferably that of a person, else of a program."""
    held = who if isinstance(who, dict) else {}
    return next((one["displayName"] for one in held.values() if isinstance(one, dict) and one.get("displayName")), "?")


def _time(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _list(value: Any, key: str) -> list[dict[str, Any]]:
    found = value.get(key) if isinstance(value, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
