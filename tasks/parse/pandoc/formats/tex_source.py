r"""TeX source: prepare it for pandoc, which drops item labels and skips unknown environments and many tables.

An environment that affects only the layout, such as `multicols`, is replaced by its content; a variant of a known
environment by that environment; a Beamer frame by a heading and its content, which begin a new page. Pandoc skips
tables in `\resizebox` or with an unknown column type, bibliographies, and theorems whose kind is declared in another
file; it takes the rows above a table's first rule as the header only if there is just one.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from docmill.tasks.parse.pandoc.formats.tex_algorithms import with_keywords
from docmill.tasks.parse.pandoc.formats.tex_tables import with_usual_tables
from docmill.tasks.parse.pandoc.inlines import PAGE_MARK
from docmill.tasks.parse.pandoc.pandoc_table import HEADER_MARK

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
_WORDS = re.compile(r"[^=\\\d]*[^\W\d_]{3}[^=\\]*")  # an option with text to read, such as the name of a theorem

_LITERAL_WORDS = """
    verbatim verbatim* Verbatim BVerbatim LVerbatim lstlisting minted comment alltt code filecontents filecontents*
    luacode luacode* pycode sagesilent tikzpicture pgfpicture picture pspicture axis forest circuitikz asy lilypond
    tikzcd CD algorithmic tabbing prooftree
