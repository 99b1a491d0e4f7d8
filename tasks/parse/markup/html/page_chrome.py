"""HTML page chrome: banners about cookies, menus, links to edit a page, and lists of contents, by names and words."""

import re
from functools import lru_cache
from typing import Any

from lxml import etree

from docmill.tasks.parse.trees import words_in

_NAMED = re.compile(
    r"(?:^|[\s_-])(?:newsletter(?:[_-]?(?:signup|form|box|subscribe))?|page[_-]?feedback|(?:site|page|global)[_-]?footer"
    r"|cookies?(?:[_-]?(?:banner|consent|notice|bar|law|popup|dialog|overlay))|cybotcookiebot\w*"
    r"|consent[_-]?(?:banner|manager)|gdpr|onetrust|qc-cmp2?|didomi\w*|truste\w*|usercentrics\w*"
    r"|breadcrumbs?|navbar|navbox|nav[_-]?menu|site[_-]?(?:nav|menu|notice)|main[_-]?menu|skip[_-]?(?:link|to|nav)|edit[_-]?"
    r"(?:this[_-]?page|page|link)|editsection|share[_-]?(?:buttons?|links?|bar)|social[_-]?(?:share|links|media)"
    r"|back[_-]?to[_-]?top|pagination|prev[_-]?next|page[_-]?nav|ad[_-]?slot|advert(?:isement)?|mw-portlet\w*|catlinks"
    r"|printfooter|sitesub|interlanguage[_-]?links?|user[_-]?(?:menu|nav|tools))(?:$|[\s_-])",
    re.IGNORECASE,
)
_LISTING = re.compile(
    r"(?:^|[\s_-])(?:related[_-]?(?:articles?|posts?|stories|content|links|news|topics)|most[_-]?(?:read|popular|viewed)"
    r"|trending|recommended|sidebar|no-?print|d-print-none"
    r"|(?:main|primary|secondary|top|sub|side|footer|global|utility|header)[_-]?(?:nav(?:igation)?|menu|links))(?:$|[\s_-])",
    re.IGNORECASE,
)
"""Names of boxes that are chrome if they are mostly links: a sidebar may as well explain a term of the text."""
_SAID = re.compile(
    r"\[?\s*(?:edit(?: (?:links?|source|this (?:page|section)|page|on git(?:hub|lab)))?|view (?:page )?source"
    r"|improve this page|suggest edits?|skip to (?:main )?(?:content|navigation)|jump to (?:content|navigation)"
    r"|back to top|print this page|report (?:an issue|a problem)"
    r"|was this (?:page|article|answer) (?:useful|helpful)\?(?: yes/? ?no)?"
    r"|toggle (?:navigation|menu|table of contents sidebar)|advertisement"
    r"|show source)\s*\]?",
    re.IGNORECASE,
)
_LONGEST_SAID = 60  # characters: none of these is as long, and nearly all blocks of text are longer

_CONTENTS = re.compile(
    r"(?:^|[\s_-])(?:toc|(?:doc|page|local)[_-]?toc|table[_-]?of[_-]?contents|on[_-]?this[_-]?page)(?:$|[\s_-])",
    re.IGNORECASE,
)
_KEPT_NAMES = 4_096  # classes and ids of boxes, in 1 MB
_STATED = ("class", "id", "role", "epub:type", "{http://www.idpf.org/2007/ops}type")
_LINKED = 0.3
"""Share of the text of a list of contents in links: its name and numbers are the rest. A page may name its body so."""
_MOSTLY_LINKED = 0.5  # and of a box with a list of links, beside its own heading
_TITLES = etree.XPath("boolean(.//h1 | .//main | .//article)")
_HEADINGS = etree.XPath("boolean(.//h1 | .//h2 | .//h3)")
_FOOTERS = frozenset(("footer", "page-footer", "site-footer"))


# The boxes of a page share a few names, and those of a site's pages are the same.
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
    if not any(map(_is_list, node.values())):  # as nearly all: one call instead of one for each attribute
        return False
    return any(_is_list(said) for said in map(node.get, _STATED) if said) and is_linked(node, _LINKED)


def is_linked(node: Any, share: float) -> bool:
    """Return whether at least a share of the text of a box is in links."""
    linked = sum(len("".join(link.itertext()).strip()) for link in node.iter("a"))
    return linked > 0 and linked >= share * len(words_in(node))


def is_chrome(node: Any) -> bool:
    """Return whether a box names itself as what surrounds a page, by its class or id."""
    names = [said for said in (node.get("class"), node.get("id")) if said is not None]
    if any(map(_is_named, names)):
        return True
    return any(map(_is_listing, names)) and is_linked(node, _MOSTLY_LINKED) and not _TITLES(node)


def is_mostly_links(node: Any) -> bool:
    """Return whether at least half of the text of a box is in links."""
    return is_linked(node, _MOSTLY_LINKED)


def is_site_header(node: Any) -> bool:
    """Return whether a header is a site's own: it has no title, and is mostly links."""
    return not _HEADINGS(node) and is_linked(node, _MOSTLY_LINKED)


def is_named_footer(node: Any) -> bool:
    """Return whether a box of no meaning is called a footer, and nothing else."""
    return (node.get("class") or "").lower() in _FOOTERS or (node.get("id") or "").lower() in _FOOTERS


def says_chrome(text: str, links: list[dict[str, str]]) -> bool:
    """Return whether a block is one link, or a button, that every page of its site has."""
    if len(links) > 1 or len(text) > _LONGEST_SAID or _SAID.fullmatch(text) is None:
        return False
    return not links or links[0]["text"] in text
