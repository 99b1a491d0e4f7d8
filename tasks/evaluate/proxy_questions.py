"""Proxy questions: questions made from the documents, for stores without real ones.

| kind | asks with | for |
|---|---|---|
| links | the words of a link, a `See also` | the page or section that they lead to, hiding the place of the link |
| captions | the caption of a table or figure | the table, or the paragraph that refers to the figure |
| docstrings | the first sentence of a comment | the definition below it |
| subjects | the subject of a mail | the mails of the thread |
| headings | a title, a heading, a question of an FAQ | the document, the passage below it, the answer |
| words | the rarest words of a sentence | the sentence |

The first four use people's words about something other than the words themselves; the last two do not. Real questions
use other words than their answers more often than any of these.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from docmill.storage.errors import QueryError
from docmill.storage.keys import key_of
from docmill.storage.schema import Element, Parsed
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.rank.candidates.search_options import check_query
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed
from docmill.storage.snapshots.read.store import Store
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.context.topic_line import documented
from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.evaluate.prose_sentences import PROSE, sentences
from docmill.tasks.evaluate.questions import Question, Target
from docmill.tasks.parse.caption_labels import is_caption
from docmill.tasks.split.parts.captions import bound_captions

_QUOTED = 80
"""Characters of the passage that answers: a chunk that contains its beginning has found it.

Chunks might cut a longer quotation, and none would contain it.
"""
_MOST = 2_000
"""Documents to make questions from: some seconds of reading, and links need the pages to which they lead."""
_AT_ONCE = 64
"""Documents whose texts are read at once: a few megabytes."""


@dataclass(frozen=True, slots=True)
class QuestionSource:
    """A document to make questions from."""

    uri: str
    parsed: Parsed


def read_sources(store: Store, most: int = _MOST) -> list[QuestionSource]:
    """Return at most `most` documents of a snapshot, chosen by id."""
    table = read_table(store.stored, "documents", ["document_id", "uri", "text_key"]).sort_by("document_id")
    rows = table.slice(0, most).to_pylist()
    packs = Packs(store.stored.ensure_packs("texts"))
    return [one for start in range(0, len(rows), _AT_ONCE) for one in _read(packs, rows[start : start + _AT_ONCE])]


def _read(packs: Packs, rows: list[dict[str, str]]) -> Iterator[QuestionSource]:
    texts = packs.take([row["text_key"] for row in rows]).to_pylist()
    for row, text in zip(rows, texts, strict=True):
        yield QuestionSource(row["uri"], decode_parsed(text))


def made(text: str, target: Target, *hidden: Passage) -> Question:
    """Return a question whose id is made from its content; `hidden` is the place it was taken from."""
    text = " ".join(text.split())
    return Question(key_of("proxy", text, target.document, target.quotation), text, (target,), hidden=hidden)


def quoted(text: str, element: Element) -> str:
    """Return the first words of an element, from its first line only."""
    line = text[element.start_char : element.end_char].strip().split("\n", 1)[0]
    return line if len(line) <= _QUOTED else line[:_QUOTED].rsplit(" ", 1)[0]


_FEWEST = 2
"""Terms that a question must have: a single one, such as "here" or "documentation", identifies no page."""
_INDEXES = ("index", "readme", "_index")
"""Names of files that represent their folder."""
_SEE_ALSO = re.compile(r"^\W*see also\b\W*(.+)$", re.IGNORECASE | re.MULTILINE)
_NAMES = re.compile(r"[,;]|\band\b|\bor\b")
_BODY = ("paragraph", "list_item", "text", "table", "code", "quote")


def links(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each text that leads to a single place, from however many places."""
    pages = _Pages(sources)
    leads: dict[str, list[tuple[str, Target, Passage]]] = defaultdict(list)
    for source in sources:
        for one in _leading(source, pages):
            leads[" ".join(one[0].split()).casefold()].append(one)
    for found in leads.values():
        text, target, _ = found[0]
        if {one[1] for one in found} == {target} and len(analyse(text)) >= _FEWEST:
            yield made(text, target, *(place for _, _, place in found))


