"""HTML nodes: hidden nodes, numbers, languages of code, stated item depths, and page chrome.

Word and Outlook write items as paragraphs, each with its mark typed before it; Google Docs and Quill write lists of all
depths side by side. A class or a style states the depth. Names and words identify banners, menus, edit links, and
tables of contents.
"""

import re
from functools import lru_cache
from itertools import islice
from typing import Any

from lxml import etree

from docmill.tasks.parse.xml_trees import drop, whole, words_in

_CARD_LEVELS = 3  # elements around a picture: its link, its box, and that of its title
_CARD_TEXTS = 40
"""Texts of such a box. With fewer, cards of several lines are missed; a larger box is a part of the page, whose words
may match a picture's by chance."""
_HIDING = frozenset(("hidden", "aria-hidden", "style"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_LANGUAGE = re.compile(r"(?:^|[\s-])(?:language|lang|brush|highlight-source|highlight)[-:]\s?([A-Za-z0-9+#_-]+)")
_BRUSH = re.compile(r"brush:\s*([A-Za-z0-9+#_-]+)")
_NO_LANGUAGES = frozenset(("default", "none"))  # of Sphinx: that of the site, or none
_BACKLINK = re.compile(r"(?:^|[\s_-])back-?link(?:$|\s)")
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9+#_-]*)")
SIGNS = re.compile(r"mso-list|lst-kix_|ql-indent-|aria-level")
"""Signs that a page states depths; other pages need not be walked for them."""
DEPTH, MARKER = "docmill-depth", "docmill-marker"  # the item attributes in which they are stored
_DEPTH = re.compile(r"mso-list:[^;]*\blevel([1-9])|\blst-kix_\w+-(\d)\b|\bql-indent-(\d)\b")
_LEVELS = frozenset("123456789")
_CLOSED = re.compile(
    r"<(p|div|span|h[1-6]|ul|ol|li|table|tr|td|blockquote|pre|strong|em|b|i|u|s|a|code|sup|sub|font|section|article"
    r"|figure|main|body|html|details|del|mark|small|at|dl|dt|dd|center)\b[^<>]*>.*?</\1\s*>",
    re.IGNORECASE | re.DOTALL,
)
_UNCLOSED = re.compile(
    r"(?<![`\"'])<(?:br|hr)\b[^<>]*>(?![`\"'])|<(?:img|p)\s[^<>]*=[^<>]*>|[\w.,;:!?]<p>|<p>(?=[^\W_]|\s*<)",
    re.IGNORECASE,
)
"""Tags that need no closing tag; a paragraph tag counts only next to words or tags. Prose mentions a tag between spaces
or quotation marks."""
_MARK = re.compile(r"mso-list:\s*ignore", re.IGNORECASE)
_NAMED = re.compile(
    r"(?:^|[\s_-])(?:newsletter(?:[_-]?(?:signup|form|box|subscribe))?|page[_-]?feedback|(?:site|page|global)[_-]?footer"
    r"|cookies?(?:[_-]?(?:banner|consent|notice|bar|law|popup|dialog|overlay))|cybotcookiebot\w*"
    r"|consent[_-]?(?:banner|manager)|gdpr|onetrust|qc-cmp2?|didomi\w*|truste\w*|usercentrics\w*"
    r"|breadcrumbs?|navbar|navbox|nav[_-]?menu|site[_-]?(?:nav|menu|notice)|main[_-]?menu|skip[_-]?(?:link|to|nav)|edit[_-]?"
    r"(?:this[_-]?page|page|link)|editsection|share[_-]?(?:buttons?|links?|bar)|social[_-]?(?:share|links|media)"
    r"|back[_-]?to[_-]?top|pagination|prev[_-]?next|page[_-]?nav|ad[_-]?slot|advert(?:isement)?|mw-portlet\w*|catlinks"
    r"|(?:top|sub|bottom)[_-]?nav|nav[_-]?list|printfooter|sitesub|interlanguage[_-]?links?|user[_-]?(?:menu|nav|tools))(?:$|[\s_-])",
    re.IGNORECASE,
)
_LISTING = re.compile(
    r"(?:^|[\s_-])(?:related[_-]?(?:articles?|posts?|stories|content|links|news|topics)|most[_-]?(?:read|popular|viewed)"
    r"|trending|recommended|sidebar|no-?print|d-print-none"
    r"|(?:main|primary|secondary|top|sub|side|footer|global|utility|header)[_-]?(?:nav(?:igation)?|menu|links))(?:$|[\s_-])",
    re.IGNORECASE,
)
"""Names of boxes that are chrome if they are mostly links: a sidebar may also explain a term of the text."""
_SAID = re.compile(
    r"\[?\s*(?:edit(?: (?:links?|source|this (?:page|section)|page|on git(?:hub|lab)))?|view (?:page )?source"
    r"|improve this page|suggest edits?|skip to (?:main )?(?:content|navigation)|jump to (?:content|navigation)"
    r"|back to top|print this page|report (?:an issue|a problem)"
    r"|was this (?:page|article|answer) (?:useful|helpful)\?(?: yes/? ?no)?"
    r"|toggle (?:navigation|menu|table of contents sidebar)|advertisement"
    r"|show source)\s*\]?",
    re.IGNORECASE,
)
_LONGEST_SAID = 60  # characters: none of these is longer, but nearly all blocks of text are

_CONTENTS = re.compile(
    r"(?:^|[\s_-])(?:toc|(?:doc|page|local)[_-]?toc|table[_-]?of[_-]?contents|on[_-]?this[_-]?page)(?:$|[\s_-])",
    re.IGNORECASE,
)
_KEPT_NAMES = 4_096  # classes and ids of boxes, in 1 MB
_STATED = ("class", "id", "role", "epub:type", "{http://www.idpf.org/2007/ops}type")
_LINKED = 0.3
"""Share of a contents list's text in links; the rest is its name and numbers. A page may name its body like that."""
_MOSTLY_LINKED = 0.5  # and of a box with a list of links, apart from its own heading
_TITLES = etree.XPath("boolean(.//h1 | .//main | .//article)")
_HEADINGS = etree.XPath("boolean(.//h1 | .//h2 | .//h3)")
_FOOTERS = frozenset(("footer", "page-footer", "site-footer"))


def holds_markup(text: str) -> bool:
    """Return whether a data value is HTML: it contains a tag that is closed, or one that need not be."""
    return "<" in text and (_CLOSED.search(text) is not None or _UNCLOSED.search(text) is not None)


def is_hidden(node: Any) -> bool:
    """Return whether a node itself says that it is hidden; style sheets are ignored."""
    if _HIDING.isdisjoint(node.keys()):  # as for nearly all nodes: one call instead of three
        return False
    return (
        node.get("hidden") is not None
        or node.get("aria-hidden") == "true"
        or (node.get("style") is not None and _HIDDEN.search(node.get("style")) is not None)
    )


def caption_of(picture: Any) -> str:
    """Return the caption of the figure around a picture, or ""; the caption is also drawn as a paragraph."""
    figure = next(picture.iterancestors("figure"), None)
    said = None if figure is None else figure.find(".//figcaption")
    return "" if said is None else words_in(said)


def is_said_beside(picture: Any, said: str) -> bool:
    """Return whether a picture's alternative text also occurs in its card, its caption or its link."""
    wanted = " ".join(said.split()).casefold()
    for around in islice(picture.iterancestors(), _CARD_LEVELS):
        texts = list(islice(around.itertext(), _CARD_TEXTS))
        if len(texts) == _CARD_TEXTS:
            return False
        if wanted in " ".join("".join(texts).split()).casefold():
            return True
    return False


def leads_back(node: Any) -> bool:
    """Return whether a node contains only a note's links back to its references."""
    said = node.get("class")
    return said is not None and "back" in said and _BACKLINK.search(said) is not None


def stated_number(node: Any, name: str, default: int) -> int:
    """Return the number in an attribute, or the default if there is none above 0."""
    return whole(node.get(name), default) or default


def code_language(node: Any) -> str:
    """Return the language stated by a code block, by the code in it, or by one of the two elements around it."""
    parent = node.getparent()
    around = (parent, None if parent is None else parent.getparent())
    for one in (node.find(".//code"), node, *around):
        language = "" if one is None else _stated_language(one)
        if language:
            return language
    return ""


def _stated_language(node: Any) -> str:
    stated = node.get("data-lang") or node.get("data-language") or ""
    match = _NAME.fullmatch(stated.strip()) or _LANGUAGE.search(node.get("class") or "")
    match = match or _BRUSH.search(node.get("data-syntaxhighlighter-params") or "")
    language = str(match[1]).lower() if match else ""
    return "" if language in _NO_LANGUAGES else language


def state_depths(root: Any) -> None:
    """Write each item's stated depth into an attribute; paragraphs of Word become items."""
    for node in list(root.iter("li", "p")):
        depth = _stated_depth(node)
        if depth:
            node.set(DEPTH, str(depth))
            if node.tag == "p":
                node.tag = "li"
                node.set(MARKER, _take_mark(node))


def _stated_depth(node: Any) -> int:
    """Return the depth, from 1, that a node or its list states; 0 if none does, or for a plain paragraph."""
    if node.tag == "p":
        found = _DEPTH.search(node.get("style") or "")
        return int(found[1]) if found and found[1] else 0
    around = node.getparent()
    said = " ; ".join(filter(None, (node.get("style"), node.get("class"), around.get("class"))))
    if found := _DEPTH.search(said):
        return int(found[1]) if found[1] else int(found[2] or found[3]) + 1
    level = node.get("aria-level")
    return int(level) if level in _LEVELS else 0


def _take_mark(paragraph: Any) -> str:
    """Remove the mark typed before an item; return it if it is a number, else a dash."""
    mark = next((span for span in paragraph.iter("span") if _MARK.search(span.get("style") or "")), None)
    if mark is None:
        return "-"
    written = "".join(mark.itertext()).strip()
    drop(mark)
    return written if len(written) > 1 and any(map(str.isalnum, written)) else "-"


# The boxes of a page share a few names, and the pages of a site share them as well.
@lru_cache(_KEPT_NAMES)
def _is_named(said: str) -> bool:
    return _NAMED.search(said) is not None


@lru_cache(_KEPT_NAMES)
def _is_listing(said: str) -> bool:
    return _LISTING.search(said) is not None


@lru_cache(_KEPT_NAMES)
def _is_list(said: str) -> bool:
    return _CONTENTS.search(said) is not None


def is_contents(node: Any) -> bool:
    """Return whether a box names itself as a list of contents and is mostly links."""
    if not any(map(_is_list, node.values())):  # as for nearly all nodes: one call instead of one per attribute
        return False
    return any(_is_list(said) for said in map(node.get, _STATED) if said) and is_linked(node, _LINKED)


def is_linked(node: Any, share: float) -> bool:
    """Return whether at least this share of a box's text is in links."""
    linked = sum(len("".join(link.itertext()).strip()) for link in node.iter("a"))
    return linked > 0 and linked >= share * len(words_in(node))


def is_chrome(node: Any) -> bool:
    """Return whether a box names itself as page chrome, by its class or id."""
    names = [said for said in (node.get("class"), node.get("id")) if said is not None]
    if any(map(_is_named, names)):
        return True
    return any(map(_is_listing, names)) and is_linked(node, _MOSTLY_LINKED) and not _TITLES(node)


def is_mostly_links(node: Any) -> bool:
    """Return whether at least half of a box's text is in links."""
    return is_linked(node, _MOSTLY_LINKED)


def is_site_header(node: Any) -> bool:
    """Return whether a header is the site's own: it has no title and is mostly links."""
    return not _HEADINGS(node) and is_linked(node, _MOSTLY_LINKED)


def is_named_footer(node: Any) -> bool:
    """Return whether a generic box is named a footer, and nothing else."""
    return (node.get("class") or "").lower() in _FOOTERS or (node.get("id") or "").lower() in _FOOTERS


def says_chrome(text: str, links: list[dict[str, str]]) -> bool:
    """Return whether a block is a single link or button that every page of its site has."""
    if len(links) > 1 or len(text) > _LONGEST_SAID or _SAID.fullmatch(text) is None:
        return False
    return not links or links[0]["text"] in text
