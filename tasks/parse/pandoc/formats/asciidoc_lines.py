"""AsciiDoc lines: leave out comments, and obey conditions, before pandoc, which fails at some of them, reads a text."""

import re
from collections.abc import Collection

_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,})\w*[ \t]*$")
_ANY_FENCE = re.compile(r"(--|([-.+/=*_])\2{3,})[ \t]*$")  # what a block that is styled as a comment may stand in
_REMARK = re.compile(r"//(?!/)")
_STYLED = re.compile(r"\[comment\b[^\]]*\][ \t]*$")
_CONDITION = re.compile(r"(ifdef|ifndef|ifeval|endif)::([^\[\s]*)\[(.*)\][ \t]*$")


def conditioned(text: str, attributes: Collection[str]) -> str:
    """Return a text without comments, conditions, and what a document that sets these attributes does not show.

    An attribute that the text does not set may be set by whoever publishes it: what depends on it stays.
    """
    lines = _AsciiDocLines(attributes)
    shown = (lines.shown(line) for line in text.split("\n"))
    return "\n".join(line for line in shown if line is not None)


class _AsciiDocLines:
    """Where a line stands: in a block that ends with `fence`, in a comment, below conditions that may hide it."""

    def __init__(self, attributes: Collection[str]) -> None:
        self._attributes = attributes
        self._fence = ""
        self._comment = self._styled = False
        self._hidden: list[bool] = []

    def shown(self, line: str) -> str | None:
        """Return what is to be read of a line, the next one, or None."""
        if self._fence:
            comment = self._comment
            if line.rstrip() == self._fence:
                self._fence, self._comment = "", False
            return None if comment or any(self._hidden) else line
        if self._comment:  # a paragraph, which ends at a blank line
            return self._in_comment(line)
        if condition := _CONDITION.match(line):
            return self._condition(*condition.groups())
        return line if self._plain(line) and not any(self._hidden) else None

    def _in_comment(self, line: str) -> str | None:
        if self._styled and (fence := _ANY_FENCE.match(line)):
            self._fence = fence[1]
        elif not line.strip():
            self._comment = False
        self._styled = False
        return None if self._comment else line

    def _plain(self, line: str) -> bool:
        if fence := _FENCE.match(line):
            self._fence, self._comment = fence[1], line.startswith("/")
            return not self._comment
        self._comment = self._styled = _STYLED.match(line) is not None
        return not self._comment and not _REMARK.match(line)

    def _condition(self, verb: str, names: str, inner: str) -> str | None:
        """Note a condition that spans lines, or its end; return the text of one in one line if it is shown."""
        hides = verb == "ifndef" and any(name in self._attributes for name in re.split("[,+]", names))
        if verb == "endif":
            del self._hidden[-1:]
        elif verb == "ifeval" or not inner:
            self._hidden.append(hides)
        elif not hides and not any(self._hidden):
            return inner
        return None
