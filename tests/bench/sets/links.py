"""Links: the texts of links in a tree of Markdown pages, each a question for the page, and section, it leads to.

Such questions cost nothing, and are in the words of people who know what they ask for. They are easier than a
reader's own: their writer had the page before him, and often took its title. The pages that have the link are not
judged, as the question stands in them word for word.
"""

import hashlib
import posixpath
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from docmill.tasks.evaluate.overlap import Passage
from tests.bench.sets.collection import Asked, Collection

PAGES = 200
"""Pages in all: those that questions lead to, then those that they stand in, then others. More take long to embed."""
QUESTIONS = 400
LARGEST = 20_000
"""Characters of a page: a longer one, such as the notes of all releases, would be a tenth of the set."""
_SUFFIXES = (".md", ".mdx")
_INDEX = ("/index", "/README")
_WORDS = 2, 15
"""Words of a question: one word says what kind of thing is meant and not which, and a long one is a sentence."""
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]+)\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_MARKS = re.compile(r"[`*\\]")


@dataclass(frozen=True, slots=True)
class Link:
    """The text of a link, the page that it stands in, and where it leads to."""

    text: str
    page: str
    target: str
    anchor: str


def read_links(path: Path) -> Collection:
    """Read a folder of Markdown pages, or a `.tar.gz` whose first version (`v1`) is one."""
    pages = dict(_unpacked(path) if path.is_file() else _pages(path))
    pages = {uri: text for uri, text in pages.items() if len(text) <= LARGEST}
    leading = defaultdict[str, list[Link]](list)
    for link in chain.from_iterable(links_of(uri, pages) for uri in pages):
        leading[link.text.lower()].append(link)
    clear = [some for some in leading.values() if len({(one.target, one.anchor) for one in some}) == 1]
    asked = _fewest_pages(sorted(clear, key=lambda some: _hash(some[0].text)))
    kept = set[str]()
    for uri in chain((s[0].target for s in asked), (o.page for s in asked for o in s), sorted(pages, key=_hash)):
        kept |= {uri} if len(kept) < PAGES else set()
    questions = [_asked(some, pages) for some in asked if some[0].target in kept]
    return Collection({uri: pages[uri] for uri in sorted(kept)}, tuple(questions))


def _fewest_pages(asked: Sequence[list[Link]]) -> list[list[Link]]:
    """Return questions that lead to no more pages than are kept."""
    targets, found = set[str](), list[list[Link]]()
    for some in asked:
        if len(found) < QUESTIONS and (some[0].target in targets or len(targets) < PAGES // 2):
            targets.add(some[0].target)
            found.append(some)
    return found


def _asked(links: Sequence[Link], pages: Mapping[str, str]) -> Asked:
    first = links[0]
    section = section_of(pages[first.target], first.anchor)
    references = (Passage(first.target, *section),) if section else ()
    besides = frozenset(one.page for one in links) - {first.target}
    return Asked(_hash(first.text)[:8], first.text, references, {first.target: 1}, besides)


def _pages(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes().decode("utf-8")


def _unpacked(path: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(path) as archive:
        for member in archive:
            _, version, inner = member.name.partition("/v1/")
            if version and inner.endswith(_SUFFIXES) and (file := archive.extractfile(member)):
                yield inner, file.read().decode("utf-8")


def links_of(page: str, pages: Mapping[str, str]) -> Iterator[Link]:
    """Yield the links of a page to other pages whose texts ask for something."""
    for match in _LINK.finditer(_FENCED.sub("", pages[page])):
        text = " ".join(_MARKS.sub("", match[1]).split())
        path, _, anchor = match[2].partition("#")
        target = _resolved(path, page, pages)
        if target and target != page and _WORDS[0] <= len(text.split()) <= _WORDS[1] and "/" not in text:
            yield Link(text, page, target, anchor)


def _resolved(path: str, page: str, pages: Mapping[str, str]) -> str:
    """Return the page that a path leads to, from the page's folder or from the root of a site; "" if none does."""
    bare = path.removesuffix(".md").removesuffix(".mdx").rstrip("/")
    if not bare or ":" in bare or bare.startswith("//"):
        return ""
    near = posixpath.normpath(posixpath.join(posixpath.dirname(page), bare))
    start = bare.lstrip("/") if bare.startswith("/") else near
    names = [f"{start}{index}{suffix}" for index in ("", *_INDEX) for suffix in _SUFFIXES]
    roots = ("", f"{page.split('/')[0]}/") if bare.startswith("/") else ("",)
    return next((root + name for root in roots for name in names if root + name in pages), "")


def section_of(text: str, anchor: str) -> tuple[int, int] | None:
    """Return the span of the section whose heading has an anchor, up to the next heading of its level or above."""
    headings = list(_HEADING.finditer(_FENCED.sub(lambda fence: " " * len(fence[0]), text)))
    for place, heading in enumerate(headings):
        if anchor and _slug(heading[2]) == anchor:
            level = len(heading[1])
            after = (other.start() for other in headings[place + 1 :] if len(other[1]) <= level)
            return heading.start(), next(after, len(text.rstrip()))
    return None


def _slug(heading: str) -> str:
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
