"""LaTeX: environments that pandoc does not know, slides, and sources of which it refuses a part."""

import sys

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pandoc.formats import source_parts
from docmill.tasks.parse.pandoc.formats.rst_org_latex import read_tex_parts
from docmill.tasks.parse.pandoc.formats.tex_source import prepared


def read(body: str, top: str = "") -> Parsed:
    source = f"\\documentclass{{article}}\n{top}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    return parse(source.encode(), FileType("latex"), ParseOptions())


def headings(parsed: Parsed) -> list[tuple[int, int, str]]:
    return [(one.level, one.page, one.attributes["text"]) for one in parsed.elements if one.kind == "title"]


LAYOUT = [
    "CJK*}{UTF8}{gbsn}", "spacing}{1.5}", "multicols}{2}", "landscape}", "flushleft}", "adjustwidth}{1cm}{1cm}",
    "titlepage}", "widetext}", "small}", "minipage}{3cm}", "an-unknown_one}".replace("_", "-"),
]  # fmt: skip


def test_what_only_lays_out_keeps_its_headings_and_shows_no_words_of_its_own() -> None:
    body = "".join(
        f"\\begin{{{name}\n\\section{{Head {at}}}\n\nText {at}.\n\\end{{{name.partition('}')[0]}}}\n"
        for at, name in enumerate(LAYOUT)
    )
    parsed = read(body)
    assert parsed.text == "\n\n".join(f"# Head {at}\n\nText {at}." for at in range(len(LAYOUT)))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("\\begin{tcolorbox}[title={Note, well},colback=red]\nSaid.\n\\end{tcolorbox}", "Note, well\n\nSaid."),
        ("\\begin{compactitem}\n\\item a\n\\end{compactitem}", "- a"),
        ("\\begin{enumerate*}[label=(\\roman*)]\n\\item a\n\\end{enumerate*}", "1. a"),
        ("\\begin{acknowledgments}\nThanks.\n\\end{acknowledgments}", "# Acknowledgments\n\nThanks."),
        ("\\begin{IEEEkeywords}\nmills, rivers\n\\end{IEEEkeywords}", "Keywords: mills, rivers"),
        ("\\begin{Theorem}[Main]\nAll is well.\n\\end{Theorem}", "Theorem 1 (Main). All is well."),
        ("\\begin{wrapfigure}[12]{r}{3cm}\n\\caption{A mill.}\n\\end{wrapfigure}", "A mill."),
        ("\\begin{question}[Of mills and rivers]\nWhy?\n\\end{question}", "Of mills and rivers. Why?"),
        ("\\begin{align} a &= \\begin{cases} 1 \\\\ 2 \\end{cases} \\end{align}",
         "$$\\begin{align} a &= \\begin{cases} 1 \\\\ 2 \\end{cases} \\end{align}$$"),
        ("\\begin{verbatim}\n\\begin{multicols}{2}\n\\end{verbatim}", "```\n\\begin{multicols}{2}\n```"),
        ("\\begin{narrowmultline}\na_1 b^2\n\\end{narrowmultline}", "a_1 b^2"),
        ("\\begin{claimbox}\nAs $a_1$ in \\cite{a_b} so on.\n\\end{claimbox}", "As $a_1$ in [a_b] so on."),
        ("Say \\verb|\\begin{frame}| once. % \\begin{multicols}{2}", "Say `\\begin{frame}` once."),
    ],
)  # fmt: skip
def test_an_environment_is_read_as_what_it_prints(written: str, text: str) -> None:
    assert read(written).text == text


def test_environments_that_a_source_declares_are_what_it_declares() -> None:
    top = "\\newtheorem{multicols}{Claim}\n\\newenvironment{boxed}{\\begin{mdframed}[frametitle=Box]}{\\end{mdframed}}"
    parsed = read("\\begin{multicols}\nIt is.\n\\end{multicols}\n\n\\begin{boxed}\nIn it.\n\\end{boxed}", top)
    assert parsed.text == "Claim 1. It is.\n\nBox\n\nIn it."


