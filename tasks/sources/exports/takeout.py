"""Takeout: a Google account: mails, chats, Keep notes, and Drive files."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.parser import BytesHeaderParser
from functools import partial
from typing import Any

from docmill.tasks.sources.connectors.text_entries import Entry, document_of, safe_name
from docmill.tasks.sources.exports.export_document import ChatMessage, ExportDocument, chat_documents
from docmill.tasks.sources.exports.export_files import ExportFiles, read_json
from docmill.tasks.sources.mail.listed_mail import KnownFolder
from docmill.tasks.sources.mail.mail_files import MboxFile

_ROOT = "Takeout/"
_LEFT_OUT = ("spam", "trash", "papierkorb")
"""Labels of mails that nobody searches, in lower case."""
_CHAT_TIME = "%A, %B %d, %Y at %I:%M:%S %p UTC"
_NOTE = ("textContent", "listContent")
_NS, _USEC = 1_000_000_000, 1_000_000
_SPACES = re.compile(r"\s+")


def is_takeout(names: Iterable[str]) -> bool:
    """Return whether files with these names are a Google Takeout."""
    return any(name.startswith(_ROOT) for name in names)


def read_takeout(files: ExportFiles, _link: str) -> Iterator[ExportDocument]:
    """Yield each mail, thread, chat day, note and file."""
    for name in files:
        inner = name.removeprefix(_ROOT)
        if inner.lower().endswith(".mbox"):
            yield from _mails(files, name, inner)
        elif inner.endswith("/messages.json"):
            yield from _chat(files, name)
        elif not _is_beside(name, files):
            note = _note(files, name, inner)
            yield from [ExportDocument(safe_name(inner), files[name])] if note is None else note


def _is_beside(name: str, files: ExportFiles) -> bool:
    """Return whether a file only accompanies another: the page of a note, the index, or the name of a group."""
    stem, _, suffix = name.rpartition(".")
    if name.endswith(("/archive_browser.html", "/group_info.json", "/user_info.json")):
        return True
    return suffix == "html" and f"{stem}.json" in files


def _mails(files: ExportFiles, name: str, inner: str) -> Iterator[ExportDocument]:
    box, place = MboxFile(files[name]), inner.rpartition("/")[0]
    _, _, mails = box.look("", KnownFolder())
    for mail in mails:
        data = partial(_mail, box, mail.id)
        labels = _labels(data())
        if not {one.lower() for one in labels} & {*_LEFT_OUT}:
            path = "/".join(filter(None, (safe_name(place) if place else "", safe_name(mail.name))))
            yield ExportDocument(path, data, {"labels": labels}, "", mail.modified_ns, mail.key, mail.size)


def _mail(box: MboxFile, id: str) -> bytes:
    return b"".join(data for _, data in box.read("", [id]))


def _labels(mail: bytes) -> list[str]:
    said = BytesHeaderParser().parsebytes(mail).get("X-Gmail-Labels", "")
    return [one.strip().strip('"') for one in str(said).split(",") if one.strip()]


def _chat(files: ExportFiles, name: str) -> Iterator[ExportDocument]:
    folder = name.rpartition("/")[0]
    about = _object(files, f"{folder}/group_info.json")
    people = ", ".join(str(one.get("name")) for one in about.get("members", ()) if isinstance(one, dict))
    title = str(about.get("name") or people or folder.rpartition("/")[2])
    yield from chat_documents(folder.removeprefix(_ROOT), title, _messages(_object(files, name)))


def _messages(chat: dict[str, Any]) -> Iterator[ChatMessage]:
    for row in chat.get("messages", ()):
        try:
            time = datetime.strptime(_SPACES.sub(" ", row["created_date"]), _CHAT_TIME).replace(tzinfo=UTC)
            speaker = row["creator"].get("name") or row["creator"]["email"]
        except (KeyError, ValueError, TypeError, AttributeError):
            continue
        if text := row.get("text"):
            id = str(row.get("message_id", ""))
            yield ChatMessage(speaker, time, text, id, str(row.get("topic_id") or id))


def _note(files: ExportFiles, name: str, inner: str) -> list[ExportDocument] | None:
    """Return a Keep note, or nothing if it is in the trash; None if the file is not a note."""
    note = _object(files, name) if name.endswith(".json") else {}
    if not any(key in note for key in _NOTE) or "userEditedTimestampUsec" not in note:
        return None
    if note.get("isTrashed"):
        return []
    created, modified = (int(note.get(key, 0)) for key in ("createdTimestampUsec", "userEditedTimestampUsec"))
    rows = (f"- [{'x' if row.get('isChecked') else ' '}] {row.get('text', '')}" for row in note.get("listContent", ()))
    text = "\n".join(filter(None, (note.get("textContent"), *rows)))
    told = {
        "title": note.get("title"), "created": _date(created), "modified": _date(modified),
        "labels": [one.get("name") for one in note.get("labels", ())],
    }  # fmt: skip
    path = f"{safe_name(inner.removesuffix('.json'))}.md"
    return [ExportDocument(path, document_of(Entry(text, told), "markdown"), modified_ns=modified * (_NS // _USEC))]


def _date(usec: int) -> str:
    return datetime.fromtimestamp(usec / _USEC, UTC).isoformat("T", "seconds") if usec else ""


def _object(files: ExportFiles, name: str) -> dict[str, Any]:
    found = read_json(files, name)
    return found if isinstance(found, dict) else {}
