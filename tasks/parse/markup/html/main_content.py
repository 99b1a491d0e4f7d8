"""Main content: the part of a page with its prose; everything beside it is furniture.

Related links, share bars, tag lists and newsletters are in separate boxes: beside the article's box, which its prose
identifies, or within it, where their names and first words identify them. A name counts as a word of a class or an id,
in the forms that sites and their tools use. Boxes that may also be part of a text must have links, and an id that may
be made from a heading proves nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice, pairwise
from typing import Any

from docmill.tasks.parse.markup.html.html_nodes import is_linked, is_mostly_links
from docmill.tasks.parse.passes.drawn_block import DrawnBlock
from docmill.tasks.parse.titles.inferred_headings import is_prose

_TOLD = frozenset(("paragraph", "quote", "list_item"))
_BOXES = frozenset(("div", "section", "aside", "article", "ul", "ol", "header", "footer", "form"))
_WHOLE = frozenset(("html", "body", "main"))  # a class of these describes the page
_STATED = ("main", "article")
_SHORT = 24  # characters of the shortest prose in any script; most blocks of a page have fewer
_APART = frozenset(("nav", "footer", "form", "aside", "a"))  # a link around a block makes it a card
_SHARE = 0.95
"""Least share of a page's prose in its main content. With .85, introductions in separate boxes would be lost; with all
of it, the teaser of one other article would make the whole page the main content."""
_MAIN, _ARTICLE = 0.3, 0.5
"""Least share of the prose in an element that is the main content, or an article, by its tag: others are teasers."""
_NAMED, _COLUMN, _FORM = 0.65, 0.5, 0.1
"""Shares of the prose above which a box is not beside it, whatever its names or words say: a forum's comments are its
content, some layouts name a column after what is beside it, and some pages are a single form."""
_LEAST = 400  # characters of prose on a page that has a main content: others are lists, forms and start pages
_LINKED = 0.5  # share of a paragraph in links above which it is a teaser
_DATA = ("th", "pre", "math")
_OTHERS = r"(?:other|more|recent|related|similar|latest|popular|recommended)-?(?:posts?|articles?|stories)"
_BESIDE = (
    r"(?:no-?)?comments|comments?-?(?:list|form|area|box|section|wrap\w*|thread|headline|respond|policy)",
    r"disqus[\w-]*|shoutbox|kommentare|captcha|ratings?",
    r"(?:sharedaddy|shariff|addtoany|addthis|sociable|likes|(?:post|sd)-likes?|jp-(?:post-flair|relatedposts)|yarpp)",
    r"newsletters?|paywall|app-?stores?|advert\w*|sponsor(?:ed|s)|wp-embedded-content",
    r"(?:about-)?aut(?:h?or|or[ei]n|eur)-?(?:box|bio|info|card|profil\w*|text|desc\w*)|about-author|copyrights?",
    r"pager|pagination|(?:post|page|article)-?(?:nav(?:igation|links?)?|next|prev)|next-prev",
    rf"(?:entry|post|article)-footer|{_OTHERS}",
)
_BESIDE_ALONE = (
    r"shar(?:e|ing)(?:-?(?:bar|box|block|buttons?|links?|icons?|list|this|tools?|post|article|container))?",
    r"social(?:-?(?:media|shar\w+|links?|icons?|bar|box|buttons?|block|networks?|list|items?|container))?",
    r"respond|subscribe(?:-?(?:form|box|bar|block|widget))?|ads?|promo(?:box|s)?|credits",
    r"(?:prev|previous|next)(?:-?(?:post|article|page|link|prev|next))?",
)
"""Names that mean something else with more words after them: social security, share price, next steps."""
_LINKING = (
    r"\w{0,8}related\w*|relacionad[oa]s|recommend\w*|suggest(?:ed|ions)|popular\w*|most-?(?:read|viewed|shared)|trending",
    r"teasers?\d*|\w{1,8}teaser|meist-?\w+|recent-?(?:comments|news)|archives|read-?more|more-?(?:for|from|news)",
    r"tags?(?:-?(?:list|cloud|links?))?|cat-links|(?:entry|post|article)-(?:meta|tags|categories|utility)",
    r"widget-(?:get-)?(?:archives?|categories|links|meta|nav|pages|recent|rss|tag)\w*",
)
"""Names of boxes that are beside the article if they have links: a product may be recommended, a case related."""
_COLUMN_NAMES = (
    r"(?:(?:left|right|main|primary|secondary|page|site|article|blog|(?!no-|has-)\w{1,3})-)?"
    r"sidebars?(?:-(?:left|right|wrap\w*|inner|content|\d))?",
    r"side-?(?:bar|content|column)|widget-area|marginal\w*|right-?(?:rail|column|col|block)",
)

_LONGEST = 80  # characters of words above other pages: longer ones are sentences
_PAGES = """
(?:more )?related (?:articles|posts|stories|content|topics|links|news|coverage|reading|videos)|related
you (?:may|might|could) (?:also )?(?:like|be interested in|enjoy).{0,20}|you may also like
(?:recommended|suggested) (?:for you|articles|posts|reading)|recommended|read (?:also|more|next|this next)
more from .{1,40}|more (?:articles|news|posts|stories)|(?:previous|next|prev) (?:article|post|story|page)
most (?:read|popular|viewed)|(?:popular|recent|latest) (?:posts|articles|stories|comments|news)|trending(?: now)?
mehr (?:zum thema|(?:aus|von) .{1,40})|auch interessant|schon gelesen|lesen sie auch|lesetipps?|kunden kauften auch
das könnte (?:sie|dich|euch|ihnen|dir) (?:auch|ebenfalls|noch)? ?(?:interessieren|gefallen)
(?:ähnliche|weitere|verwandte|neueste|beliebte|meistgelesene) (?:artikel|beiträge|meldungen|nachrichten|themen|produkte)
empf(?:ehlungen|ohlen)(?: (?:der|aus der) redaktion| für sie)?|(?:nächster|voriger|vorheriger) (?:artikel|beitrag)
(?:à )?lire aussi|(?:sur|dans) le même (?:sujet|thème)|vous aimerez aussi|les plus lus
(?:articles?|contenus?) (?:liés|similaires|connexes|associés|récents)|(?:audios? et )?vidéos? sur le (?:même )?sujet
(?:también )?te puede interesar|(?:noticias|artículos|notas|temas) relacionad[oa]s|lo más leído|últimas noticias
leggi anche|articoli correlati|potrebbe(?:ro)? interessarti.{0,8}
le[ei]a? (?:também|también|mais)|(?:artigos|notícias) relacionad[oa]s|veja também
lees ook|(?:gerelateerde|meer) (?:artikelen|berichten)
polecamy|(?:czytaj|zobacz|przeczytaj) (?:też|także|również|więcej)|podobne artykuły
læs også|les også|läs (?:också|även)|relaterade artiklar|relaterte artikler
читайте также|похожие (?:статьи|записи|новости)|ilgili haberler|مقالات ذات صلة
相关(?:阅读|文章|新闻|链接|报道)|推荐阅读|热门文章|関連記事|人気記事|관련 ?기사
"""
_LABELS = """
(?:share|print|email)(?: (?:this|on|via|with|the) .{0,40})?|like this|loading|follow us(?: on .{1,30})?
tags|tagged(?: with)?|filed under|categories|topics in this article|themen in diesem artikel|schlagw(?:orte|örter)
(?:leave|post|add|write) a (?:comment|reply|response)|(?:\\d+ )?(?:comments?|responses)(?: are closed| off)?
(?:hinterlasse|schreibe?n?|verfassen?) .{0,12}(?:kommentar|antwort)(?: .{1,10})?
(?:\\d+ |keine )?kommentare?|kommentieren(?: sie .{1,20})?|teilen(?: (?:mit|auf) ?.{0,20})?|gefällt mir|wird geladen
partager(?: .{1,20})?|laisser un commentaire|commentaires?|compartir|(?:deja|dejar) un comentario|comentarios?
condividi|lascia un commento|commenti|compartilh(?:e|ar)|deixe um comentário|deel dit .{1,20}|reacties?
podziel się|komentarze|dodaj komentarz|del (?:artiklen|saken)|kommentarer|поделиться|комментарии|оставить комментарий
yorumlar|paylaş|分享到?|评论|コメント|シェア(?:する)?|공유(?:하기)?|댓글|شارك|تعليقات
"""
"""Words above share buttons, tags and comments. They also name chapters, so only links may be below them."""
_RIGHTS = re.compile(
    r"(?:©|\(c\)|copyright (?:©|\(c\)|by\b|\d)|(?:proudly )?powered by\b|alle rechte vorbehalten|all rights reserved"
    r"|tous droits réservés|todos (?:los|os) (?:derechos|direitos) reservados|tutti i diritti riservati"
    r"|wszelkie prawa zastrzeżone|все права защищены|版权所有).{0,100}",
    re.IGNORECASE,
)


class _PlacedBlocks:
    """The blocks of a page, the range of blocks in each node, and the characters of text and prose before each."""

    def __init__(self, blocks: Sequence[DrawnBlock], places: Sequence[Any]) -> None:
        self.blocks, self.places = blocks, places
        self.spans = _spans(places)
        told = [len(block.text) if _is_told(block) else 0 for block in blocks]
        self.scant = sum(told) < _LEAST
        self.told = _sums(told)
        self.prose = _sums((len(block.text) for block in blocks) if self.scant else told)
        self.stated = any(box.tag in _STATED for box in self.spans)
        tops = (number for number, block in enumerate(blocks) if block.kind == "title" and block.level == 1)
        self.top = next(tops, -1)

    def may_go(self, box: Any, most: float) -> bool:
        """Return whether a box contains no page title, data or notes, and at most this share of the prose."""
        span = self.spans[box]
        if box.tag in _WHOLE or self.top in span or _share(self.prose, span) > most:
            return False
        if any("footnote" in self.blocks[number].attributes for number in span):
            return False
        return _is_column(box) or next(box.iter(*_DATA), None) is None


def mark_beside(blocks: Sequence[DrawnBlock], places: Sequence[Any]) -> None:
    """Mark the blocks beside the main content as furniture; `places` are the nodes that contain the blocks.

    Boxes with the page's title, a table, a listing or notes of the text are kept.
    """
    page = _PlacedBlocks(blocks, places)
    beside = {number for spans in (_named(page), _opened(page), _rights(page)) for span in spans for number in span}
    if not page.scant:
        beside.update(number for span in _around(page, beside) for number in span)
    for number in beside:
        if blocks[number].kind != "toc":
            blocks[number].kind, blocks[number].level = "furniture", 0


def _named(page: _PlacedBlocks) -> Iterator[range]:
    """Yield boxes whose names or tags say that they are beside the main content."""
    for box, span in page.spans.items():
        if is_beside(box):
            most = _NAMED
        elif page.stated and _is_column(box) and next(box.iterancestors(*_STATED), None) is None:
            most = _COLUMN
        else:
            most = _FORM if box.tag == "form" else -1
        if most > 0 and page.may_go(box, most):
            yield span


def _opened(page: _PlacedBlocks) -> Iterator[range]:
    """Yield boxes that begin with words above other pages, and such words together with the box below."""
    for number, block in enumerate(page.blocks):
        words = block.attributes.get("text", block.text) if block.kind in ("title", *_TOLD) else ""
        sure = opens_pages(words)
        if sure or is_label(words):
            box = _begun(page, number)
            if (end := page.spans[box].stop) == number + 1 < len(page.blocks):
                box = _begun(page, end)
                end = page.spans[box].stop
            if end == number + 1 or (page.may_go(box, _COLUMN) and lists_pages(box, sure)):
                yield range(number, end)


def _begun(page: _PlacedBlocks, number: int) -> Any:
    """Return the widest box that begins with a block."""
    place = page.places[number]
    boxes = [box for box in (place, *place.iterancestors()) if page.spans[box].start == number]
    return (boxes or [place])[-1]


def _rights(page: _PlacedBlocks) -> Iterator[range]:
    for number, block in enumerate(page.blocks):
        if block.kind in _TOLD and says_rights(block.text):
            yield range(number, number + 1)


def _around(page: _PlacedBlocks, beside: set[int]) -> Iterator[range]:
    """Yield the boxes beside the innermost one with nearly all prose, leaving out what is known to be beside it."""
    sums = _main_prose(page, beside)
    around = {box for box, span in page.spans.items() if _share(sums, span) >= _SHARE}
    innermost = min((page.spans[box] for box in around), key=len, default=range(0))
    for box, span in page.spans.items():
        apart = box not in around and _is_in(box.getparent(), around) and _may_be_beside(page, box)
        if apart and not _introduces(page, box, innermost):
            yield span


def _introduces(page: _PlacedBlocks, box: Any, main: range) -> bool:
    """Return whether a box between the page's title and its main content has prose that the content does not repeat."""
    span = page.spans[box]
    if _is_apart(box) or not 0 <= page.top < span.start < span.stop <= main.start or not _share(page.told, span):
        return False
    return {page.blocks[number].text for number in span}.isdisjoint(page.blocks[number].text for number in main)


