"""Saved page: the web pages in a mail-like file (MHTML), with the pictures that it contains."""

from email.message import Message

from docmill.storage.schema import Parsed
from docmill.tasks.parse.markup.html.hypertext import read_page
from docmill.tasks.parse.pictures.addresses import Loader, of_data_uri

_PAGES = ("text/html", "application/xhtml+xml")


def saved_pages(message: Message) -> list[Parsed]:
    """Return the pages of a message that have words."""
    load = _loader(message)
    pages = [_page(part, load) for part in message.walk() if part.get_content_type() in _PAGES]
    return [page for page in pages if page.text.strip()]


def _page(part: Message, load: Loader) -> Parsed:
    data = _content(part)
    try:
        return read_page(data.decode(part.get_content_charset() or "utf-8").encode(), load)
    except (UnicodeError, LookupError):
        return read_page(data, load)


def _content(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _loader(message: Message) -> Loader:
    """Return a loader for the pictures of a saved page: its parts by address and content id."""
    parts: dict[str, Message] = {}
    for part in message.walk():
        if part.get_content_maintype() == "image":
            place, number = str(part.get("content-location", "")), str(part.get("content-id", "")).strip().strip("<>")
            parts |= {name: part for name in (place.strip(), f"cid:{number}" if number else "") if name}
    return lambda address: _content(parts[address]) if address in parts else of_data_uri(address)
