"""Pandoc inlines: the text of a paragraph, with its links and notes.

Emphasis is dropped, as in every drawn format; code keeps its backticks and mathematics its dollar signs, and
superscripts and subscripts are marked.
"""

import re
from collections.abc import Callable
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

from docmill.storage.schema import KeptPicture
from docmill.tasks.parse.canvas import struck
from docmill.tasks.parse.superscripts import between_dollars, lowered, note_mark, raised, with_fractions

Node = dict[str, Any]
Take = Callable[[str], KeptPicture | None]

# Private-use characters inserted into a document: they mark the start of a page and an item one level deeper.
PAGE_MARK, DEEPER_MARK = "\ue00b", "\ue00c"
CONTENTS_MARK = "\ue00f"  # in an entry of a table of contents
NUMBER_MARK, NUMBER_END = "\ue00d", "\ue00e"  # around the number of a paragraph, at its beginning
SAID = "#docmill-said="  # in a picture's address, before its alternative text
KEPT = "kept"  # the language of raw markup that is shown as written
NUMBER = re.compile(f"{NUMBER_MARK}([^{NUMBER_END}]*){NUMBER_END}")
_QUOTES = {"SingleQuote": "\u2018\u2019", "DoubleQuote": "\u201c\u201d"}
_WRAPPED = frozenset(("Emph", "Strong", "Underline", "SmallCaps"))
_SCRIPTS = frozenset(("Superscript", "Subscript"))
_TARGET = re.compile(r"\A(.+?)\s*<[^<>]*>\Z", re.DOTALL)
_PROSE_ROLES = frozenset(("ref", "doc", "term", "abbr", "guilabel", "menuselection", "any", "numref", "title", "dfn"))
_NUMBERED_ROLES = ("pep", "rfc")
_FILE = re.compile(r"\S+\.(?:png|jpe?g|gif|svg|bmp|tiff?|webp|emf|wmf|pdf|eps)", re.IGNORECASE)
_UNSEEN = re.compile(
    r"\\(?:label|vspace|hspace|index\w*|input|include|bibliography(?:style)?|includegraphics|usepackage|documentclass"
    r"|documentstyle|pagestyle|thispagestyle|setlength|setcounter|addtocounter|newcommand|renewcommand|newtheorem"
    r"|newenvironment|def|let|setstretch|vskip|hskip|color|fontsize|newcounter|numberwithin|theoremstyle|hypersetup"
    r"|graphicspath|addcontentsline|addtocontents|orcidID|orcidlink|orcid|captionsetup|definecolor|lstset|newif|PassOptionsToPackage|titleformat|geometry)(?![A-Za-z])\*?"
    r"(?:\[[^\]]*\]|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|=?-?[\d.]+(?:pt|em|ex|cm|mm|in)\b)*"
)
_REFERENCE = re.compile(r"\\(?:eq|auto|c|C|page|v|name)?ref\*?\{([^{}]*)\}|\\cite[a-z]*\*?(?:\[[^\]]*\])*\{([^{}]*)\}")
_COMMAND = re.compile(
    r"\\(?:begin|end)\{[^{}]*\}(?:\[[^\]]*\])?|\\[A-Za-z@]+\*?(?:\[[^\]]*\])*|\\(?=[^\w\s])|(?<!\\)[{}]"
)
_MATH = re.compile(r"((?<!\\)\$[^$\n]+(?<!\\)\$)")
_LENGTH = re.compile(
    r"\\[A-Za-z@]+\s*=?\s*-?[\d.]+(?:pt|em|ex|cm|mm|in)\b|\[[a-z]+=[^\]]*\]|\\(?:text)?color(?:\[\w*\])?\{[\d.,\s]*\}"
    r"|\{\s*-?[\d.]*\s*\\[a-z]*(?:width|height)\s*\}"
)
_ACCENT = re.compile(r"\\([\"'`^~=.])\{?([A-Za-z])\}?")
_ACCENTS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307"}
_COMMENT = re.compile(r"(?<!\\)%.*")
_TAG = re.compile(r"<[^<>]*>")


