"""Slack: the channels of an export, with people's names, and with threads kept together."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from docmill.tasks.parse.records.chat_json import further_words, plain
from docmill.tasks.sources.exports.export_document import ChatMessage, ExportDocument, chat_documents
from docmill.tasks.sources.exports.export_files import ExportFiles, read_json

_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")
"""The files that list public channels, private channels, groups of people, and pairs."""
_NOTICES = ("channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name", "bot_add")
"""Kinds of messages that Slack itself writes in a channel."""
Row = Mapping[str, Any]


def is_slack_export(names: Iterable[str]) -> bool:
    """Return whether files with these names are a Slack export."""
    return "users.json" in names and any(name in names for name in _LISTS)


def read_slack(files: ExportFiles, link: str) -> Iterator[ExportDocument]:
    """Yield the threads and days of each channel; `link` is the address of the workspace."""
    people = {row["id"]: _name(row) for row in _with_id(files, "users.json")}
    channels = {row.get("name") or row["id"]: row for name in _LISTS for row in _with_id(files, name)}
    for folder in dict.fromkeys(name.partition("/")[0] for name in files if "/" in name):
        channel = channels.get(folder, {})
        base = f"{link.rstrip('/')}/archives/{channel.get('id', folder)}" if link else ""
        messages = _messages(_of_folder(files, folder), people, base)
        yield from chat_documents(folder, _title(folder, channel, people), messages)


def _with_id(files: ExportFiles, name: str) -> list[dict[str, Any]]:
    return [row for row in _rows(files, name) if row.get("id")]


def _of_folder(files: ExportFiles, folder: str) -> Iterator[Row]:
    """Yield the messages in the files of a folder, one a day."""
    for name in files:
        if name.startswith(f"{folder}/") and name.endswith(".json"):
            yield from _rows(files, name)


def _title(folder: str, channel: Row, people: Mapping[str, str]) -> str:
    """Return the name of a channel; for a pair, the names of the two people."""
    if channel.get("name") or not channel.get("members"):
        return f"#{folder}"
    return ", ".join(people.get(one, one) for one in channel["members"])


def _messages(rows: Iterable[Row], people: Mapping[str, str], base: str) -> Iterator[ChatMessage]:
    for row in rows:
        said = row.get("text") or ""
        text = "\n".join(filter(None, (plain(said, dict(people)), further_words(dict(row), said), _files(row))))
        if text and row.get("ts") and row.get("subtype") not in _NOTICES:
            link = f"{base}/p{row['ts'].replace('.', '')}" if base else ""
            time = datetime.fromtimestamp(float(row["ts"]), UTC)
            yield ChatMessage(_speaker(row, people), time, text, row["ts"], row.get("thread_ts") or "", link)


def _files(row: Row) -> str:
    return "\n".join(f"[{one.get('title') or one.get('name')}]" for one in row.get("files") or () if one.get("name"))


def _speaker(row: Row, people: Mapping[str, str]) -> str:
    own = row.get("user_profile") or {}
    return people.get(row.get("user", "")) or str(own.get("real_name") or row.get("username") or row.get("user") or "?")


def _name(row: Row) -> str:
    profile = row.get("profile") or {}
    told = row.get("real_name") or profile.get("real_name") or profile.get("display_name") or row.get("name")
    return str(told or row["id"])


def _rows(files: ExportFiles, name: str) -> list[dict[str, Any]]:
    """Return the objects in a file with a JSON list; none if the file is missing or damaged."""
    found = read_json(files, name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
