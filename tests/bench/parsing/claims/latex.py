"""LaTeX: how many headings come back of sources whose environments and macros pandoc does not know."""

import random
from collections.abc import Iterator

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.parsing.claims.claim import Claim

_SOURCES = 40
_AROUND = (
    "CJK*}{UTF8}{gbsn}", "spacing}{1.5}", "multicols}{2}", "landscape}", "tcolorbox}[title=Note]", "sloppypar}",
    "adjustwidth}{1cm}{1cm}", "mdframed}", "onehalfspace}", "framed}", "singlespace*}", "leftbar}",
)  # fmt: skip
_MACROS = ("\\vspace{1em}", "\\mill{a}", "\\todo[inline]{b}", "\\cref{c}", "\\SI{3}{\\metre}", "} ", "\\begin{foo")
"""Commands that nothing declares; the last two are damage."""
_CLASSES = ("article", "IEEEtran", "revtex4-2", "llncs", "acmart", "book")
_NOUNS = ("mills", "rivers", "weirs", "gates", "ropes", "anchors", "sluices", "ponds")
_DAMAGED = 0.1  # of the paragraphs


def measure() -> Iterator[Claim]:
    """Yield the claims on headings of articles and on titles of slides."""
    articles, slides = Claim("headings of LaTeX in unknown environments"), Claim("titles of Beamer frames")
    for seed in range(_SOURCES):
        chance = random.Random(seed)
        _judge(articles, *_article(chance), str(seed))
        _judge(slides, *_talk(chance), str(seed))
    yield from (articles, slides)


def _judge(claim: Claim, source: str, wrote: list[str], name: str) -> None:
    parsed = parse(source.encode(), FileType("latex"), ParseOptions())
    found = [str(one.attributes["text"]) for one in parsed.elements if one.kind == "title"]
    for one in wrote:
        claim.judge(one in found, f"{name}: {one}")
    for one in found:
        if one not in wrote:
            claim.refute(f"{name}: {one}, which is none")


def _article(chance: random.Random) -> tuple[str, list[str]]:
    body, wrote = [], []
    for at in range(chance.randint(4, 10)):
        level = chance.choice(("section", "section", "subsection", "subsubsection"))
        wrote.append(f"Of {chance.choice(_NOUNS)} {at}")
        parts = [f"\\{level}{{{wrote[-1]}}}\\label{{s{at}}}", f"Text {at} of it.", _paragraph(chance)]
        if chance.random() < 0.5:
            around = chance.choice(_AROUND)
            parts = [f"\\begin{{{around}", *parts, f"\\end{{{around.partition('}')[0]}}}"]
        body.append("\n\n".join(parts))
    return _source(chance.choice(_CLASSES), "\n\n".join(body)), wrote


def _paragraph(chance: random.Random) -> str:
    broken = chance.random() < _DAMAGED
    macro = chance.choice(_MACROS[-2:] if broken else _MACROS[:-2])
    return f"More {macro} of it."


def _talk(chance: random.Random) -> tuple[str, list[str]]:
    body, wrote = [], []
    for at in range(chance.randint(4, 10)):
        title = f"Of {chance.choice(_NOUNS)} {at}"
        wrote.append(title)
        head = f"{{{title}}}" if chance.random() < 0.5 else f"\n\\frametitle{{{title}}}"
        columns = "\\begin{columns}\\column{.5\\textwidth}\nLeft.\n\\column{.5\\textwidth}\nRight.\n\\end{columns}"
        inside = chance.choice(("\\begin{itemize}\\item<1-> a \\pause\\item b\\end{itemize}", columns, "Said."))
        body.append(f"\\begin{{frame}}{chance.choice(('', '[fragile]', '<1->'))}{head}\n{inside}\n\\end{{frame}}")
    return _source("beamer", "\n".join(body)), wrote


def _source(kind: str, body: str) -> str:
    return f"\\documentclass{{{kind}}}\n\\usepackage{{x}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