def test_frames_are_slides_below_their_sections() -> None:
    body = """
\\section{Rivers}
\\begin{frame}[fragile]{Floods}{in March}
\\begin{itemize}
\\item<1-> water \\pause
\\item<2-> \\alert<3>{mud}
\\end{itemize}
\\begin{block}{Beware}
It rises.
\\end{block}
\\end{frame}
\\begin{frame}<presentation:0>
\\frametitle{Bridges}
\\begin{columns}
\\begin{column}{0.5\\textwidth}
Left.
\\end{column}
\\column{0.5\\textwidth}
Right.
\\end{columns}
\\end{frame}
\\begin{frame}
No title.
\\end{frame}"""
    parsed = read(body)
    assert headings(parsed) == [(1, 0, "Rivers"), (2, 1, "Floods"), (2, 2, "Bridges")]
    assert parsed.text == (
        "# Rivers\n\n## Floods\n\nin March\n\n- water\n- mud\n\nBeware\n\nIt rises.\n\n"
        "## Bridges\n\nLeft.\n\nRight.\n\n"
        "No title."
    )
    assert parsed.elements[-1].page == 3


LOOP = "\\newcommand{\\mill}[1]{\\mill{#1}\\mill{#1}}"


def test_a_macro_that_fails_costs_its_paragraph_and_not_the_document() -> None:
    body = (
        "\\maketitle\n\\section{One}\nText one.\n\n\\section{Two}\nText \\river{two}.\n\n\\begin{itemize}\n\\item a\n\n"
    )
    body += "\\subsection{Three}\nMore } text.\n\nLast."
    parsed = read(body, "\\title{Of mills}\n" + LOOP)
    assert headings(parsed) == [(1, 0, "Of mills"), (2, 0, "One"), (2, 0, "Two"), (3, 0, "Three")]
    assert parsed.metadata["read_as"].startswith("LaTeX in parts, 2 of them as text; cannot be read as latex: ")
    assert [text for text in ("Text two.", "\n\na\n\n", "More text.", "Last.") if text not in parsed.text] == []


def test_a_preamble_that_fails_costs_its_macros() -> None:
    parsed = read("\\section{One}\nText \\mill{one}.", LOOP)
    assert parsed.text == "# One\n\nText one."
    assert parsed.metadata["read_as"].startswith("LaTeX without its own macros; cannot be read as latex: Loop")


def test_what_pandoc_refuses_is_looked_for_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_parts, "_MAX_CALLS", 4)
    body = "\n\n".join(f"Text {at}{' }' if at > 4 else ''} here." for at in range(10))
    tree, raw = read_tex_parts(f"\\begin{{document}}{body}\\end{{document}}", "latex+raw_tex", sys.maxsize)
    assert raw == 2  # of them pieces of several paragraphs
    assert str(tree["blocks"]).count("Text") == 10
    with pytest.raises(Rejected, match="corrupt"):
        read_tex_parts("\\begin{foo text.", "latex+raw_tex", sys.maxsize)


@pytest.mark.parametrize("damage", ["\\begin{frame}", "\\end{frame}", "\\begin{CJK*}{", "\\begin{verbatim} \\end{x}"])
def test_environments_without_an_end_lose_nothing(damage: str) -> None:
    assert "Text." in prepared(f"{damage}\nText.")


def test_slides_by_a_command_are_slides() -> None:
    body = "\\section{One}\n\\frame{\\frametitle{Wheels} They {turn}.}\n\\frame[plain]{\\frametitle{Gates} They shut.}"
    parsed = read(body, "\\documentclass{beamer}")
    assert [(page, text) for _, page, text in headings(parsed)] == [(0, "One"), (1, "Wheels"), (2, "Gates")]
    assert "They turn." in parsed.text
    unclosed = prepared("\n".join(["\\frame{\\frametitle{x} and so on"] * 3000))
    assert unclosed.count("frametitle") + unclosed.count("section") >= 3000


