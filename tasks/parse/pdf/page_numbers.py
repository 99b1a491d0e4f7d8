"""PDF page numbers: the numbers in lines at the heads and feet of pages, and whether they count with the pages."""

import re
from collections.abc import Sequence
from itertools import pairwise

# Figures, or \b[ivxlc]+\b: written with one set of first signs, which the search skips to, it is twice as fast.
_NUMBER = re.compile(r"[\divxlc](?:(?<=\d)\d*|(?<=[ivxlc])(?<!\w[ivxlc])[ivxlc]*\b)")
_SHARP = "\u266f"  # for a "#" of the text itself, which is no number
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_CLAUSE = re.compile(r"\W*#(?:[.)]|\.#)+\W*")  # "4.", "2.2", "(3)", "18.13"
_DOTTED = re.compile(r"#(?:\.#)*")
# "12", "- 8 -", "Page 4 of 18", "A-3", "3/7"
_LONE = re.compile(r"\W*(?:\w{1,6}[. -]\s*)?#(?:\s*(?:/|\w{1,4})\s*#)?\W*")
# A number that a space parts from the other text. What a dot follows or goes before numbers a clause.
_EDGE = re.compile(r"\W*(\d{1,4})(?=\s|$)|.*?(?:\s|\w-|^)(\d{1,4})$")


def form(text: str) -> str:
    """Return the text of a line in small letters with "#" for each number, Roman ones included."""
    return _NUMBER.sub("#", text.lower().replace("#", _SHARP))


def numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a line in their order, Roman ones included."""
    return tuple(map(_value, _NUMBER.findall(text.lower())))


def _value(number: str) -> int:
    if number.isdigit():
        return int(number)
    values = [_ROMAN[letter] for letter in number]
    return sum(-one if one < after else one for one, after in pairwise([*values, 0]))


def is_clause(form: str) -> bool:
    """Return whether a form is that of a clause's number and nothing else: "#.", "#.#" or "(#)"."""
    return _CLAUSE.fullmatch(form) is not None


def _clause_numbers(form: str) -> set[int]:
    """Return which numbers of a form are parts of one with dots, as in "section #.#"; the first is 0."""
    found, at = set(), 0
    for match in _DOTTED.finditer(form):
        more = match[0].count("#")
        found |= set(range(at, at + more)) if more > 1 else set()
        at += more
    return found


def is_lone(form: str) -> bool:
    """Return whether a form is that of a page number with no more than a word before it, such as "page # of #"."""
    return _LONE.fullmatch(form) is not None and not is_clause(form)


def edge_number(text: str) -> int | None:
    """Return the number at the start or the end of a line if a space, or the letter of an annex, parts it from text."""
    match = _EDGE.match(text)
    return int(match[1] or match[2]) if match else None


def repeat(form: str, lines: Sequence[tuple[int, tuple[int, ...]]]) -> bool:
    """Return whether lines of one form, each a page and its numbers, say the same on all pages but for their numbers.

    Numbers stay the same, count with the pages, or are those of chapters; without a word beside them they must count.
    """
    columns = list(zip(*(values for _, values in lines), strict=True))
    counted = _counted([page for page, _ in lines], columns, _clause_numbers(form))
    others = _changing(columns, counted)
    if columns and not _has_words(form):
        return not others and bool(counted) and not is_clause(form)
    return all(map(is_slow, others))


def _changing(columns: Sequence[Sequence[int]], counted: set[int]) -> list[Sequence[int]]:
    """Return the columns of numbers that neither count nor stay the same."""
    return [column for at, column in enumerate(columns) if at not in counted and len(set(column)) > 1]


def _has_words(form: str) -> bool:
    return any(map(str.isalpha, form))


def _counted(pages: Sequence[int], columns: Sequence[Sequence[int]], clause: set[int]) -> set[int]:
    return {at for at, column in enumerate(columns) if at not in clause and counts(pages, column)}


def counts(pages: Sequence[int], values: Sequence[int]) -> bool:
    """Return whether numbers go up as their pages do: at most steps, for the parts of a file may count from 1."""
    both = zip(pairwise(pages), pairwise(values), strict=True)
    steps = [after - before == up - low for (low, up), (before, after) in both]
    return bool(steps) and 2 * sum(steps) > len(steps)


def is_slow(values: Sequence[int]) -> bool:
    """Return whether numbers never go down and stay the same on most pages, as those of chapters in a running title."""
    return all(before <= after for before, after in pairwise(values)) and 2 * len(set(values)) <= len(values)


def pages_in_a_row(pages: Sequence[int], step: int, least: int) -> set[int]:
    """Return those pages that come in rows of `least` and more, each at most `step` pages after the one before."""
    rows: list[list[int]] = []
    for page in sorted(set(pages)):
        if rows and page - rows[-1][-1] <= step:
            rows[-1].append(page)
        else:
            rows.append([page])
    return {page for row in rows if len(row) >= least for page in row}
