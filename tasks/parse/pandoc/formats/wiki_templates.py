"""Wiki templates: the words in the templates of a page in MediaWiki's markup, which pandoc leaves out.

A template is a call, `{{name|value|key=value}}`, of a page that is not at hand. A box of facts, which begins a line,
becomes a line for each of its keys. The values without a key of any other template are words: `{{nowrap|10 km}}`.
Source: https://www.mediawiki.org/wiki/Help:Templates.
"""

import re

_INNERMOST = re.compile(r"(?P<line>^[ \t]*)?\{\{(?P<call>[^{}]*)\}\}", re.MULTILINE)
_BAR = re.compile(r"\|(?![^\[\]]*\]\])")  # between values, but not in a link
_KEY = re.compile(r"\s*([^\s=<>\[\]][^=<>\[\]\n]{0,60}?)\s*=(.*)", re.DOTALL)
_LEAST_FACTS = 2  # keys of a box; with one, it is mostly a notice with its date
_DEEPEST = 8  # of templates in one another; deeper ones are left to pandoc, so that a hostile page takes linear time
_LITERAL = re.compile(r"<(nowiki|pre|syntaxhighlight|source|code|math)\b[^<>/]*>.*?</\1>", re.DOTALL | re.IGNORECASE)
_KEPT = re.compile("\ue012(\\d+)\ue013")  # a literal text's place; private-use characters
_SHOWN = {"convert": slice(2), "cvt": slice(2), "lang": slice(1, None)}
"""The values that readers see, without those that say only how: the unit to show beside, and the language."""
_CITED = ("author", "last", "first", "title", "work", "website", "journal", "publisher", "date", "year", "quote")
"""Keys that readers see of a source, which has a title, in the usual order."""
_UNSAID = re.compile(r"(?:#|DEFAULTSORT|DISPLAYTITLE|[a-z]+:|.*\b(?:stub|dates|navbox|sidebar)\b)", re.IGNORECASE)
"""Names of functions, and of templates whose values are for the wiki alone."""
_FILE = re.compile(r"[^\n|]{1,200}\.(?:jpe?g|png|gif|svg|webp|tiff?|ogg|webm)", re.IGNORECASE)


def with_template_words(text: str) -> str:
    """Return a page with the words of its templates in their places."""
    if "{{" not in text:
        return text
    literal = list[str]()

    def keep(found: re.Match[str]) -> str:
        literal.append(found[0])
        return f"\ue012{len(literal) - 1}\ue013"

    text, count, deep = _LITERAL.sub(keep, text), 1, 0
    while count and deep < _DEEPEST:
        text, count = _INNERMOST.subn(_words, text)
        deep += 1
    return _KEPT.sub(lambda found: literal[int(found[1])] if int(found[1]) < len(literal) else found[0], text)


def _words(found: re.Match[str]) -> str:
    name, *values = map(str.strip, _BAR.split(found["call"]))
    start = found["line"] or ""
    if _UNSAID.match(name):
        return start
    said, facts = _parted(values)
    if found["line"] is not None and not said and len(facts) >= _LEAST_FACTS:
        return "\n\n" + "<br />".join(f"{key}: {value}" for key, value in facts.items()) + "\n\n"
    words = " ".join(said[_SHOWN.get(name.lower(), slice(None))])
    return start + ", ".join(filter(None, (words, *_source(facts))))


def _parted(values: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the values without a key, and those of the keys; empty ones and names of files are left out."""
    said, facts = list[str](), dict[str, str]()
    for value in filter(None, values):
        key = _KEY.fullmatch(value)
        if key is None:
            said.append(value)
        elif key[2].strip() and not _FILE.fullmatch(key[2].strip()):
            facts[key[1]] = key[2].strip()
    return said, facts


def _source(facts: dict[str, str]) -> list[str]:
    return [facts.get(key, "") for key in _CITED] if "title" in facts else []