def _leading(source: QuestionSource, pages: "_Pages") -> Iterator[tuple[str, Target, Passage]]:
    """Yield the words, the target and the place of each link, and of each page named by a `See also`."""
    for element in source.parsed.elements:
        place = Passage(source.uri, element.start_char, element.end_char)
        for text, target in chain(_linked(source.uri, element, pages), _see_also(source, element, pages)):
            if target != Target(source.uri):
                yield text, target, place


def _linked(uri: str, element: Element, pages: "_Pages") -> Iterator[tuple[str, Target]]:
    for link in element.attributes.get("links", ()):
        if "://" not in link["text"] and (target := pages.led_to(uri, link["url"])):
            yield link["text"], target


def _see_also(source: QuestionSource, element: Element, pages: "_Pages") -> Iterator[tuple[str, Target]]:
    for found in _SEE_ALSO.finditer(source.parsed.text, element.start_char, element.end_char):
        named = (name.strip(" `*_.:\"'") for name in _NAMES.split(found[1]))
        yield from ((name, Target(uri)) for name in named if (uri := pages.titled(name)))


class _Pages:
    """The documents as links name them: by path, by the end of a path, by title, and by heading."""

    def __init__(self, sources: Iterable[QuestionSource]) -> None:
        self._sources = {source.uri: source for source in sources}
        self._paths = {_page(uri): uri for uri in self._sources}
        self._tails = _only(((tail, uri) for path, uri in self._paths.items() for tail in _tails(path)))
        self._titles = _only(((one.parsed.title.casefold(), uri) for uri, one in self._sources.items()))

    def titled(self, name: str) -> str:
        """Return the only document with a title, or ""."""
        return self._titles.get(name.casefold(), "") if name else ""

    def led_to(self, uri: str, url: str) -> Target | None:
        """Return the target of a link, or None if it leads to none of the documents."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return None
        if parts.scheme or parts.netloc:
            return None
        found = self._page(uri, unquote(parts.path))
        return Target(found, self._below(found, unquote(parts.fragment))) if found else None

    def _page(self, uri: str, path: str) -> str:
        if not path:
            return uri
        if path.startswith("/"):  # from the root of a site, which may be any folder of the source
            return self._tails.get(_page(path.strip("/")), "")
        beside = _page(normpath(str(PurePosixPath(uri).parent / path)))
        # Sites serve `a/b.md` as `a/b/`, from which the same link starts one folder deeper.
        below = _page(normpath(str(PurePosixPath(uri).with_suffix("") / path)))
        return self._paths.get(beside) or self._paths.get(below, "")

    def _below(self, uri: str, anchor: str) -> str:
        """Return the first words below the heading that an anchor names, or ""."""
        if not anchor:
            return ""
        parsed = self._sources[uri].parsed
        for one, after in pairwise(parsed.elements):
            if one.kind == "title" and after.kind in _BODY and _anchor(parsed.text, one) == anchor.lower():
                return quoted(parsed.text, after)
        return ""


def _page(path: str) -> str:
    """Return a path without its suffix, and without the name of a file that represents its folder."""
    one = PurePosixPath(path)
    bare = one.with_suffix("") if one.name else one
    return str(bare.parent if bare.name.lower() in _INDEXES else bare)


def _tails(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[start:]) for start in range(len(parts)))


def _only(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Return the values of the keys that have a single value."""
    found: dict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return {key: values.pop() for key, values in found.items() if len(values) == 1}


def _anchor(text: str, heading: Element) -> str:
    """Return the anchor of a heading as GitHub and most sites make it."""
    said = text[heading.start_char : heading.end_char].strip("#*= \t\n").lower()
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", said).strip())


_FIRST_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_MARKS = re.compile(r"^[ \t]*(?:[*/#;%!-]+)[ \t]?", re.MULTILINE)
_SHORTEST_COMMENT = 20
"""Characters of a comment to ask with: shorter ones repeat the definition's name."""
_LONGEST_LINE = 120
"""Characters of the line of code that answers; chunks may cut a longer one."""


