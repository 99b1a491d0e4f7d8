"""Markup written by hand: what pandoc alone would lose or take for something else."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions


def read(form: str, text: str) -> Parsed:
    return parse(text.encode(), FileType(form), ParseOptions())


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        (">>> f(*args)\n2\n>>> g\n\nText\n", "```pycon\n>>> f(*args)\n2\n>>> g\n```\n\nText"),
        ("So::\n\n    >>> a\n\n    >>> b\n\nText\n", "So:\n\n```\n>>> a\n\n>>> b\n```\n\nText"),
        (".. code-block:: python\n\n   >>> a\n\n   >>> b\n", "```python\n>>> a\n\n>>> b\n```"),
        ("- item\n\n  >>> a\n  1\n", "- item\n\n```pycon\n>>> a\n1\n```"),
        (".. function:: f(x)\n\n   Does it.\n\n   >>> f(1)\n   1\n", "`f(x)`: Does it.\n\n```pycon\n>>> f(1)\n1\n```"),
        (".. doctest::\n\n   >>> a\n   1\n", "```pycon\n>>> a\n1\n```"),
        (".. prompt:: zsh $\n\n   ls\n", "```zsh\nls\n```"),
        ("Type >>> a to ask.\n>>> is a prompt.\n", "Type >>> a to ask. >>> is a prompt."),
    ],
)
def test_python_sessions_are_code(text: str, drawn: str) -> None:
    assert read("rst", text).text == drawn


@pytest.mark.parametrize("title", ["", "Mills\n=====\n\n", "=======\n Mills\n=======\n\n"])
def test_what_is_explained_first_is_text(title: str) -> None:
    parsed = read("rst", f"{title}sail\n   It turns.\n\nMore.\n")
    assert parsed.text.endswith("sail: It turns.\n\nMore.")
    assert parsed.title == ("Mills" if title else "")


def test_fields_below_the_title_are_metadata() -> None:
    parsed = read("rst", "Mills\n=====\n\n:Author: Ann\n:Date: 2020-01-02\n\nsail\n   It turns.\n")
    assert (parsed.text, parsed.metadata["author"]) == ("# Mills\n\nsail: It turns.", "Ann")


def test_a_condition_is_not_read_as_text_and_a_number_of_a_standard_is() -> None:
    assert read("rst", ".. only:: html\n\n   See :rfc:`2822`.\n").text == "See RFC 2822."


@pytest.mark.parametrize("head", ["", "#+OPTIONS: toc:nil H:2\n", "#+TITLE: T\n"])
def test_headings_of_org_stay_headings_at_any_depth(head: str) -> None:
    parsed = read("org", head + "".join(f"{'*' * level} h{level}\n" for level in range(1, 6)) + "Text.\n")
    levels = [one.level for one in parsed.elements if one.kind == "title" and "h" in one.attributes["text"]]
    assert levels == [level + ("TITLE" in head) for level in range(1, 6)]
    assert parsed.text.endswith("\n\nText.")


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        (r"\begin{itemize}\item[Ann] one\item two\end{itemize}", "- Ann one\n- two"),
        (r"\begin{enumerate}\item[(i)] one\item[{[ii]}] two\end{enumerate}", "1. (i) one\n2. [ii] two"),
        (r"\begin{itemize}\item[$\bullet$] one\item[--] two\end{itemize}", "- one\n- two"),
        (r"\begin{description}\item[Ann] one\end{description}", "Ann: one"),
        (r"\begin{description}\setlength{\itemsep}{0pt} \tightlist\item[Ann] one\end{description}", "Ann: one"),
        (r"\begin{itemize}[noitemsep]\itemsep0em \item one\end{itemize}", "- one"),
        (
            r"\setlength\tabcolsep{4pt}\begin{tabular}{ll} \begin{tabular}[c]{@{}c@{}}A\\ a\end{tabular} &"
            r" \makecell{B \\ \textbf{b}} \\ \cmidrule(lr){1-2} \cline{1-2} 1 & 2 \\ \end{tabular}",
            "| A a | B b |\n| --- | --- |\n| 1 | 2 |",
        ),
        (
            r"\begin{longtable}{ll} A & B \\ \endfirsthead A & B \\ \endhead 1 & 2 \\ \end{longtable}",
            "| A | B |\n| --- | --- |\n| 1 | 2 |",
        ),
        (
            "Text.\n\\begin{thebibliography}{9}\n\\bibitem{a_b} Ann, \\emph{Mills}.\n\\newblock 1999.\n"
            "\\bibitem[Bo, 2001]{bo} Bo.\n\\end{thebibliography}",
            "Text.\n\n# References\n\n[a_b] Ann, Mills. 1999.\n\n[bo] Bo.",
        ),
        (r"\begin{lemma}[Of mills] Let $a \in B$. \end{lemma}", r"Lemma 1 (Of mills). Let $a \in B$."),
        (r"\newtheorem{lemma}{Hilfssatz}\begin{lemma} So. \end{lemma}", "Hilfssatz 1. So."),
        (r"\begin{algorithmic}\State $x \gets 1$\end{algorithmic}", r"$x \gets 1$"),
    ],
)
def test_what_latex_says_is_kept(text: str, drawn: str) -> None:
    assert read("latex", text).text == drawn


def test_authors_of_a_paper_are_parted_and_have_no_numbers() -> None:
    for sign in (r"\and", r"\And", r"\AND"):
        head = rf"\title{{T}}\author{{Ann\orcidID{{0000-0002}} {sign} Bo}}"
        body = r"\begin{document}\maketitle Text.\end{document}"
        assert read("latex", head + body).metadata["author"] == "Ann, Bo"


MANUAL = """.\\" By hand.
.TH MILL 1 "2024-05-02" "Mill tools"
.SH NAME
mill \\- turn a wheel
.SH ATTRIBUTES
.TS
l l.
Part\tSafety
T{
.BR turn ()
T}\tSafe
.TE
"""


def test_a_manual_page_is_told_by_its_first_macro_and_has_sections_and_tables() -> None:
    for name in ("mill.1", "mill", "mill.txt"):
        assert detect_file_type(name, MANUAL.encode()).format == "man"
    for text in ("Nov 29 12:00:01 host mill[1]: turned\n" * 9, "Write .TH mill 1 first.\n.TH is a macro.\n"):
        assert detect_file_type("mill.1", text.encode()).format != "man"
    parsed = parse(MANUAL.encode(), FileType("man"), ParseOptions())
    assert parsed.title == "MILL(1)"
    assert parsed.text == (
        "# MILL(1)\n\n## NAME\n\nmill - turn a wheel\n\n## ATTRIBUTES\n\n"
        "| Part | Safety |\n| --- | --- |\n| turn() | Safe |"
    )


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("rst", ".. code-block:: python\n   :caption: Turn the wheel\n\n   turn()\n   stop()\n"),
        (
            "latex",
            "\\begin{lstlisting}[language=Python, caption={Turn the wheel}]\nturn()\nstop()\n\\end{lstlisting}\n",
        ),
        ("asciidoc", "= Mill\n\n.Turn the wheel\n[source,python]\n----\nturn()\nstop()\n----\n"),
    ],
)
def test_a_listing_keeps_its_caption(form: str, text: str) -> None:
    assert read(form, text).text.removeprefix("# Mill\n\n") == "Turn the wheel\n\n```python\nturn()\nstop()\n```"


def test_indented_lines_of_mediawiki_are_code() -> None:
    assert read("mediawiki", "Type:\n\n mill turn\n   --slowly\n").text == "Type:\n\n```\nmill turn\n  --slowly\n```"


def test_neighbouring_lines_of_code_of_rich_text_are_one_listing() -> None:
    lines = "".join(rf"\pard\s1\f1 {line}\par" for line in ("def turn():", "    return 1"))
    text = (
        r"{\rtf1{\fonttbl{\f0 Times;}{\f1\fmodern Courier New;}}{\stylesheet{\s1\f1 HTML Preformatted;}}" + lines + "}"
    )
    assert read("rtf", text).text == "```\ndef turn():\n    return 1\n```"
