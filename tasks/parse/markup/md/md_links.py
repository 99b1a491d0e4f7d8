"""Markdown links: inline ones, and those that refer to a label defined elsewhere."""

import re
from collections.abc import Callable, Iterator

_INLINE = re.compile(r"(?<!!)\[([^\[\]]{1,300})\]\(<?([^()<>\s]{1,2000})")
_LABELLED = re.compile(r"(?<![!\\\]])\[([^\[\]^][^\[\]]{0,299})\](?:\[([^\[\]]{0,300})\])?(?![(\[:])")
_BARE = re.compile(r"<((?:https?|ftp|mailto):[^<>\s]{1,2000})>")
_DEFINITION = re.compile(
    r"^ {0,3}\[(?!\^)([^\[\]\r\n]{1,300})\]:[ \t]*<?([^\s<>]{1,2000})>?"
    r"(?:[ \t]+(?:\"[^\"\r\n]*\"|'[^'\r\n]*'|\([^()\r\n]*\)))?[ \t]*$",
    re.MULTILINE,
)


class Links:
    """The links of a text, whose labels are read once."""

    def __init__(self, text: str, plain: Callable[[str], str]) -> None:
        """Read the labels that a text defines; `plain` removes the inline markup from a link's words."""
        # `$` in the pattern ends a line at "\n" only.
        lines = text.replace("\r\n", "\n").replace("\r", "\n") if "]:" in text else ""
        self.addresses: dict[str, str] = {}
        for label, url in _DEFINITION.findall(lines):
            self.addresses.setdefault(_key(label), url)
        self._plain = plain

    def of(self, markup: str) -> list[dict[str, str]]:
        """Return the links of a block, in order."""
        found = sorted(self._found(markup))
        return [{"text": self._plain(text), "url": url} for _, text, url in found]

    def _found(self, markup: str) -> Iterator[tuple[int, str, str]]:
        """Yield the start, words and address of each link, first of one kind, then of the next."""
        if "](" in markup:
            yield from ((match.start(), match[1], match[2]) for match in _INLINE.finditer(markup))
        if ":" in markup and "<" in markup:
            yield from ((match.start(), match[1], match[1]) for match in _BARE.finditer(markup))
        if self.addresses and "[" in markup:
            yield from self._labelled(markup)

    def _labelled(self, markup: str) -> Iterator[tuple[int, str, str]]:
        for match in _LABELLED.finditer(markup):
            url = self.addresses.get(_key(match[2] or match[1]))
            if url:
                yield match.start(), match[1], url


def is_definitions(markup: str) -> bool:
    """Return whether a block only defines link labels, which are invisible."""
    if not markup.startswith("[") or "]:" not in markup:
        return False
    return all(_DEFINITION.match(line) for line in markup.splitlines())


def _key(label: str) -> str:
    return " ".join(label.split()).casefold()