"""
_LITERAL = frozenset(_LITERAL_WORDS.split())
"""Environments whose content is not examined: code, drawings, and lines of commands."""
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
    "listing": "figure", "listing*": "figure", "algorithm": "figure", "algorithm*": "figure", "algorithm2e": "figure",
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
"""Number of an environment's arguments that are lengths, numbers and names, and not text."""
_TITLED = ("block", "alertblock", "exampleblock")  # Beamer's boxes with a title
_SECTIONS = {
    "acknowledgments": "Acknowledgments", "acknowledgements": "Acknowledgements", "acknowledgment": "Acknowledgment",
    "acknowledgement": "Acknowledgement", "acks": "Acknowledgments", "ack": "Acknowledgments",
}  # fmt: skip
_LED = {"keywords": "Keywords", "keyword": "Keywords", "IEEEkeywords": "Keywords"}
_FRAME = "frame"
_PLAIN = frozenset((*_ARGUMENTS, *_SECTIONS, *_LED))
# Parts of text that may contain such signs: formulas, tables, code, labels and addresses.
_NO_TEXT = re.compile(
    r"(?<!\\)%.*|\$\$.*?\$\$|(?<!\\)\$[^$]*\$|\\\[.*?\\\]|\\\(.*?\\\)|\\verb\*?(.)[^\n]*?\1"
    r"|\\begin\{(" + "|".join(map(re.escape, sorted((_KNOWN | _LITERAL) - {"document"}))) + r")\}.*?\\end\{\2\}"
    r"|\\\w*(?:ref|label|cite\w*|url|href|input|includegraphics|index|path)\*?(?:\[[^\]]*\])*\{[^{}]*\}",
    re.DOTALL,
)
_FORMULA = re.compile(r"(?<!\\)[&^_]")
_FORMULA_NAME = re.compile("math|multline|equation|matrix|diagram|tikz|picture")
_LABEL_STEP = re.compile(
    r"(?P<comment>(?<!\\)%.*)|\\begin\s*\{(?P<begin>[\w*]+)\}|\\end\s*\{(?P<end>[\w*]+)\}"
    r"|\\item\s*\[(?P<label>(?:[^\[\]{}]|\{[^{}]*\})*)\]"
)
_LISTS = ("itemize", "enumerate", "compactitem", "compactenum")
_SIGN = re.compile(r"\W*|\$?\\[A-Za-z]+\$?")  # a label that is a kind of bullet
# List spacing; pandoc skips a list that begins with it.
_SPACING = re.compile(
    r"(\\begin\s*\{(?:description|itemize|enumerate)\}(?:\[[^\]]*\])?)"
    r"(?:\s*\\(?:tightlist\b|setlength\s*\{?\\\w+\}?\s*\{[^{}]*\}"
    r"|(?:itemsep|parskip|parsep|topsep|leftmargin)\s*=?\s*-?[\d.]+\s*\\?\w+))+"
)
# Lines within one cell, in notations that make pandoc skip the whole table.
_CELL_LINES = re.compile(
    r"\\begin\{tabular\}(?:\[[tbc]\])?\{@\{\}[lcr]@\{\}\}((?:(?!\\(?:begin|end)\{tabular\}).)*)\\end\{tabular\}"
    r"|\\(?:makecell|thead|shortstack)\*?(?:\[[^\]]*\])?\{((?:[^{}]|\{[^{}]*\})*)\}",
    re.DOTALL,
)
# Lengths, and rules below some columns, whose numbers would be read as text.
_LENGTH = re.compile(
    r"\\setlength\s*\{?\\\w+\}?\s*\{[^{}]*\}|\\(?:cline|cmidrule|hhline)(?:\([lr]*\))?(?:\[[^\]]*\])?\s*\{[^{}]*\}"
    r"|\\specialrule(?:\s*\{[^{}]*\}){3}"
)
_BIBLIOGRAPHY = re.compile(r"\\begin\s*\{thebibliography\}\s*(?:\{[^{}]*\})?")
_ENTRY = re.compile(r"\\bibitem\s*(?:\[(?:[^\[\]{}]|\{[^{}]*\})*\])?\s*\{([^{}]*)\}")
_FRAME_COMMAND = re.compile(r"^[ \t]*\\frame\s*(?:<[^<>]*>)?(\[[^\]]*\])?\{(?!\s*\\titlepage)", re.MULTILINE)
_MAX_BRACES = 1_000  # of one slide, so that unclosed slides do not each cause a search of the whole source
_SPECIAL = re.compile(r"[_&%#$]")
_THEOREMS = {
    "theorem": "Theorem", "thm": "Theorem", "lemma": "Lemma", "lem": "Lemma", "proposition": "Proposition",
    "prop": "Proposition", "corollary": "Corollary", "cor": "Corollary", "definition": "Definition",
    "defn": "Definition", "example": "Example", "remark": "Remark", "rem": "Remark", "claim": "Claim",
    "conjecture": "Conjecture", "assumption": "Assumption", "exercise": "Exercise", "problem": "Problem",
}  # fmt: skip
_LITERAL_TEXT = re.compile(r"\\begin\{(verbatim\*?|Verbatim|lstlisting|minted|comment)\}.*?\\end\{\1\}", re.DOTALL)
_BRACED = r"(?:\s*\{(?:[^{}]|\{[^{}]*\})*\})"
_BOX = re.compile(
    rf"\\(?:resizebox\*?{_BRACED}{{2}}|scalebox{_BRACED}(?:\[[^\]]*\])?"
    rf"|(?:rotatebox|adjustbox|parbox|raisebox|colorbox)(?:\[[^\]]*\])*{_BRACED}"
    r"|(?:makebox|framebox)(?:\[[^\]]*\])*|fbox|mbox|centerline|hbox|vbox)\s*\{[ \t]*(?:%.*\n)?"
)
_TABLE = re.compile(
    r"\\begin\{(?P<name>tabular\*?|tabularx|longtable)\}"
    rf"(?P<width>(?:\[[^\]]*\])?(?:(?<=[*xy]\}}){_BRACED})?(?:\[[^\]]*\])?)\s*\{{"
)
_UNKNOWN = re.compile(r"[^lcrpmbX|@><!*{}\s\d.]|\[")
_COLUMN = re.compile(
    rf"(?P<dropped>[@!><]{_BRACED}|\|)|\*\s*\{{(?P<times>\d{{1,2}})\}}\s*\{{|(?P<type>[A-Za-z])(?:\[[^\]]*\])?{_BRACED}*"
)
_SIDES = {"c": "c", "C": "c", "r": "r", "R": "r", "S": "r", "D": "r", "N": "r", "d": "r", "n": "r"}
_RULE = re.compile(
    r"\s*\\(?:toprule|midrule|bottomrule|hline|Xhline|specialrule|firsthline)\b(?:\[[^\]]*\])?(?:\{[^{}]*\})*"
)
_PARTIAL = re.compile(
    r"\s*\\(?:cmidrule|cline|hhline|cdashline)(?:\([^)]*\))?(?:\[[^\]]*\])?\s*\{[^{}]*\}(?:\([^)]*\))?"
)
_LAST_OF = re.compile(r"\\end(firsthead|head|foot|lastfoot)\b")
"""Ends the rows that a longtable prints on its first page, on each other page, below each but the last, and last."""
_TABLE_CAPTION = re.compile(rf"(?:\s*\\(?:caption(?:\[[^\]]*\])?|label){_BRACED}\s*(?:\\\\)?)*")
_ROW_END = re.compile(r"(?<!\\)\\\\\*?(?:\[[^\]]*\])?|\\tabularnewline\b")
_FIRST_CELL = re.compile(
    r"(?:\s*&)*\s*"  # cells that one above covers are empty
    rf"(?:\\(?:multicolumn|multirow){_BRACED}(?:\[[^\]]*\])?{_BRACED}(?:\[[^\]]*\])?\s*\{{)*"
)
_MOST_HEADER_ROWS = 4  # more rows above the first rule are data
_BRACE = re.compile(r"(?<!\\)[{}]")
_MAX_BOX_BRACES = 20_000  # of one box, so that unclosed boxes do not each cause a search of the whole source


