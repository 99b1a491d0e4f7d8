"""Word limits: cut a line to a number of tokens at a word boundary, in scripts with and without spaces."""

import re

from docmill.tasks.counting.counter import Counter
from docmill.tasks.split.spans.span import is_boundary

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
)
_END = re.compile(rf"(?<=[{_UNSPACED}])|(?<=\S)(?=\s|\Z)")


def word_ends(text: str) -> list[int]:
    """Return the ends of words; each character of Chinese, Japanese, Thai, Lao, Khmer and Burmese counts as one."""
    return [match.start() for match in _END.finditer(text) if is_boundary(text, match.start())]


def cut_words(text: str, budget: int, counter: Counter) -> str:
    """Return as many whole words from the start of a text as the token budget allows."""
    line = " ".join(text.split())
    ends = [0, *word_ends(line)]
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if counter.count(line[: ends[middle]]) <= budget else (low, middle - 1)
    return line[: ends[low]].rstrip(" |")