def test_macros_of_the_preamble_are_known_to_the_parts_of_a_source_that_is_refused() -> None:
    top = "\\documentclass{article}\n\\newcommand{\\mill}[2][wheel]{the #1 of \\emph{#2}}"
    parsed = read("\\section{One} It is \\mill{oak}.\n\n\\section{Two} A brace } too many.\n", top)
    assert parsed.metadata["read_as"].startswith("LaTeX in parts")
    assert "It is the wheel of oak." in parsed.text


def test_a_raised_number_alone_in_dollars_is_no_formula() -> None:
    parsed = read("H$_2$O, 5 m$^{2}$, CO$_{\\text{max}}$, $x^2$.\n\n\\addcontentsline{toc}{section}{Extra}")
    assert parsed.text == "H~2~O, 5 m^2^, CO~max~, $x^2$."


TWO_ROWS = """\\begin{tabular}{lcc}\\multirow{2}{*}{Type} & \\multicolumn{2}{c}{Output}\\\\ & min & max\\\\\\hline
oak & 5 & 25\\\\ elm & 80 & 90\\\\\\end{tabular}"""
BOLD = "\\begin{tabular}{lc}\\textbf{2019} & \\textbf{2020}\\\\ 5 & 6\\\\\\end{tabular}"


@pytest.mark.parametrize(
    ("table", "header"), [(TWO_ROWS, ["Type", "Output min", "Output max"]), (BOLD, ["2019", "2020"])]
)
def test_a_header_of_two_rows_or_in_bold_names_the_columns(table: str, header: list[str]) -> None:
    drawn = next(one for one in read(table).elements if one.kind == "table")
    assert (drawn.attributes["cells"][0], drawn.attributes["header_rows"]) == (header, 1)


TABLE = (
    "\\begin{{tabular}}{{{columns}}}\n\\toprule\nGrain & min & max \\\\ \\midrule\n"
    "Rye & 1 & 2 \\\\ \\bottomrule\n\\end{{tabular}}"
)


@pytest.mark.parametrize(
    "columns",
    ["lrr", "lSS", "l*{2}{S[table-format=1.2]}", "lD{.}{.}{-1}r", "|l|Y|X|", "l@{\\,}r>{\\bfseries}c"],
)
@pytest.mark.parametrize(
    "box",
    ["{}", "\\resizebox{{\\linewidth}}{{!}}{{%\n{}}}", "\\scalebox{{0.8}}[1]{{{}}}", "\\centerline{{\\fbox{{{}}}}}",
     "\\begin{{table}}\\caption{{Prices}}\\adjustbox{{width=3cm}}{{{}}}\\end{{table}}"],
)  # fmt: skip
def test_tables_in_boxes_and_with_other_types_of_columns_are_tables(box: str, columns: str) -> None:
    parsed = read(box.format(TABLE.format(columns=columns)))
    tables = [one for one in parsed.elements if one.kind == "table"]
    assert [one.attributes["cells"] for one in tables] == [[["Grain", "min", "max"], ["Rye", "1", "2"]]]


@pytest.mark.parametrize(
    "header",
    [
        "Grain & \\multicolumn{2}{c}{Price} \\\\ \\cmidrule(lr){2-3}\n & min & max \\\\",
        "\\multirow{2}{*}{Grain} & \\multicolumn{2}{c}{Price} \\\\ \\cline{2-3}\n & min & max \\\\",
        " & Price & Price \\\\\nGrain & min & max \\\\",
    ],
)
def test_the_rows_above_the_first_rule_are_the_header(header: str) -> None:
    rows = "\n\\midrule\nRye & 1 & 2 \\\\\nOats & 3 & 4 \\\\\n\\bottomrule\n"
    parsed = read(f"\\begin{{tabular}}{{lrr}}\n\\toprule\n{header}{rows}\\end{{tabular}}")
    cells = [["Grain", "Price min", "Price max"], ["Rye", "1", "2"], ["Oats", "3", "4"]]
    assert parsed.elements[0].attributes["cells"] == cells


