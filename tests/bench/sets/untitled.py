"""Untitled texts: a few plain-text files of many articles each, made of a BEIR folder, with its own questions.

No file has a title, and no line is a heading of Markdown. A reader sees the titles of the articles all the same: in
each file they are set off in one of four ways. So a context that reaches from one article into the next misleads.
"""

import random
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from docmill.tasks.evaluate.overlap import Passage
from tests.bench.sets.collection import Asked, Collection
from tests.bench.sets.public import read_beir

ARTICLES = 600
"""Articles in all: all that answer a question, and others that do not. More take longer to embed than they tell."""
TOGETHER = 20
"""Articles in a file."""
_PARAGRAPH = 4
"""Sentences of a paragraph: abstracts come as one."""
_WIDTH = 78
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_SEED = 11

TITLES: Sequence[Callable[[int, str], str]] = (
    lambda _, title: f" = {title} = ",
    lambda _, title: title.upper(),
    lambda _, title: title,
    lambda number, title: f"{number}. {title}",
)
"""How the titles of a file are written, file by file."""


def read_untitled(folder: Path) -> Collection:
    """Read a BEIR folder as files of twenty articles; the answer to a question is the whole text of its articles."""
    whole = read_beir(folder)
    judged = sorted({uri for question in whole.questions for uri in question.grades})
    others = sorted(set(whole.documents) - set(judged))
    rng = random.Random(_SEED)
    articles = judged[:ARTICLES] + rng.sample(others, min(len(others), max(0, ARTICLES - len(judged))))
    rng.shuffle(articles)
    documents, places = dict[str, str](), dict[str, Passage]()
    for number, first in enumerate(range(0, len(articles), TOGETHER)):
        uri = f"{number:02}.txt"
        texts = {article: whole.documents[article] for article in articles[first : first + TOGETHER]}
        documents[uri], spans = written(texts, number)
        places |= {article: Passage(uri, *span) for article, span in spans.items()}
    return Collection(documents, tuple(_placed(question, places) for question in whole.questions))


def written(articles: Mapping[str, str], number: int) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return the text of a file and where the text of each article stands in it."""
    text, spans = "", dict[str, tuple[int, int]]()
    for place, (uri, article) in enumerate(articles.items(), start=1):
        head, _, body = article.partition("\n\n")
        text += TITLES[number % len(TITLES)](place, head.removeprefix("# ").strip()) + "\n\n"
        laid = _laid(body.strip(), wrapped=number // len(TITLES) % 2 == 1)
        spans[uri] = len(text), len(text) + len(laid)
        text += laid + "\n\n"
    return text, spans


def _laid(body: str, wrapped: bool) -> str:
    sentences = _SENTENCE.split(" ".join(body.split()))
    paragraphs = [" ".join(sentences[i : i + _PARAGRAPH]) for i in range(0, len(sentences), _PARAGRAPH)]
    return "\n\n".join(textwrap.fill(one, _WIDTH) if wrapped else one for one in paragraphs)


def _placed(question: Asked, places: Mapping[str, Passage]) -> Asked:
    return replace(question, references=tuple(places[uri] for uri in sorted(question.grades)), grades={})