def unwrapped(text: str, theorems: Collection[str]) -> str:
    """Return a source without environments unknown to pandoc; those named in `theorems` are known."""
    known = _KNOWN | _LITERAL | frozenset(_DECLARED.findall(text))
    return _Unwrapping(text, known, theorems, _level_of_slides(text)).text()


def _level_of_slides(text: str) -> str:
    """Return the command for slide headings: one level below the headings in a source."""
    if re.search(r"\\subsection\b", text):
        return "subsubsection"
    return "subsection" if re.search(r"\\section\b", text) else "section"


@dataclass(slots=True)
class _Unwrapping:
    """Walks the beginnings and ends of environments; `_within` is the literal environment around the position."""

    source: str
    known: frozenset[str]
    theorems: Collection[str]
    heading: str
    _at: int = 0
    _within: str = ""

    def text(self) -> str:
        """Return the rewritten source."""
        parts: list[str] = []
        while step := _STEP.search(self.source, self._at):
            parts.append(self.source[self._at : step.start()])
            self._at = step.end()
            parts.append(self._instead(step))
        return "".join([*parts, self.source[self._at :]])

    def _instead(self, step: re.Match[str]) -> str:
        """Return the replacement of a match, and move past the text that it uses."""
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
        """Return whether the environment that begins here has signs found only in formulas, tables and drawings.

        For some, the name is enough.
        """
        if _FORMULA_NAME.search(name):
            return True
        end = self.source.find(f"\\end{{{name}}}", self._at)
        body = self.source[self._at : end] if end >= 0 else ""
        return _FORMULA.search(_NO_TEXT.sub("", body)) is not None

    def _alike(self, name: str) -> str:
        """Return the environment that pandoc knows in place of a variant."""
        plain = name.rstrip("*").lower()
        return _ALIKE.get(name) or (plain if plain in self.theorems else "")

    def _take_arguments(self, name: str) -> None:
        for _ in range(_ARGUMENTS.get(name, 0)):
            self._take(_OPTION)
            self._take(_ARGUMENT)

    def _slide(self) -> str:
        """Return the beginning of a slide: a new page and its title, which may be an argument."""
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
        """Take an argument in braces; return it as one line."""
        return " ".join((self._take(_ARGUMENT) or "").split())

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self.source, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match[1] if pattern.groups else match[0]


