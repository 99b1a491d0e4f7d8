"""TeX source: prepare it for pandoc, which drops item labels and skips unknown environments.

Those are bibliographies, and theorems whose kind is declared in another file.
"""

import re

from docmill.tasks.parse.pandoc.latex.tex_environments import unwrapped
from docmill.tasks.parse.pandoc.latex.tex_tables import closing, with_plain_tables

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
