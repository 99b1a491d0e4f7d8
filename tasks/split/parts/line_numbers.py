"""Where in the file a span begins, as people count: page and line."""

from bisect import bisect_right

from docmill.storage.schema import Parsed


class Places:
    """Pages and lines of a document, both from 1; page 0 where its format has none."""

    def __init__(self, parsed: Parsed) -> None:
        self._text = parsed.text
        paged = [element for element in parsed.elements if element.page]
        self._starts = [element.start for element in paged]
        self._pages = [element.page for element in paged]
        self._returns = "\r" in parsed.text
        self._position, self._line = 0, 1

    def page(self, position: int) -> int:
        """Return the page of a position: that of the last element that begins before or at it."""
        found = bisect_right(self._starts, position) - 1
        return self._pages[max(0, found)] if self._pages else 0

    def line(self, position: int) -> int:
        """Return the line of a position, which must not be before the one asked for last."""
        text, since = self._text, self._position
        self._line += text.count("\n", since, position)
        if self._returns:
            self._line += text.count("\r", since, position) - text.count("\r\n", since, position)
        self._position = position
        return self._line
