"""Which words of contracts and reports are taken for furniture, and which of their heads and feet are left as text.

    python -m tests.bench.parsing.furniture [--half look|report] [--failures N] [--keep FOLDER]

The documents are written here, so that it is known what stands at their heads and feet, and printed by Chromium and
WeasyPrint, whichever is installed. Each has numbered clauses set in one of several ways, and heads and feet in another.
"""

import argparse
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.table import Figure, show

_NOUNS = ("party", "supplier", "buyer", "notice", "period", "claim", "fee", "term", "invoice", "order", "delivery")
_VERBS = ("shall deliver", "may assign", "must notify", "will indemnify", "has accepted", "shall not disclose")
_ENDS = ("within thirty days", "without undue delay", "in writing", "at its own cost", "upon request")
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 120  # for one document: a browser starts in one or two


@dataclass(frozen=True)
class Margins:
    """What stands at the heads and feet: CSS by place, and the patterns of its lines as they are printed."""

    name: str
    css: str
    patterns: tuple[str, ...]


def _box(place: str, content: str, more: str = "") -> str:
    return f"@{place} {{ content: {content}; font-size: 9pt; {more} }}"


def _page(*boxes: str, side: str = "") -> str:
    return f"@page {side} {{ {' '.join(boxes)} }}"


_PAGE, _PAGES = "counter(page)", "counter(pages)"
MARGINS = (
    Margins("number", _page(_box("bottom-center", _PAGE)), (r"\d+",)),
    Margins("dashes", _page(_box("bottom-center", f'"- " {_PAGE} " -"')), (r"- \d+ -",)),
    Margins("of", _page(_box("bottom-right", f'"Page " {_PAGE} " of " {_PAGES}')), (r"Page \d+ of \d+",)),
    Margins(
        "title and of",
        _page(_box("top-left", f'"SUPPLY AGREEMENT Page " {_PAGE} " of " {_PAGES}')),
        (r"SUPPLY AGREEMENT Page \d+ of \d+",),
    ),
    Margins(
        "confidential",
        _page(
            _box("top-right", '"Strictly Confidential"'),
            _box("bottom-left", '"v2.1 4 March 2024"'),
            _box("bottom-right", _PAGE),
        ),
        (r"Strictly Confidential", r"v2\.1 4 March 2024( \d+)?", r"\d+"),
    ),
    Margins("roman", _page(_box("bottom-center", "counter(page, lower-roman)")), (r"[ivxlc]+",)),
    Margins(
        "large head",
        _page(
            _box("top-center", '"MASTER SERVICES AGREEMENT"', "font-size: 16pt;"),
            _box("bottom-center", f'"A-" {_PAGE}'),
        ),
        (r"MASTER SERVICES AGREEMENT", r"A-\d+"),
    ),
    Margins("none", "", ()),
    Margins(
        "outer",
        _page(_box("top-left", _PAGE), _box("top-right", '"Supply Agreement"'), side=":left")
        + _page(_box("top-right", _PAGE), _box("top-left", '"Ann and Bert Ltd"'), side=":right"),
        (r"(\d+ )?Supply Agreement", r"Ann and Bert Ltd( \d+)?", r"\d+"),
    ),
    Margins(
        "restart",
        _page(_box("bottom-center", f'"Page " {_PAGE}')) + ".signed { counter-reset: page 1 }",
        (r"Page \d+",),
    ),
)
"""Forms of heads and feet."""

STYLES = ("hanging", "section", "decimal", "bare")
"""Forms of the numbers of clauses."""
REPORT = "report"  # chapters of running text, tables and numbered lists, whose rows begin pages


@dataclass
class Written:
    """A document: its HTML, and what stands at its heads and feet."""

    name: str
    html: str
    margins: Margins


def documents() -> Iterator[Written]:
    """Yield contracts: each form of heads and feet with each form of numbers, of 3 to 30 pages; then reports."""
    for at, margins in enumerate(MARGINS):
        for number, style in enumerate(STYLES):
            seed = at * len(STYLES) + number
            yield _contract(f"{margins.name} {style}", margins, style, random.Random(seed))
    for at, margins in enumerate(MARGINS):
        yield _report(margins, random.Random(f"report {at}"))


