r"""TeX environments: unwrap those that pandoc does not know, whose text it would keep as one raw block.

An environment that only lays out, such as `multicols`, is replaced by its content; one that is another name of a known
one, by that; a Beamer frame, by a heading and its content, and a new page begins with it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from docmill.tasks.parse.pandoc.inlines import PAGE_MARK

# Environments that pandoc knows because their source declares them.
_DECLARED = re.compile(
    r"\\(?:newtheorem\*?|spnewtheorem\*?|(?:re)?newenvironment\*?|declaretheorem(?:\[[^\]]*\])?)\s*\{(\w+\*?)\}"
)
_STEP = re.compile(
    r"(?P<comment>(?<!\\)%.*)|\\verb\*?(?P<quote>[^\sA-Za-z*])[^\n]*?(?P=quote)"
    r"|\\begin\s*\{(?P<begin>[\w*@:-]+)\}|\\end\s*\{(?P<end>[\w*@:-]+)\}"
    r"|\\(?P<title>frametitle|framesubtitle)\b(?:<[^<>]*>)?"
    r"|(?P<command>\\(?:item|only|onslide|uncover|visible|invisible|alert|textbf|textit|emph|includegraphics|color|note"
    r"|action|structure|alt|temporal)\*?)<[^<>\n]{0,40}>|\\column\s*\{[^{}]*\}"
)
_OPTION = re.compile(r"\s*(?:<[^<>\n]{0,40}>\s*)?\[((?:[^\[\]{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\]")
_ARGUMENT = re.compile(r"[ \t]*\n?[ \t]*\{((?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*)\}")
_OVERLAY = re.compile(r"\s*<[^<>\n]{0,40}>")
_STATED_TITLE = re.compile(r"\b(?:frame)?title\s*=\s*(?:\{((?:[^{}]|\{[^{}]*\})*)\}|([^,\]{}]+))")
_WORDS = re.compile(r"[^=\\\d]*[^\W\d_]{3}[^=\\]*")  # an option that is read, such as the name of a theorem

_LITERAL_WORDS = """
    verbatim verbatim* Verbatim BVerbatim LVerbatim lstlisting minted comment alltt code filecontents filecontents*
    luacode luacode* pycode sagesilent tikzpicture pgfpicture picture pspicture axis forest circuitikz asy lilypond
    tikzcd CD algorithmic tabbing prooftree
"""
_LITERAL = frozenset(_LITERAL_WORDS.split())
"""What is not looked into: code, drawings, and lines of commands."""
_KNOWN_WORDS = """
    document abstract letter minipage figure figure* subfigure subtable table table* center longtable tabular tabularx
    tabular* tblr longtblr xltabular quote quotation verse itemize description enumerate proof thebibliography
    equation equation* align align* aligned alignat alignat* alignedat gather gather* gathered multline multline*
    multlined flalign flalign* eqnarray eqnarray* displaymath math subequations split dmath dmath* dgroup dgroup*
    darray array matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix matrix* pmatrix* bmatrix* Bmatrix* vmatrix* Vmatrix*
    smallmatrix psmallmatrix bsmallmatrix cases cases* dcases dcases* rcases drcases numcases subnumcases substack
    subarray empheq IEEEeqnarray IEEEeqnarray* IEEEeqnarraybox toggletrue