class Inlines:
    """Renders the inlines of one block; `links` and `notes` collect the targets that the text refers to.

    `inner` is the number of characters in links within the document. `shown` has the pictures that `take` returns for
    an address, each with its alternative text; the alternative text of other pictures is part of the text.
    """

    def __init__(self, first_note: int = 1, take: Take = lambda _: None) -> None:
        self.shown: list[tuple[KeptPicture, str]] = []
        self._take = take
        self.links: list[dict[str, str]] = []
        self.notes: list[list[Node]] = []
        self.inner = 0
        self._first_note = first_note

    def text(self, inlines: list[Node]) -> str:
        """Return the text; line breaks are newlines, and runs of spaces are kept."""
        parts: list[str] = []
        for node in inlines:
            parts.append(self._script(node, "".join(parts[-2:])) if node["t"] in _SCRIPTS else self._one(node))
        return with_fractions("".join(parts))

    def _script(self, node: Node, before: str) -> str:
        """Return a superscript or subscript after the text `before`; a link within the document is a note's mark."""
        text = self.text(node["c"])
        if node["t"] == "Subscript":
            return lowered(text)
        linked = [one for one in node["c"] if one["t"] == "Link" and one["c"][2][0].startswith("#")]
        return (note_mark(text) if linked else "") or raised(text, before)

    def _one(self, node: Node) -> str:
        kind: str = node["t"]
        content: Any = node.get("c")
        if kind == "Str":
            return str(content)
        if kind in ("Space", "SoftBreak"):
            return " "
        if kind in _WRAPPED:
            return self.text(content)
        visit = getattr(self, "_" + kind.lower(), None)
        return str(visit(content)) if visit else ""

    def _linebreak(self, _: Any) -> str:
        return "\n"

    def _code(self, content: Any) -> str:
        (_, classes, pairs), text = content
        role = dict(pairs).get("role", "").rpartition(":")[2] if "interpreted-text" in classes else None
        if role is not None:
            text = _TARGET.sub(r"\1", text).lstrip("~!")
            if role in _NUMBERED_ROLES:
                return f"{role.upper()} {text}"
            if role in _PROSE_ROLES or not role:
                return str(text)
        return f"`{text}`" if text.strip() and "`" not in text else str(text)

    def _math(self, content: Any) -> str:
        return between_dollars(content[1], content[0]["t"] == "DisplayMath")

    def _quoted(self, content: Any) -> str:
        marks = _QUOTES[content[0]["t"]]
        return marks[0] + self.text(content[1]) + marks[1]

    def _strikeout(self, content: Any) -> str:
        return struck(self.text(content))

    def _span(self, content: Any) -> str:
        return self.text(content[1])

    def _link(self, content: Any) -> str:
        _, inlines, (url, _) = content
        if url.startswith("#") and [one["t"] for one in inlines] == ["Superscript"]:
            return note_mark(self.text(inlines[0]["c"])) or self.text(inlines)
        text = self.text(inlines)
        self._note_link(" ".join(text.replace(PAGE_MARK, "").split()), url)
        return text

    def _note_link(self, shown: str, url: str) -> None:
        if url.startswith("#"):
            self.inner += len(shown)
        elif shown and url and not url.startswith(("javascript:", "data:")):
            self.links.append({"text": shown, "url": url})

    def _image(self, content: Any) -> str:
        _, inlines, (url, title) = content
        url, _, said = url.partition(SAID)
        text = self.text(inlines).strip() or unquote(said) or title.removeprefix("fig:").strip()
        text = "" if _FILE.fullmatch(text) or text.lower() in ("image", "picture") else text
        if picture := self._take(url):
            self.shown.append((picture, text))
            return " "
        return f" {text} " if text else ""

    def _cite(self, content: Any) -> str:
        citations, inlines = content
        if all(one["t"] == "RawInline" for one in inlines) or not inlines:
            return "[" + "; ".join(one["citationId"] for one in citations) + "]"
        return self.text(inlines)

    def _note(self, content: Any) -> str:
        self.notes.append(content)
        return f"[^{self._first_note + len(self.notes) - 1}]"

    def _rawinline(self, content: Any) -> str:
        return raw_text(*content)


def raw_text(language: str, source: str) -> str:
    """Return the readable text of raw markup: for a TeX command, its arguments."""
    if language in ("latex", "tex"):
        source = _UNSEEN.sub("", _COMMENT.sub("", source).replace("\\\\", "\n"))
        source = _ACCENT.sub(lambda match: normalize("NFC", match[2] + _ACCENTS[match[1]]), source)
        source = _LENGTH.sub("", source)
        source = _REFERENCE.sub(lambda match: f"[{match[1] or match[2]}]", source)
        parts = _MATH.split(source)
        parts[::2] = [_COMMAND.sub("", part).replace("~", " ") for part in parts[::2]]
        return "".join(parts)
    if language == KEPT:
        return source
    if language == "html":
        return "\n" if source.lower().startswith("<br") else _TAG.sub("", source)
    return ""


def plain_text(inlines: list[Node]) -> str:
    """Return inlines as one line, without notes and page marks."""
    text = re.sub(rf"\[\^\d+\]|[{PAGE_MARK}{DEEPER_MARK}{CONTENTS_MARK}]", "", Inlines().text(inlines))
    return " ".join(NUMBER.sub(r"\1 ", text).split())