def _main_prose(page: _PlacedBlocks, beside: set[int]) -> list[int]:
    """Return the characters of prose before each block, ignoring columns and everything outside the main element."""
    apart = [span for box, span in page.spans.items() if _is_apart(box) and _share(page.prose, span) <= _COLUMN]
    sums = _without(page.prose, beside.union(*apart))
    main = [span for box, span in page.spans.items() if _share(sums, span) >= _least(box)]
    if not main:
        return sums
    return _without(sums, {*range(len(page.blocks))}.difference(*main))


def _is_in(parent: Any, around: set[Any]) -> bool:
    """Return whether a box is around the main content, and is not the innermost one."""
    return parent in around and not around.isdisjoint(parent)


def _may_be_beside(page: _PlacedBlocks, box: Any) -> bool:
    """Return whether a box beside the prose contains nothing of a text: no title, data, terms or notes."""
    return box.tag in _BOXES and page.may_go(box, 1) and (_is_apart(box) or next(box.iter("dl"), None) is None)


def _least(box: Any) -> float:
    """Return the least share of the prose with which a box is what it says it is; 2 if it says nothing."""
    if box.tag == "main" or box.get("role") == "main":
        return _MAIN
    return _ARTICLE if box.tag == "article" or box.get("itemprop") == "articleBody" else 2.0


