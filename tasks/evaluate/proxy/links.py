"""Links: the words of a link as a question for the page or the section that it leads to.

Whoever wrote the link named the page in other words than its author. The place of the link is hidden from the search,
for it holds the question word for word.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from docmill.storage.schema import Element
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.evaluate.proxy.question_source import QuestionSource, made, quoted
from docmill.tasks.evaluate.questions import Question, Target

_FEWEST = 2
"""Terms of a question: one alone, such as "here" or "documentation", names no page among many."""
_INDEXES = ("index", "readme", "_index")
"""Names of files that stand for their folder."""
_SEE_ALSO = re.compile(r"^\W*see also\b\W*(.+)$", re.IGNORECASE | re.MULTILINE)
_NAMES = re.compile(r"[,;]|\band\b|\bor\b")
_BODY = ("paragraph", "list_item", "text", "table", "code", "quote")


def links(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each text that leads to one place only, from however many places."""
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
    """Yield the words, the target and the place of each link and of each page that a `See also` names."""
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
        """Return what a link leads to, or None if that is none of the documents."""
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
        # Sites serve `a/b.md` as `a/b/`, from where the same link is one folder deeper.
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
    """Return a path without the suffix, and without the name of a file that stands for its folder."""
    one = PurePosixPath(path)
    bare = one.with_suffix("") if one.name else one
    return str(bare.parent if bare.name.lower() in _INDEXES else bare)


def _tails(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[start:]) for start in range(len(parts)))


def _only(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Return the values of the keys that have one value only."""
    found: dict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return {key: values.pop() for key, values in found.items() if len(values) == 1}


def _anchor(text: str, heading: Element) -> str:
    """Return the anchor of a heading as GitHub and most sites make it."""
    said = text[heading.start_char : heading.end_char].strip("#*= \t\n").lower()
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", said).strip())