def _contract(name: str, margins: Margins, style: str, chance: random.Random) -> Written:
    articles = chance.choice((4, 8, 14, 24))
    parts = ["<h1>Supply Agreement</h1>"]
    for article in range(1, articles + 1):
        parts += _article(article, style, chance)
    parts += [_signatures(chance) for _ in range(chance.choice((1, 3)))]
    size = chance.choice((10, 11, 12))
    css = f"""@page {{ size: A4; margin: {chance.choice((18, 22, 28))}mm }}
        {margins.css}
        body {{ font: {size}pt serif; }} h1 {{ font-size: {size + 6}pt; text-align: center }}
        .clause {{ display: flex; margin: 6pt 0 }} .clause > b, .clause > span {{ width: 44pt; flex: none }}
        .signed {{ break-before: page }}"""
    head = f"<head><title>{name}</title><style>{css}</style></head>"
    html = f"<!doctype html><html>{head}<body>{''.join(parts)}</body></html>"
    return Written(name, html, margins)


def _report(margins: Margins, chance: random.Random) -> Written:
    """Return a report: chapters of text, tables of figures and steps, which go on from page to page."""
    parts = ["<h1>Annual Report</h1>"]
    for chapter in range(1, chance.choice((4, 7, 11))):
        parts += [f"<h2>{chapter} {chance.choice(_NOUNS).title()} of the year</h2>"]
        parts += [f"<p>{_sentences(chance)}</p>" for _ in range(chance.randint(2, 6))]
        rows = [f"<tr><td>{year}</td><td>{chance.choice(_NOUNS)}</td><td>{chance.randint(1, 40)}</td></tr>"
                for year in range(1990, 1990 + chance.randint(8, 30))]  # fmt: skip
        steps = [f"<li>The {chance.choice(_NOUNS)} {chance.choice(_VERBS)}</li>" for _ in range(chance.randint(3, 12))]
        parts += [f"<table>{''.join(rows)}</table><ol>{''.join(steps)}</ol>"]
    css = f"""@page {{ size: A4; margin: {chance.choice((18, 22, 28))}mm }} {margins.css}
        body {{ font: {chance.choice((10, 11))}pt sans-serif; }} h1 {{ font-size: 22pt }}
        table {{ border-collapse: collapse; width: 80% }} td {{ border-bottom: .5pt solid #888 }}"""
    name = f"{margins.name} {REPORT}"
    head = f"<head><title>{name}</title><style>{css}</style></head>"
    return Written(name, f"<!doctype html><html>{head}<body>{''.join(parts)}</body></html>", margins)


def _article(article: int, style: str, chance: random.Random) -> list[str]:
    numbers = {"section": f"ARTICLE {article}", "decimal": str(article)}
    title = chance.choice(_NOUNS).title() + " and " + chance.choice(_NOUNS).title()
    parts = [f"<p><b>{numbers.get(style, f'{article}.')} {title}</b></p>"]
    clauses = range(1, chance.randint(3, 7))
    return parts + [_clause(article, clause, style, _sentences(chance)) for clause in clauses]


def _clause(article: int, clause: int, style: str, text: str) -> str:
    if style == "hanging":
        return f'<div class="clause"><span>{article}.{clause}</span><div>{text}</div></div>'
    if style == "section":
        return f"<p><u>Section {article}.{clause:02}</u></p><p>{text}</p>"
    if style == "decimal":
        return f"<p>{article}.{clause} {text}</p>"
    return f'<div class="clause"><span>{clause}.</span><div>{text}</div></div>'


def _sentences(chance: random.Random) -> str:
    return " ".join(
        f"The {chance.choice(_NOUNS)} {chance.choice(_VERBS)} the {chance.choice(_NOUNS)} {chance.choice(_ENDS)}."
        for _ in range(chance.randint(2, 9))
    )