def _is_apart(box: Any) -> bool:
    return box.tag in _APART or _is_column(box)


def _is_column(box: Any) -> bool:
    return box.tag == "aside" or box.get("role") == "complementary" or is_column(box)


def _spans(places: Sequence[Any]) -> dict[Any, range]:
    """Return the block numbers in each node around a block."""
    firsts, ends = dict[Any, int](), dict[Any, int]()
    for number, place in enumerate(places):
        for box in (place, *place.iterancestors()):
            firsts.setdefault(box, number)
            ends[box] = number + 1
    return {box: range(first, ends[box]) for box, first in firsts.items()}


def _sums(lengths: Iterable[int]) -> list[int]:
    return list(accumulate(lengths, initial=0))


def _without(sums: Sequence[int], left: set[int]) -> list[int]:
    """Return sums over all blocks except those left out."""
    return _sums(0 if number in left else end - start for number, (start, end) in enumerate(pairwise(sums)))


def _share(sums: Sequence[int], span: range) -> float:
    return (sums[span.stop] - sums[span.start]) / max(1, sums[-1])


def _is_told(block: DrawnBlock) -> bool:
    """Return whether a block is prose and not mostly links."""
    if block.kind not in _TOLD or len(block.text) < _SHORT or not is_prose(block.text):
        return False
    return sum(len(link["text"]) for link in block.attributes.get("links", ())) <= _LINKED * len(block.text)