def _lead(name: str) -> str:
    """Return the heading or text that an environment prints before its content."""
    if name in _SECTIONS:
        return f"\\section*{{{_SECTIONS[name]}}}\n\n"
    return f"{_LED[name]}: " if name in _LED else ""


def _said(option: str | None) -> str:
    """Return the text of an option: a title, or the name of what begins."""
    stated = _STATED_TITLE.search(option or "")
    if stated:
        return f"\\textbf{{{(stated[1] or stated[2]).strip()}}}\n\n"
    return f"{option}. " if option and _WORDS.fullmatch(option) else ""


def prepared(text: str) -> str:
    """Return a text with item labels as words, bibliography entries as paragraphs, and theorems declared."""
    text = unwrapped(_with_frames(with_plain_tables(with_usual_tables(with_keywords(text)))), _THEOREMS)
    if "\\bibitem" in text:
        text = _BIBLIOGRAPHY.sub(r"\\section*{References}", text).replace(r"\end{thebibliography}", "")
        text = _ENTRY.sub(lambda match: f"\n\n[{_SPECIAL.sub(_escaped, match[1])}] ", text).replace("\\newblock", " ")
    text = _LENGTH.sub("", _SPACING.sub(r"\1", text))
    text = _CELL_LINES.sub(lambda match: (match[1] or match[2] or "").replace("\\\\", " "), text)
    text = re.sub(r"\\A(?:nd|ND)\b", r"\\and", text)  # between authors, in some conference styles
    return _declared(text) + (_with_labels(text) if re.search(r"\\item\s*\[", text) else text)


def _with_frames(text: str) -> str:
    """Return a text whose slides written as `\\frame{...}` are environments."""
    parts, at = [], 0
    while found := _FRAME_COMMAND.search(text, at):
        end = closing(text, found.end(), _MAX_BRACES)
        if end < 0:
            break
        parts += [text[at : found.start()], f"\\begin{{frame}}{found[1] or ''}{text[found.end() : end]}\\end{{frame}}"]
        at = end + 1
    return "".join([*parts, text[at:]])


def _escaped(sign: re.Match[str]) -> str:
    return "\\" + sign[0]


def _declared(text: str) -> str:
    """Return declarations of the theorems that a text uses without declaring them."""
    used = set(re.findall(r"\\begin\s*\{(\w+)\}", text)) & _THEOREMS.keys()
    known = set(
        re.findall(
            r"\\(?:newtheorem\*?|newenvironment|spnewtheorem\*?|declaretheorem(?:\[[^\]]*\])?)\s*\{(\w+)\}", text
        )
    )
    return "".join(f"\\newtheorem{{{name}}}{{{_THEOREMS[name]}}}\n" for name in sorted(used - known))


def _with_labels(text: str) -> str:
    held: list[str] = []

    def step(match: re.Match[str]) -> str:
        within = held[-1] if held else ""
        if match["end"]:
            if within == match["end"]:
                held.pop()
        elif match["begin"] and within not in _LITERAL:
            held.append(match["begin"])
        label = match["label"]
        if label is None or within not in _LISTS or _SIGN.fullmatch(label.strip()):
            return match[0]
        return f"\\item {{{label}}} "

    return _LABEL_STEP.sub(step, text)


def with_plain_tables(text: str) -> str:
    """Return a source with its tables outside boxes, with known column types and marked headers."""
    if "tabular" not in text and "longtable" not in text:
        return text
    text, literal = _unboxed(text)
    parts, at = list[str](), 0
    for found in _TABLE.finditer(text):
        end = closing(text, found.end(), _MAX_BOX_BRACES)
        if found.start() >= at and end >= 0 and not _is_within(found.start(), literal):
            parts += [text[at : found.end()], _plain_columns(text[found.end() : end])]
            body, at = _body(text, found["name"], end)
            parts.append(body)
    return "".join([*parts, text[at:]])


