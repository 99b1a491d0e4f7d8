r"""TeX source: prepare it for pandoc, which drops item labels and skips unknown environments and many tables.

Those are bibliographies, theorems whose kind is declared in another file, and tables in `\resizebox` or with a column
type that pandoc does not know. It takes the rows above the first rule for a header only if they are one.
"""

import re
from collections.abc import Iterator
from itertools import islice

from docmill.tasks.parse.pandoc.latex.tex_environments import unwrapped
from docmill.tasks.parse.pandoc.pandoc_tables import HEADER_MARK

_STEP = re.compile(
    r"(?P<comment>(?<!\\)%.*)|\\begin\s*\{(?P<begin>[\w*]+)\}|\\end\s*\{(?P<end>[\w*]+)\}"
    r"|\\item\s*\[(?P<label>(?:[^\[\]{}]|\{[^{}]*\})*)\]"
)
_LISTS = ("itemize", "enumerate", "compactitem", "compactenum")
_LITERAL = ("verbatim", "lstlisting", "minted", "Verbatim", "comment")
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
# Lengths, and rules below some columns, whose numbers would be read as words.
_LENGTH = re.compile(
    r"\\setlength\s*\{?\\\w+\}?\s*\{[^{}]*\}|\\(?:cline|cmidrule|hhline)(?:\([lr]*\))?(?:\[[^\]]*\])?\s*\{[^{}]*\}"
)
_BIBLIOGRAPHY = re.compile(r"\\begin\s*\{thebibliography\}\s*(?:\{[^{}]*\})?")
_ENTRY = re.compile(r"\\bibitem\s*(?:\[(?:[^\[\]{}]|\{[^{}]*\})*\])?\s*\{([^{}]*)\}")
_FRAME = re.compile(r"^[ \t]*\\frame\s*(?:<[^<>]*>)?(\[[^\]]*\])?\{(?!\s*\\titlepage)", re.MULTILINE)
_MAX_BRACES = 1_000  # of one slide: one that is not closed must not be looked for in the whole source, slide by slide
_SPECIAL = re.compile(r"[_&%#$]")
_THEOREMS = {
    "theorem": "Theorem", "thm": "Theorem", "lemma": "Lemma", "lem": "Lemma", "proposition": "Proposition",
    "prop": "Proposition", "corollary": "Corollary", "cor": "Corollary", "definition": "Definition",
    "defn": "Definition", "example": "Example", "remark": "Remark", "rem": "Remark", "claim": "Claim",
    "conjecture": "Conjecture", "assumption": "Assumption", "exercise": "Exercise", "problem": "Problem",
}  # fmt: skip
_LITERAL_TEXT = re.compile(r"\\begin\{(verbatim\*?|Verbatim|lstlisting|minted|comment)\}.*?\\end\{\1\}", re.DOTALL)
_ARGUMENT = r"(?:\s*\{(?:[^{}]|\{[^{}]*\})*\})"
_BOX = re.compile(
    rf"\\(?:resizebox\*?{_ARGUMENT}{{2}}|scalebox{_ARGUMENT}(?:\[[^\]]*\])?"
    rf"|(?:rotatebox|adjustbox|parbox|raisebox|colorbox)(?:\[[^\]]*\])*{_ARGUMENT}"
    r"|(?:makebox|framebox)(?:\[[^\]]*\])*|fbox|mbox|centerline|hbox|vbox)\s*\{[ \t]*(?:%.*\n)?"
)
_TABLE = re.compile(
    r"\\begin\{(?P<name>tabular\*?|tabularx|tabulary|longtable|supertabular|xtabular|NiceTabular\*?)\}"
    rf"(?P<width>(?:\[[^\]]*\])?(?:(?<=[*xy]\}}){_ARGUMENT})?(?:\[[^\]]*\])?)\s*\{{"
)
_UNKNOWN = re.compile(r"[^lcrpmbX|@><!*{}\s\d.]|\[")
_COLUMN = re.compile(
    rf"(?P<dropped>[@!><]{_ARGUMENT}|\|)|\*\s*\{{(?P<times>\d{{1,2}})\}}\s*\{{|(?P<type>[A-Za-z])(?:\[[^\]]*\])?{_ARGUMENT}*"
)
_SIDES = {"c": "c", "C": "c", "r": "r", "R": "r", "S": "r", "D": "r", "N": "r", "d": "r", "n": "r"}
_RULE = re.compile(
    r"\s*\\(?:toprule|midrule|bottomrule|hline|Xhline|specialrule|firsthline)\b(?:\[[^\]]*\])?(?:\{[^{}]*\})*"
)
_PARTIAL = re.compile(
    r"\s*\\(?:cmidrule|cline|hhline|cdashline)(?:\([^)]*\))?(?:\[[^\]]*\])?\s*\{[^{}]*\}(?:\([^)]*\))?"
)
_ROW_END = re.compile(r"(?<!\\)\\\\\*?(?:\[[^\]]*\])?|\\tabularnewline\b")
_FIRST_CELL = re.compile(
    r"(?:\s*&)*\s*"  # cells that one above covers are empty
    rf"(?:\\(?:multicolumn|multirow){_ARGUMENT}(?:\[[^\]]*\])?{_ARGUMENT}(?:\[[^\]]*\])?\s*\{{)*"
)
_MOST_HEADER_ROWS = 4  # more above the first rule are rows of data
_BRACE = re.compile(r"(?<!\\)[{}]")
_MAX_BOX_BRACES = 20_000  # of one box: one that is not closed must not be looked for in the whole source, box by box