"""
_KNOWN = frozenset(_KNOWN_WORDS.split())
_ALIKE = {
    "compactitem": "itemize", "inparaitem": "itemize", "asparaitem": "itemize", "itemize*": "itemize",
    "compactenum": "enumerate", "inparaenum": "enumerate", "asparaenum": "enumerate", "enumerate*": "enumerate",
    "compactdesc": "description", "inparadesc": "description", "description*": "description",
    "wrapfigure": "figure", "wrapfigure*": "figure", "SCfigure": "figure", "sidewaysfigure": "figure",
    "sidewaysfigure*": "figure", "marginfigure": "figure", "floatingfigure": "figure", "wraptable": "table",
    "SCtable": "table", "sidewaystable": "table", "sidewaystable*": "table", "margintable": "table",
    "displayquote": "quote", "quoting": "quote", "blockquote": "quote", "IEEEproof": "proof", "Proof": "proof",
    "proof*": "proof", "pf": "proof",
}  # fmt: skip
_ARGUMENTS = {
    "CJK": 2, "CJK*": 2, "spacing": 1, "multicols": 1, "multicols*": 1, "adjustwidth": 2, "adjustwidth*": 2,
    "column": 1, "overlayarea": 2, "overprint": 0, "turn": 1, "rotate": 1, "lrbox": 1, "addmargin": 1, "addmargin*": 1,
    "list": 2, "paracol": 1, "changemargin": 2, "otherlanguage": 1, "otherlanguage*": 1, "adjustbox": 1, "varwidth": 1,
    "parcolumns": 1, "hyphenrules": 1, "wrapfigure": 2, "wrapfigure*": 2, "wraptable": 2, "floatingfigure": 1,
    "tcbraster": 0, "localsize": 1, "minipage": 1, "fullwidth": 0, "textblock": 1, "textblock*": 1, "picture": 0,
    "leftbar": 0, "scope": 0, "tabularray": 0, "ThreePartTable": 0, "threeparttable": 0,
}  # fmt: skip
"""Arguments that are lengths, numbers and names of an environment, not words of the text."""
_TITLED = ("block", "alertblock", "exampleblock")  # Beamer's boxes with a title
_SECTIONS = {
    "acknowledgments": "Acknowledgments", "acknowledgements": "Acknowledgements", "acknowledgment": "Acknowledgment",
    "acknowledgement": "Acknowledgement", "acks": "Acknowledgments", "ack": "Acknowledgments",
}  # fmt: skip
_LED = {"keywords": "Keywords", "keyword": "Keywords", "IEEEkeywords": "Keywords"}
_FRAME = "frame"
_PLAIN = frozenset((*_ARGUMENTS, *_SECTIONS, *_LED))
# What may hold such signs within text: formulas, tables, code, labels and addresses.
_NO_TEXT = re.compile(
    r"(?<!\\)%.*|\$\$.*?\$\$|(?<!\\)\$[^$]*\$|\\\[.*?\\\]|\\\(.*?\\\)|\\verb\*?(.)[^\n]*?\1"
    r"|\\begin\{(" + "|".join(map(re.escape, sorted((_KNOWN | _LITERAL) - {"document"}))) + r")\}.*?\\end\{\2\}"
    r"|\\\w*(?:ref|label|cite\w*|url|href|input|includegraphics|index|path)\*?(?:\[[^\]]*\])*\{[^{}]*\}",
    re.DOTALL,
)
_FORMULA = re.compile(r"(?<!\\)[&^_]")
_FORMULA_NAME = re.compile("math|multline|equation|matrix|diagram|tikz|picture")


def unwrapped(text: str, theorems: Collection[str]) -> str:
    """Return a source without the environments that pandoc does not know; those named as `theorems` are known."""
    known = _KNOWN | _LITERAL | frozenset(_DECLARED.findall(text))
    return _Unwrapping(text, known, theorems, _level_of_slides(text)).text()


def _level_of_slides(text: str) -> str:
    """Return the command for the headings of slides: one below those that a source has."""
    if re.search(r"\\subsection\b", text):
        return "subsubsection"
    return "subsection" if re.search(r"\\section\b", text) else "section"


@dataclass(slots=True)
class _Unwrapping:
    """A walk over the beginnings and ends of environments; `_within` is the literal one that it is in."""

    source: str
    known: frozenset[str]
    theorems: Collection[str]
    heading: str
    _at: int = 0
    _within: str = ""

    def text(self) -> str:
        """Return the source, rewritten."""
        parts: list[str] = []
        while step := _STEP.search(self.source, self._at):
            parts.append(self.source[self._at : step.start()])
            self._at = step.end()
            parts.append(self._instead(step))
        return "".join([*parts, self.source[self._at :]])

    def _instead(self, step: re.Match[str]) -> str:
        """Return what stands for a match, and go on behind what it takes."""
        if self._within:
            self._within = "" if step["end"] == self._within else self._within
            return step[0]
        if step["begin"]:
            return self._begin(step["begin"], step[0])
        if step["end"]:
            return self._end(step["end"], step[0])
        if step["title"]:
            return self._headed() if step["title"] == "frametitle" else f"\n\n{self._argument()}\n\n"
        return step["command"] or ("\n\n" if step[0].startswith("\\column") else step[0])

    def _begin(self, name: str, written: str) -> str:
        if name in _LITERAL:
            self._within = name
        if name in self.known:
            return written
        if name == _FRAME or name in _TITLED:
            return self._slide() if name == _FRAME else self._block()
        if other := self._alike(name):
            self._take_arguments(name)
            return f"\\begin{{{other}}}"
        if name not in _PLAIN and self._is_formula(name):
            self._within = name
            return written
        option = self._take(_OPTION)
        self._take_arguments(name)
        return f"\n\n{_lead(name)}{_said(option)}"

    def _end(self, name: str, written: str) -> str:
        if name in self.known:
            return written
        other = self._alike(name)
        return f"\\end{{{other}}}" if other else "\n\n"

    def _is_formula(self, name: str) -> bool:
        """Return whether the environment that begins here has signs that only formulas, tables and drawings have.

        Some have a name that says it.
        """
        if _FORMULA_NAME.search(name):
            return True
        end = self.source.find(f"\\end{{{name}}}", self._at)
        body = self.source[self._at : end] if end >= 0 else ""
        return _FORMULA.search(_NO_TEXT.sub("", body)) is not None

    def _alike(self, name: str) -> str:
        """Return the environment that pandoc knows instead of one."""
        plain = name.rstrip("*").lower()
        return _ALIKE.get(name) or (plain if plain in self.theorems else "")

    def _take_arguments(self, name: str) -> None:
        for _ in range(_ARGUMENTS.get(name, 0)):
            self._take(_OPTION)
            self._take(_ARGUMENT)

    def _slide(self) -> str:
        """Return the beginning of a slide: a new page, and its title, which may be an argument."""
        self._take(_OVERLAY)
        self._take(_OPTION)
        title, below = self._argument(), self._argument()
        return f"\n\n{PAGE_MARK}\n\n{self._heading(title)}{below}\n\n"

    def _block(self) -> str:
        self._take(_OVERLAY)
        title = self._argument()
        return f"\n\n\\textbf{{{title}}}\n\n" if title else "\n\n"

    def _headed(self) -> str:
        self._take(_OPTION)
        return f"\n\n{self._heading(self._argument())}"

    def _heading(self, title: str) -> str:
        return f"\\{self.heading}{{{title}}}\n\n" if title else ""

    def _argument(self) -> str:
        """Take an argument in braces; return it in one line."""
        return " ".join((self._take(_ARGUMENT) or "").split())

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self.source, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match[1] if pattern.groups else match[0]


def _lead(name: str) -> str:
    """Return the heading or the words that an environment prints before its text."""
    if name in _SECTIONS:
        return f"\\section*{{{_SECTIONS[name]}}}\n\n"
    return f"{_LED[name]}: " if name in _LED else ""


def _said(option: str | None) -> str:
    """Return the words of an option: a title that it states, or the name of what begins."""
    stated = _STATED_TITLE.search(option or "")
    if stated:
        return f"\\textbf{{{(stated[1] or stated[2]).strip()}}}\n\n"
    return f"{option}. " if option and _WORDS.fullmatch(option) else ""
