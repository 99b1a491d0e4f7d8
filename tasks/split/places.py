"""Where in the file a span begins, as people count: page and line."""

import re
from bisect import bisect_right

from storage.schema import Parsed

_NEWLINE = re.compile(r"\r\n?|\n")


class Places:
    """Pages and lines of a document, both from 1; page 0 where its format has none."""

    def __init__(self, parsed: Parsed) -> None:
        paged = [element for element in parsed.elements if element.page]
        self._starts = [element.start for element in paged]
        self._pages = [element.page for element in paged]
        self._lines = [match.end() for match in _NEWLINE.finditer(parsed.text)]

    def page(self, position: int) -> int:
        """Return the page of a position: that of the last element that begins before or at it."""
        found = bisect_right(self._starts, position) - 1
        return self._pages[max(0, found)] if self._pages else 0

    def line(self, position: int) -> int:
        """Return the line of a position."""
        return bisect_right(self._lines, position) + 1