def test_groups_of_rows_between_lines_are_no_header_and_listings_stay_as_they_are() -> None:
    parsed = read(
        "\\begin{tabular}{lr}\n\\hline\nRye & 1 \\\\\nOats & 2 \\\\ \\hline\nBran & 3 \\\\ \\hline\n\\end{tabular}"
    )
    assert [row[0] for row in parsed.elements[0].attributes["cells"] if row[0]] == ["Rye", "Oats", "Bran"]
    shown = "\\resizebox{1cm}{!}{\\begin{tabular}{S} 1 \\end{tabular}}"
    assert read(f"\\begin{{verbatim}}\n{shown}\n\\end{{verbatim}}").text == f"```\n{shown}\n```"


def test_a_command_is_read_by_its_whole_name_and_a_width_is_no_word() -> None:
    body = (
        "The \\define{weak} and \\letter{strong} \\colorlike{wheel}.\n\n\\hbox{One\\parbox[t]{0.65\\textwidth}{ two}}"
    )
    assert read(body).text == "The weak and strong wheel.\n\nOne two"


@pytest.mark.parametrize(
    "head",
    [
        "Bird & Mass \\\\ \\midrule \\endhead \\midrule next page \\\\ \\endfoot \\bottomrule \\endlastfoot",
        "Bird & Mass \\\\ \\midrule \\endfirsthead \\multicolumn{2}{c}{continued} \\\\ Bird & Mass \\\\ \\endhead",
        "\\caption{Birds}\\label{t}\\\\ \\toprule Bird & Mass \\\\ \\midrule \\endhead",
    ],
)
def test_heads_and_feet_that_a_long_table_repeats_are_in_it_once(head: str) -> None:
    source = f"\\begin{{longtable}}{{lr}}{head} Wren & 9 \\\\ Owl & 300 \\\\ \\end{{longtable}}"
    parsed = parse(source.encode(), FileType("latex"), ParseOptions())
    assert parsed.text.removeprefix("Birds\n\n") == "| Bird | Mass |\n| --- | --- |\n| Wren | 9 |\n| Owl | 300 |"


def test_algorithms_have_the_keywords_and_captions_that_tex_prints() -> None:
    steps = "\\Require $g$\n\\State open\n\\For{each sack}\n\\State grind\n\\EndFor\n\\Return flour"
    parsed = read(
        f"\\begin{{algorithm}}\\caption{{Grind}}\\begin{{algorithmic}}\n{steps}\n\\end{{algorithmic}}\\end{{algorithm}}"
    )
    assert parsed.text == "Require: $g$\nopen\nfor each sack\ngrind\nreturn flour\n\nGrind"


def test_a_float_of_code_keeps_its_caption() -> None:
    code = "\\begin{minted}{python}\nturn()\n\\end{minted}"
    assert (
        read(f"\\begin{{listing}}[H]{code}\\caption{{Turning}}\\end{{listing}}").text
        == "```python\nturn()\n```\n\nTurning"
    )


@pytest.mark.parametrize(
    "begin",
    [
        "tblr}{colspec={lX},hlines}", "longtblr}[caption={Birds}]{ll}", "NiceTabular}{ll}[hvlines]",
        "tabulary}{\\textwidth}{LL}", "supertabular}{ll}", "xltabular}{\\textwidth}{lX}",
    ],
)  # fmt: skip
def test_tables_of_other_packages_are_tables(begin: str) -> None:
    rows = "\\rowcolor{gray} Bird & Mass\\tnote{a}\\\\ \\specialrule{1pt}{0pt}{0pt} Kite & \\cellcolor{red}900 g\\\\"
    parsed = read(f"\\begin{{{begin}\n{rows}\n\\end{{{begin.partition('}')[0]}}}\n")
    cells = [one.attributes["cells"] for one in parsed.elements if one.kind == "table"]
    assert cells == [[["Bird", "Mass^a^"], ["Kite", "900 g"]]]
    assert parsed.text.startswith("Birds\n\n|" if "caption" in begin else "|")
