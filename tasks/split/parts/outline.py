"""Outline: the headings of a document, and which of them are above a span."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from docmill.storage.schema import Parsed
from docmill.storage.snapshots.read.outline import heading_text


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, its plain text, and the index of its parent heading, or -1."""

    start: int
    end: int
    level: int
    text: str
    parent: int


class Outline:
    """The headings of a document in order."""

    def __init__(self, parsed: Parsed) -> None:
        self.headings: list[Heading] = []
        open_: list[int] = []
        for element in parsed.elements:
            if element.kind == "title":
                while open_ and self.headings[open_[-1]].level >= element.level:
                    open_.pop()
                parent = open_[-1] if open_ else -1
                open_.append(len(self.headings))
                text = heading_text(parsed.text, element)
                self.headings.append(Heading(element.start_char, element.end_char, element.level, text, parent))
        self._starts = [heading.start for heading in self.headings]
        self._paths: list[tuple[int, ...]] = []
        for number, heading in enumerate(self.headings):
            self._paths.append((*(self._paths[heading.parent] if heading.parent >= 0 else ()), number))

    def at(self, position: int) -> int:
        """Return the index of the heading whose section contains `position`, or -1."""
        return bisect_right(self._starts, position) - 1

    def path(self, number: int) -> tuple[int, ...]:
        """Return the indexes of a heading and its ancestors, the highest first."""
        return self._paths[number] if number >= 0 else ()

    def section_end(self, number: int, otherwise: int) -> int:
        """Return the end of a heading's section: the next heading that is not below it, else `otherwise`."""
        after = self.headings[number + 1 :] if number >= 0 else []
        return next((one.start for one in after if one.level <= self.headings[number].level), otherwise)

    def over(self, start: int, end: int) -> tuple[int, ...]:
        """Return the headings above a whole span; of several at its start, the last one counts."""
        number = self.at(start)
        if number >= 0 and self.headings[number].start == start:
            number = self._last_of_run(number, end)
        path = self.path(number)
        for inner in range(number + 1, bisect_left(self._starts, end, number + 1)):
            path = common(path, self._paths[inner])
        return path

    def _last_of_run(self, number: int, end: int) -> int:
        """Return the last of a run of headings with nothing in between."""
        headings = self.headings
        while number + 1 < len(headings) and headings[number + 1].start < end:
            if headings[number + 1].start - headings[number].end > _GAP:
                break
            number += 1
        return number


_GAP = 8  # characters of white space between consecutive headings


def common(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """Return the longest common prefix of two paths."""
    same = 0
    while same < min(len(left), len(right)) and left[same] == right[same]:
        same += 1
    return left[:same]
