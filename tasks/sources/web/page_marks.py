"""Page marks: whether pages have changed since they were last asked for, by requests that send nothing if not."""

from dataclasses import dataclass, field

from docmill.storage.keys import hash_bytes
from docmill.tasks.sources.web.web_client import WebAnswer, WebClient, refused

_SAME = 304


@dataclass(frozen=True, slots=True)
class PageMark:
    """The last answer that had the bytes of a page, and their hash."""

    answer: WebAnswer
    hash: str


@dataclass
class PageMarks:
    """Asks a client for pages, and remembers what it said of each."""

    client: WebClient
    _known: dict[str, PageMark] = field(default_factory=dict, init=False)

    def of(self, url: str) -> PageMark:
        """Return the mark of a page now. Raises what says why it cannot be had."""
        known = self._known.get(url)
        said = known.answer.headers if known else {}
        answer = self.client.get(url, said.get("etag", ""), said.get("last-modified", ""))
        if error := refused(answer):
            raise error
        if known is None or answer.status != _SAME:
            known = self._known[url] = PageMark(answer, hash_bytes(answer.data))
        return known