def _is_within(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(first <= place < last for first, last in spans)


def _plain_columns(columns: str) -> str:
    """Return column types that pandoc knows: if any is unknown, only their alignments."""
    return "".join(_sides(columns)) if _UNKNOWN.search(columns) else columns


def _body(text: str, name: str, end: int) -> tuple[str, int]:
    """Return the rows of a table from the brace after its columns onwards, and where they end."""
    last = text.find(f"\\end{{{name}}}", end)
    if last < 0 or r"\begin{tabular" in text[end:last]:
        return "", end
    body = _printed_once(text[end + 1 : last])
    start = _TABLE_CAPTION.match(body).end()  # type: ignore[union-attr]
    return "}" + body[:start] + _with_marked_header(body[start:]), last


def _printed_once(body: str) -> str:
    """Return the rows of a table without the heads and feet that it repeats on other pages."""
    at, parts = 0, dict[str, str]()
    for found in _LAST_OF.finditer(body):
        parts[found[1]] = body[at : found.start()]
        at = found.end()
    return parts.get("firsthead", parts.get("head", "")) + body[at:]


def closing(text: str, at: int, most: int) -> int:
    """Return the position of the brace that closes the one before `at`, or -1 if none of the next `most` does."""
    depth = 1
    for brace in islice(_BRACE.finditer(text, at), most):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return -1


def _unboxed(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a source without the boxes around its tables, and the new positions of its literal texts."""
    literal, cuts = _literal(text), list[tuple[int, int]]()
    for box in _BOX.finditer(text):
        end = closing(text, box.end(), _MAX_BOX_BRACES)
        if end > 0 and _TABLE.search(text, box.end(), end) and not _is_within(box.start(), literal):
            cuts += [(box.start(), box.end()), (end, end + 1)]
    if not cuts:
        return text, literal
    parts, at = list[str](), 0
    for start, end in sorted(cuts):
        parts, at = [*parts, text[at : max(at, start)]], max(at, end)
    whole = "".join([*parts, text[at:]])
    return whole, _literal(whole)


def _literal(text: str) -> list[tuple[int, int]]:
    return [(one.start(), one.end()) for one in _LITERAL_TEXT.finditer(text)]


def _sides(columns: str) -> Iterator[str]:
    at = 0
    while at < len(columns):
        found = _COLUMN.match(columns, at)
        at = found.end() if found else at + 1
        if found and found["times"]:
            end = closing(columns, at, _MAX_BOX_BRACES)
            yield "".join(_sides(columns[at:end])) * int(found["times"]) if end > 0 else ""
            at = max(at, end + 1)
        elif found and found["type"]:
            yield _SIDES.get(found["type"], "l")


def _with_marked_header(body: str) -> str:
    """Return the rows of a table, with a mark in each header row if there are several."""
    rule = _RULE.match(body)
    if rule is None:
        return body
    starts, at, spanning = list[int](), rule.end(), False
    while row := _ROW_END.search(body, at):
        starts.append(at)
        at = row.end()
        while partial := _PARTIAL.match(body, at):
            at, spanning = partial.end(), True
        if ends := _RULE.match(body, at):
            break
    else:
        return body
    grouped = spanning or r"\multi" in body[: ends.start()] or r"\midrule" in ends[0]
    if not 1 < len(starts) <= _MOST_HEADER_ROWS or not grouped or not _ROW_END.search(body, ends.end()):
        return body
    for start in reversed(starts):
        place = _FIRST_CELL.match(body, _behind_partials(body, start)).end()  # type: ignore[union-attr]
        body = body[:place] + HEADER_MARK + body[place:]
    return body


def _behind_partials(body: str, at: int) -> int:
    while partial := _PARTIAL.match(body, at):
        at = partial.end()
    return at