def _any(names: Iterable[str], behind: str = "-") -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s-])(?:{'|'.join(names)})(?:$|\s|{behind})", re.IGNORECASE)


_PATTERNS = {
    "beside": (_any(_BESIDE), _any(_BESIDE_ALONE, "--")),
    "linking": (_any(_LINKING),),
    "column": (_any(_COLUMN_NAMES),),
}
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_LEAST_LINKED = 0.15  # share of text in links in a box of other articles: each has a linked title, and a summary
_KEPT_NAMES = 4_096  # classes and ids of boxes, in 1 MB
_HEADED = frozenset(("section", "h1", "h2", "h3", "h4", "h5", "h6", "dt", "dd", "p", "li"))
_SECTION = re.compile(r"(?:^|\s)(?:section|sect\d|level\d)(?:$|\s)")
_OPENS_PAGES, _LABELLED = (re.compile("|".join(said.split("\n")[1:-1]), re.IGNORECASE) for said in (_PAGES, _LABELS))
_LISTING = ("div", "section", "ul", "ol", "aside")


def is_beside(node: Any) -> bool:
    """Return whether a box names itself as beside the article."""
    kinds = _kinds(node)
    return "beside" in kinds or ("linking" in kinds and is_linked(node, _LEAST_LINKED))


def is_column(node: Any) -> bool:
    """Return whether a box names itself as a column beside the article; it may also be a note within it."""
    return "column" in _kinds(node)


def opens_pages(words: str) -> bool:
    """Return whether these are words above other articles."""
    return _fits(_OPENS_PAGES, words)


def is_label(words: str) -> bool:
    """Return whether these are words above share buttons, tags or comments."""
    return _fits(_LABELLED, words)


def lists_pages(node: Any, sure: bool) -> bool:
    """Return whether a box may be a list of other pages: mostly links or, if that is `sure`, several links."""
    if sure and node.tag in _LISTING and next(islice(node.iter("a"), 1, None), None) is not None:
        return True
    return is_mostly_links(node) or next(node.iterancestors("a"), None) is not None


def says_rights(words: str) -> bool:
    """Return whether a line is only a rights notice, or names the program that wrote the page."""
    return _RIGHTS.fullmatch(words) is not None


def _kinds(node: Any) -> tuple[str, ...]:
    named, own = node.get("class"), node.get("id")
    kinds = _said(named) if named else ()
    if own and (more := _said(own)) and node.tag not in _HEADED and not _SECTION.search(named or ""):
        return kinds + more
    return kinds


# The boxes of a page share a few names, and the pages of a site share them as well.
@lru_cache(_KEPT_NAMES)
def _said(name: str) -> tuple[str, ...]:
    words = _HUMPS.sub("-", name)
    return tuple(kind for kind, patterns in _PATTERNS.items() if any(one.search(words) for one in patterns))


def _fits(pattern: re.Pattern[str], words: str) -> bool:
    return len(words) <= _LONGEST and pattern.fullmatch(words.strip(" :?!.…»>-")) is not None