def docstrings(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each definition in a source file that has a comment and a body."""
    for source in sources:
        elements = source.parsed.elements
        if len(elements) == 1 and elements[0].kind == "code":
            yield from _of(source, str(elements[0].attributes.get("language", "")))


def _of(source: QuestionSource, language: str) -> Iterator[Question]:
    text = source.parsed.text
    for said, code in documented(text, language):
        comment = " ".join(_MARKS.sub("", text[said.start : said.end]).split())
        first = _FIRST_SENTENCE.match(comment)
        asked, line = first[1] if first else comment, _line(text, text[code.start : code.end])
        if len(asked) >= _SHORTEST_COMMENT and line:
            yield made(asked.rstrip("."), Target(source.uri, line))


def _line(text: str, code: str) -> str:
    """Return the first line of some code that is unique in the file, or ""."""
    lines = (line.strip() for line in code.split("\n"))
    named = (line for line in lines if re.search(r"\w{3}", line) and len(line) <= _LONGEST_LINE)
    return next((line for line in named if text.count(line) == 1), "")


_LABEL = re.compile(r"\W*(\w+\.?\s*[\dIVX]+(?:[.-]\d+)*)[\s.:)*_\u2013\u2014-]*")
_SHORTEST = 12
"""Characters of a caption without its label: shorter ones, such as "Results", ask for nothing in particular."""


def captions(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each caption of a table, and of each figure to which a paragraph refers."""
    for source in sources:
        text, elements = source.parsed.text, source.parsed.elements
        named = {caption.start_char: table for table, caption in bound_captions(source.parsed).of.items()}
        tables = {one.start_char: one for one in elements if one.kind == "table"}
        for one in elements:
            if one.kind in PROSE and is_caption(_text(text, one)):
                yield from _asked(source, one, tables.get(named.get(one.start_char, -1)))


def _asked(source: QuestionSource, caption: Element, table: Element | None) -> Iterator[Question]:
    text = source.parsed.text
    label = _LABEL.match(_text(text, caption))
    said = _text(text, caption)[label.end() :].strip("*_ \n") if label else ""
    if label is None or len(said) < _SHORTEST:
        return
    if table is not None:
        yield made(said, Target(source.uri, quoted(text, table)))
    elif refers := _referring(source, label[1], caption):
        yield made(said, Target(source.uri, refers), Passage(source.uri, caption.start_char, caption.end_char))


def _referring(source: QuestionSource, label: str, caption: Element) -> str:
    """Return the first words of the paragraph that refers to a label, or ""."""
    named = re.compile(rf"\b{re.escape(label.rstrip('.'))}\b")
    text = source.parsed.text
    others = (one for one in source.parsed.elements if one.kind == "paragraph" and one != caption)
    found = (one for one in others if named.search(text, one.start_char, one.end_char))
    return next((quoted(text, one) for one in found if not is_caption(_text(text, one))), "")


def _text(text: str, element: Element) -> str:
    return text[element.start_char : element.end_char]


_PREFIX = re.compile(r"^(?:\s*(?:re|aw|sv|fwd?|wg|tr)\s*(?:\[\d+\])?\s*:)+\s*", re.IGNORECASE)


def subjects(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each subject that several mails share, with each of them as an answer."""
    threads: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        subject = str(source.parsed.metadata.get("subject") or "")
        if subject and source.parsed.metadata.get("message_id"):
            threads[" ".join(_PREFIX.sub("", subject).split())].append(source.uri)
    for subject, uris in threads.items():
        if len(uris) > 1:
            yield Question(key_of("proxy", subject, *uris), subject, tuple(map(Target, sorted(uris))))


_WORDS = 6
"""Rare words in a question: with fewer, several sentences fit; with more, the question is the sentence itself."""
_SENTENCE = (40, 400)
"""Characters of a sentence to ask for. Shorter ones lack six words; longer ones are lists without a full stop."""
_CHARACTERS_PER_QUESTION = 2000
"""Characters of a document per sentence to ask for, so that a long document does not dominate."""
_LONGEST = 200
"""Characters of a question: a longer heading is a paragraph in bold."""


def proxies(sources: Sequence[QuestionSource], most: int, kinds: Sequence[str] = ()) -> list[Question]:
    """Return at most `most` questions of some kinds, keys of `KINDS`, chosen by content.

    The same documents always give the same questions. By default, people's words come first, and other kinds fill up.
    """
    if kinds:
        return _chosen(sources, kinds)[:most]
    found = _chosen(sources, BY_PEOPLE)[:most]
    asked = {one.text.casefold() for one in found}
    others = _chosen(sources, [kind for kind in KINDS if kind not in BY_PEOPLE])
    return [*found, *(one for one in others if one.text.casefold() not in asked)][:most]


def _chosen(sources: Sequence[QuestionSource], kinds: Iterable[str]) -> list[Question]:
    """Return the questions of some kinds, ordered by id, without questions that ask for several places."""
    found = [one for kind in kinds for one in KINDS[kind](sources)]
    asked = Counter(one.text.casefold() for one in found)
    distinct = (one for one in found if asked[one.text.casefold()] == 1 and _askable(one.text))
    return sorted(distinct, key=lambda one: one.id)


def _askable(text: str) -> bool:
    """Return whether a search accepts a text; it refuses 🎉 and headings as long as a page."""
    try:
        check_query(text)
    except QueryError:
        return False
    return len(text) <= _LONGEST


def _headings(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    for source in sources:
        named = made(source.parsed.title, Target(source.uri))
        if named.text:
            yield named
        below = _pairs(source, "title", ("paragraph", "list_item", "text"))
        yield from (one for one in below if one.text.casefold() != named.text.casefold())  # the title's own heading
        yield from _pairs(source, "question", ("answer", "paragraph", "list_item"))


def _words(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    frequency: Counter[str] = Counter(term for source in sources for term in set(analyse(source.parsed.text)))
    for source in sources:
        yield from _distinctive(source, frequency, len(sources))


KINDS: dict[str, Callable[[Sequence[QuestionSource]], Iterable[Question]]] = {
    "links": links,
    "captions": captions,
    "docstrings": docstrings,
    "subjects": subjects,
    "headings": _headings,
    "words": _words,
}
"""The kinds of questions."""
BY_PEOPLE = ("links", "captions", "docstrings", "subjects")
"""Kinds whose questions are people's words about something else."""


def _pairs(source: QuestionSource, asks: str, answers: Sequence[str]) -> Iterator[Question]:
    """Yield a question for each element of one kind that is followed by an element of certain kinds."""
    text, elements = source.parsed.text, source.parsed.elements
    for one, after in pairwise(elements):
        if one.kind == asks and after.kind in answers:
            said = text[one.start_char : one.end_char].strip("#* \t\n")
            if said and (words := quoted(text, after)):
                yield made(said, Target(source.uri, words))


def _distinctive(source: QuestionSource, frequency: Counter[str], documents: int) -> Iterator[Question]:
    """Yield the rarest words of the sentences with the rarest words, at most one sentence per 2,000 characters."""
    text = source.parsed.text
    found = []
    for start, end in _sentences(source.parsed):
        if rarest := _rarest(text[start:end], frequency, documents):
            found.append((*rarest, text[start:end]))
    for _, said, sentence in sorted(found, reverse=True)[: 1 + len(text) // _CHARACTERS_PER_QUESTION]:
        yield made(said, Target(source.uri, sentence))


def _rarest(sentence: str, frequency: Counter[str], documents: int) -> tuple[float, str] | None:
    """Return the total rarity of a sentence's rarest words, and these words in order; None if there are too few."""
    words = list(dict.fromkeys(word for word in sentence.split() if analyse(word)))
    rare = {word: _rarity(word, frequency, documents) for word in words}
    chosen = sorted(words, key=lambda word: -rare[word])[:_WORDS]
    if len(chosen) < _WORDS:
        return None
    said = " ".join(word.strip(".,;:()[]\"'`*_") for word in words if word in chosen)
    return sum(rare[word] for word in chosen), said


def _rarity(word: str, frequency: Counter[str], documents: int) -> float:
    """Return the inverse document frequency of a word, or of the rarest term of a compound."""
    return max(math.log(documents / max(1, frequency[term])) for term in analyse(word))


def _sentences(parsed: Parsed) -> Iterable[tuple[int, int]]:
    """Yield the sentences of medium length."""
    return (one for one in sentences(parsed) if _SENTENCE[0] <= one.end - one.start <= _SENTENCE[1])