def prepared(text: str) -> str:
    """Return a text with labels of items as words, bibliography entries as paragraphs, and theorems declared."""
    text = unwrapped(_with_frames(with_plain_tables(text)), _THEOREMS)
    if "\\bibitem" in text:
        text = _BIBLIOGRAPHY.sub(r"\\section*{References}", text).replace(r"\end{thebibliography}", "")
        text = _ENTRY.sub(lambda match: f"\n\n[{_SPECIAL.sub(_escaped, match[1])}] ", text).replace("\\newblock", " ")
    text = _LENGTH.sub("", _SPACING.sub(r"\1", text))
    text = _CELL_LINES.sub(lambda match: (match[1] or match[2] or "").replace("\\\\", " "), text)
    text = re.sub(r"\\A(?:nd|ND)\b", r"\\and", text)  # between authors, in the styles of some conferences
    return _declared(text) + (_with_labels(text) if re.search(r"\\item\s*\[", text) else text)


def _with_frames(text: str) -> str:
    """Return a text whose slides by the command `\\frame{...}` are environments."""
    parts, at = [], 0
    while found := _FRAME.search(text, at):
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

    return _STEP.sub(step, text)


def with_plain_tables(text: str) -> str:
    """Return a source with its tables outside of boxes, with known types of columns, and with marked headers."""
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
    """Return types of columns as pandoc knows them: only their sides are left where it does not know one."""
    return "".join(_sides(columns)) if _UNKNOWN.search(columns) else columns


def _body(text: str, name: str, end: int) -> tuple[str, int]:
    """Return the rows of a table from the brace behind its columns on, and where they end."""
    last = text.find(f"\\end{{{name}}}", end)
    if last < 0 or r"\begin{tabular" in text[end:last]:
        return "", end
    return "}" + _with_marked_header(text[end + 1 : last]), last


def closing(text: str, at: int, most: int) -> int:
    """Return the place of the brace that closes the one before `at`, -1 if none of the next `most` ones does."""
    depth = 1
    for brace in islice(_BRACE.finditer(text, at), most):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return -1


def _unboxed(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a source without the boxes around its tables, and where its literal texts are then."""
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
    """Return the rows of a table, with a mark in each row of its header if that has several."""
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