def _signatures(chance: random.Random) -> str:
    blank = "_" * 24
    party = chance.choice(_NOUNS).upper()
    return (
        f'<div class="signed"><p>IN WITNESS WHEREOF the parties have signed.</p><p>THE {party}</p>'
        f"<p>By: {blank}</p><p>Name: {blank}</p><p>Title: {blank}</p></div>"
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def by_chromium(html: str) -> bytes | None:
    """Return a page printed by Chromium, or None where there is none."""
    program = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        page, pdf = Path(folder, "page.html"), Path(folder, "page.pdf")
        page.write_text(html)
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
        subprocess.run(
            [*command, f"--print-to-pdf={pdf}", page.as_uri()], check=True, capture_output=True, timeout=_SECONDS
        )
        return pdf.read_bytes()


def by_weasyprint(html: str) -> bytes | None:
    """Return a page printed by WeasyPrint, or None where it is not installed."""
    try:
        weasyprint = import_module("weasyprint")
    except ImportError:
        return None
    printed: bytes = weasyprint.HTML(string=html).write_pdf()
    return printed


PROGRAMS = {"chromium": by_chromium, "weasyprint": by_weasyprint}


@dataclass
class Score:
    """What was read of one document: body lines taken for furniture, and heads and feet left in the text."""

    dropped: list[str]
    left: list[str]
    body: int
    margins: int


def judge(parsed: Parsed, margins: Margins) -> Score:
    """Return what of a document's lines is on the wrong side."""
    furniture = [line for element in parsed.elements if element.kind == "furniture" for line in _lines(parsed, element)]
    body = [line for element in parsed.elements if element.kind != "furniture" for line in _lines(parsed, element)]
    true = re.compile("|".join(margins.patterns) or r"\0")
    dropped = [line for line in furniture if not true.fullmatch(line)]
    left = [line for line in body if true.fullmatch(line)]
    return Score(dropped, left, sum(len(_words(line)) for line in body), len(furniture) - len(dropped) + len(left))


def _lines(parsed: Parsed, element: Element) -> list[str]:
    return [line.strip() for line in parsed.text[element.start_char : element.end_char].split("\n") if line.strip()]


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--half", choices=("look", "report"), default="report", help="of the documents")
    arguments.add_argument("--failures", type=int, default=0, help="how many wrong lines to print of each document")
    arguments.add_argument("--keep", type=Path, help="folder to keep the PDFs in")
    chosen = arguments.parse_args()
    wanted = [one for at, one in enumerate(documents()) if (at + at // len(STYLES)) % 2 == (chosen.half == "report")]
    figures = []
    for program, printed in PROGRAMS.items():
        found = [_score(one, f"{one.name} {program}", printed(one.html), chosen) for one in wanted]
        figures += _figures(program, [score for score in found if score])
    show("Words of contracts and reports taken for furniture, heads and feet left", figures)


def _score(written: Written, name: str, data: bytes | None, chosen: argparse.Namespace) -> Score | None:
    if data is None:
        return None
    if chosen.keep:
        chosen.keep.mkdir(parents=True, exist_ok=True)
        (chosen.keep / f"{name}.pdf").write_bytes(data)
    score = judge(parse(data, FileType("pdf"), ParseOptions()), written.margins)
    for kind, lines in (("dropped", score.dropped), ("left", score.left)):
        if lines and chosen.failures:
            print(f"{name}: {kind} {len(lines)}: {lines[: chosen.failures]}")
    return score


def _figures(program: str, found: list[Score]) -> list[Figure]:
    dropped = sum(len(_words(line)) for score in found for line in score.dropped)
    left, margins = sum(len(score.left) for score in found), sum(score.margins for score in found)
    return [
        Figure(f"{program}: documents", len(found), "files"),
        Figure(f"{program}: words of the body dropped of {sum(score.body for score in found)}", dropped, "words"),
        Figure(f"{program}: heads and feet left of {margins}", 100 * left / max(margins, 1), "%"),
    ]


if __name__ == "__main__":
    main()
