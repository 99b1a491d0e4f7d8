"""HTML page chrome: banners about cookies, menus, links to edit a page, and lists of contents, by names and words."""

import re
from typing import Any

_NAMED = re.compile(
    r"(?:^|[\s_-])(?:newsletter(?:[_-]?(?:signup|form|box|subscribe))?|page[_-]?feedback|(?:site|page|global)[_-]?footer"
    r"|cookies?(?:[_-]?(?:banner|consent|notice|bar|law|popup|dialog|overlay))|cybotcookiebot\w*"
    r"|consent[_-]?(?:banner|manager)|gdpr|onetrust"
    r"|breadcrumbs?|navbar|navbox|nav[_-]?menu|site[_-]?(?:nav|menu)|main[_-]?menu|skip[_-]?(?:link|to|nav)|edit[_-]?"
    r"(?:this[_-]?page|page|link)|editsection|share[_-]?(?:buttons?|links?|bar)|social[_-]?(?:share|links|media)"
    r"|back[_-]?to[_-]?top|pagination|prev[_-]?next|page[_-]?nav)(?:$|[\s_-])",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\[?\s*(?:edit(?: (?:links?|source|this (?:page|section)|page|on git(?:hub|lab)))?|view (?:page )?source"
    r"|improve this page|suggest edits?|skip to (?:main )?(?:content|navigation)|jump to (?:content|navigation)"
    r"|back to top|print this page|report (?:an issue|a problem)"
    r"|was this (?:page|article|answer) (?:useful|helpful)\?(?: yes/? ?no)?"
    r"|toggle (?:navigation|menu|table of contents sidebar)"
    r"|show source)\s*\]?",
    re.IGNORECASE,
)

_CONTENTS = re.compile(
    r"(?:^|[\s_-])(?:toc|(?:doc|page|local)[_-]?toc|table[_-]?of[_-]?contents|on[_-]?this[_-]?page)(?:$|[\s_-])",
    re.IGNORECASE,
)
_STATED = ("class", "id", "role", "epub:type", "{http://www.idpf.org/2007/ops}type")
_LINKED = 0.3
"""Share of the text of a list of contents in links: its name and numbers are the rest. A page may name its body so."""


def is_contents(node: Any) -> bool:
    """Return whether a box names itself as a list of contents and is mostly links."""
    if not node.attrib or not any(_CONTENTS.search(node.get(name) or "") for name in _STATED):
        return False
    linked = sum(len("".join(link.itertext()).strip()) for link in node.iter("a"))
    return linked > 0 and linked >= _LINKED * len(" ".join("".join(node.itertext()).split()))


def is_chrome(node: Any) -> bool:
    """Return whether a box names itself as what surrounds a page, by its class or id."""
    if not node.attrib:
        return False
    return any(said is not None and _NAMED.search(said) is not None for said in (node.get("class"), node.get("id")))


def says_chrome(text: str, links: list[dict[str, str]]) -> bool:
    """Return whether a block is one link, or a button, that every page of its site has."""
    return len(links) <= 1 and _SAID.fullmatch(text) is not None and (not links or links[0]["text"] in text)
