"""Docstrings: the first sentence of a definition's comment as a question for the code below it."""

import re
from collections.abc import Iterator, Sequence

from docmill.tasks.context.code_comments import documented
from docmill.tasks.evaluate.proxy.question_source import QuestionSource, made
from docmill.tasks.evaluate.questions import Question, Target

_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_MARKS = re.compile(r"^[ \t]*(?:[*/#;%!-]+)[ \t]?", re.MULTILINE)
_SHORTEST = 20
"""Characters of a comment to ask with: shorter ones repeat the name of the definition."""
_LONGEST_LINE = 120
"""Characters of the line of code that answers; a longer one may be cut by chunks."""


def docstrings(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each definition of a source file that has a comment and a body."""
    for source in sources:
        elements = source.parsed.elements
        if len(elements) == 1 and elements[0].kind == "code":
            yield from _of(source, str(elements[0].attributes.get("language", "")))


def _of(source: QuestionSource, language: str) -> Iterator[Question]:
    text = source.parsed.text
    for said, code in documented(text, language):
        comment = " ".join(_MARKS.sub("", text[said.start : said.end]).split())
        first = _SENTENCE.match(comment)
        asked, line = first[1] if first else comment, _line(text, text[code.start : code.end])
        if len(asked) >= _SHORTEST and line:
            yield made(asked.rstrip("."), Target(source.uri, line))


def _line(text: str, code: str) -> str:
    """Return the first line of some code that stands nowhere else in the file, or ""."""
    lines = (line.strip() for line in code.split("\n"))
    named = (line for line in lines if re.search(r"\w{3}", line) and len(line) <= _LONGEST_LINE)
    return next((line for line in named if text.count(line) == 1), "")
