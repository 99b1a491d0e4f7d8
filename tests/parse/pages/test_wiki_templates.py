"""The words in the templates of pages in MediaWiki's markup, and the HTML in Org and reStructuredText."""

import pytest

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pandoc.formats.wiki_templates import with_template_words


def test_a_box_of_facts_is_a_line_for_each_key() -> None:
    page = "{{Infobox bird\n| name = Owl\n| image = Owl.jpg\n| mass = {{convert|300|g|oz}}\n| blank =\n}}\nAn owl.\n"
    parsed = parse(page.encode(), FileType("mediawiki"), ParseOptions())
    assert parsed.text == "name: Owl\nmass: 300 g\n\nAn owl."


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("It flies {{convert|10|km|mi}} far.", "It flies 10 km far."),
        ("The {{lang|de|Eule}} is {{nowrap|300 g}}.", "The Eule is 300 g."),
        ("<ref>{{cite web|url=http://x|title=Owls|last=Ada|date=2020}}</ref>", "<ref>Ada, Owls, 2020</ref>"),
        ("An owl{{citation needed|date=May 2026}}.", "An owl."),
        ("{{quote|[[Owl|Owls]] eat voles.}}", "[[Owl|Owls]] eat voles."),
        ("{{bird-stub}}{{DEFAULTSORT:Owl}}{{#if:x|y}}{{Use dmy dates|date=May}}", ""),
        ("<nowiki>{{kept|raw}}</nowiki> and {{unclosed|x", "<nowiki>{{kept|raw}}</nowiki> and {{unclosed|x"),
        ("{{a|{{b|{{c|deep}}}}}}", "deep"),
    ],
)
def test_values_without_a_key_are_words(source: str, words: str) -> None:
    assert with_template_words(source) == words


@pytest.mark.parametrize("page", ["{{" * 100_000, "{{a|" * 50_000 + "}}" * 50_000, "{{" + "|x [[" * 50_000 + "}}"])
def test_a_hostile_page_is_left_to_pandoc(page: str) -> None:
    assert with_template_words(page).count("{{") <= page.count("{{")


@pytest.mark.parametrize(
    ("form", "source"),
    [
        ("org", "#+BEGIN_EXPORT html\n{}\n#+END_EXPORT\n"),
        ("rst", ".. raw:: html\n\n   {}\n"),
    ],
)
def test_html_in_other_markup_is_read_as_html(form: str, source: str) -> None:
    page = source.format("<table><tr><th>Bird</th><th>Mass</th></tr><tr><td>Wren</td><td>9</td></tr></table>")
    parsed = parse(page.encode(), FileType(form), ParseOptions())
    assert parsed.text == "| Bird | Mass |\n| --- | --- |\n| Wren | 9 |"
