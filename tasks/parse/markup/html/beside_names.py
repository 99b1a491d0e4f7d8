"""Beside names: the names and first words of boxes beside an article: comments, share bars, other articles, tags.

A name counts as a word of a class or an id, as sites and their tools give them. What may be a part of a text as well
needs links, and an id that may be made of a heading says nothing.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any

from docmill.tasks.parse.markup.html.page_chrome import is_linked, is_mostly_links

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
"""Names that say something else with more words behind them: social security, share price, next steps."""
_LINKING = (
    r"\w{0,8}related\w*|relacionad[oa]s|recommend\w*|suggest(?:ed|ions)|popular\w*|most-?(?:read|viewed|shared)|trending",
    r"teasers?\d*|\w{1,8}teaser|meist-?\w+|recent-?(?:comments|news)|archives|read-?more|more-?(?:for|from|news)",
    r"tags?(?:-?(?:list|cloud|links?))?|cat-links|(?:entry|post|article)-(?:meta|tags|categories|utility)",
    r"widget-(?:get-)?(?:archives?|categories|links|meta|nav|pages|recent|rss|tag)\w*",
)
"""Names of boxes that are beside the article if they have links: a product may be recommended, a case related."""
_COLUMN = (
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
"""Words above share buttons, tags and comments. They name chapters as well, so nothing but links may be below them."""
_RIGHTS = re.compile(
    r"(?:©|\(c\)|copyright (?:©|\(c\)|by\b|\d)|(?:proudly )?powered by\b|alle rechte vorbehalten|all rights reserved"
    r"|tous droits réservés|todos (?:los|os) (?:derechos|direitos) reservados|tutti i diritti riservati"
    r"|wszelkie prawa zastrzeżone|все права защищены|版权所有).{0,100}",
    re.IGNORECASE,
)


def _any(names: Iterable[str], behind: str = "-") -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s-])(?:{'|'.join(names)})(?:$|\s|{behind})", re.IGNORECASE)


_PATTERNS = {
    "beside": (_any(_BESIDE), _any(_BESIDE_ALONE, "--")),
    "linking": (_any(_LINKING),),
    "column": (_any(_COLUMN),),
}
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_LEAST_LINKED = 0.15  # share of a box of other articles in links: each has one around its title, and a summary
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
    """Return whether a box names itself as the column beside the article; it may be a note within it as well."""
    return "column" in _kinds(node)


def opens_pages(words: str) -> bool:
    """Return whether these are words above other articles."""
    return _fits(_OPENS_PAGES, words)


def is_label(words: str) -> bool:
    """Return whether these are words above share buttons, tags or comments."""
    return _fits(_LABELLED, words)


def lists_pages(node: Any, sure: bool) -> bool:
    """Return whether a box may be a list of other pages: mostly links, or several of them if that is `sure`."""
    if sure and node.tag in _LISTING and next(islice(node.iter("a"), 1, None), None) is not None:
        return True
    return is_mostly_links(node) or next(node.iterancestors("a"), None) is not None


def says_rights(words: str) -> bool:
    """Return whether a line is nothing but a note of rights, or of the program that wrote the page."""
    return _RIGHTS.fullmatch(words) is not None


def _kinds(node: Any) -> tuple[str, ...]:
    named, own = node.get("class"), node.get("id")
    kinds = _said(named) if named else ()
    if own and (more := _said(own)) and node.tag not in _HEADED and not _SECTION.search(named or ""):
        return kinds + more
    return kinds


# The boxes of a page share a few names, and those of a site's pages are the same.
@lru_cache(_KEPT_NAMES)
def _said(name: str) -> tuple[str, ...]:
    words = _HUMPS.sub("-", name)
    return tuple(kind for kind, patterns in _PATTERNS.items() if any(one.search(words) for one in patterns))


def _fits(pattern: re.Pattern[str], words: str) -> bool:
    return len(words) <= _LONGEST and pattern.fullmatch(words.strip(" :?!.…»>-")) is not None
