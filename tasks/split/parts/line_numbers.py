"""Line numbers: the page and line at which a span begins, counted from 1."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from docmill.storage.schema import Parsed


class PageNumbers:
    """The pages of a document, from 1; 0 if its format has none."""

    def __init__(self, parsed: Parsed) -> None:
        paged = [element for element in parsed.elements if element.page]
        self._starts = [element.start_char for element in paged]
        self._pages = [element.page for element in paged]

    def at(self, position: int) -> int:
        """Return the page of a position: that of the last element that begins at or before it."""
        found = bisect_right(self._starts, position) - 1
        return self._pages[max(0, found)] if self._pages else 0


def lines_at(text: str, positions: Sequence[int]) -> Iterator[int]:
    """Yield the line of each position, from 1; positions are in rising order, so that the text is read once."""
    returns = "\r" in text
    line, since = 1, 0
    for position in positions:
        line += text.count("\n", since, position)
        if returns:  # "\r\n" ends one line, as does a lone "\r"
            line += text.count("\r", since, position) - text.count("\r\n", since, position)
        since = position
        yield line
