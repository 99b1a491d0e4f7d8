r"""TeX tables: take them out of boxes, name their columns as pandoc knows them, and mark headers of several rows.

Pandoc skips a table in `\resizebox` or with a column type that it does not know, and takes the rows above the first
rule for a header only if they are one.
"""

import re
from collections.abc import Iterator
from itertools import islice

from docmill.tasks.parse.pandoc.pandoc_tables import HEADER_MARK

_LITERAL = re.compile(r"\\begin\{(verbatim\*?|Verbatim|lstlisting|minted|comment)\}.*?\\end\{\1\}", re.DOTALL)
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
_MAX_BRACES = 20_000  # of one box: one that is not closed must not be looked for in the whole source, box by box


def with_plain_tables(text: str) -> str:
    """Return a source with its tables outside of boxes, with known types of columns, and with marked headers."""
    if "tabular" not in text and "longtable" not in text:
        return text
    text, literal = _unboxed(text)
    parts, at = list[str](), 0
    for found in _TABLE.finditer(text):
        end = closing(text, found.end(), _MAX_BRACES)
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
        end = closing(text, box.end(), _MAX_BRACES)
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
    return [(one.start(), one.end()) for one in _LITERAL.finditer(text)]


def _sides(columns: str) -> Iterator[str]:
    at = 0
    while at < len(columns):
        found = _COLUMN.match(columns, at)
        at = found.end() if found else at + 1
        if found and found["times"]:
            end = closing(columns, at, _MAX_BRACES)
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
