"""The reading of a document: which characters are markup, and that nothing else is left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.schema import Element, Parsed, clipped, indexed_text, part_readings, reading
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.hypertext import parse_html
from docmill.tasks.parse.markup.md.markdown_file import parse_markdown
from docmill.tasks.split.spans.reading_map import reading_of
from tests.kit.documents import tokenizer
from tests.kit.drawing import examples

MARKDOWN = {
    "# The *mill* #": "The mill",
    "Mill\n====": "Mill",
    'See [the `mill`](http://example.org/a "t") now.': "See the mill now.",
    "See [the mill][one].\n\n[one]: http://example.org/a": "See the mill .",
    "See [mills](a_(b).md) and <https://example.org>.": "See mills and https://example.org .",
    "![A mill](mill.png)": "A mill",
    "**Rye** and ~~oats~~ and ***wheat***": "Rye and oats and wheat",
    "2 * 3 * 4, snake_case_name, `*args`": "2 * 3 * 4, snake_case_name, *args",
    "a\\*b and a&nbsp;b": "a *b and a b",
    "> One **quote**\n> in [two](a.md) lines": "One quote\nin two lines",
    "- rye\n- [ ] oats\n1. wheat": "rye\noats\n1. wheat",
    "Rye<br/>oats <!-- none --> <img src='a.png' alt='A mill'>": "Rye oats A mill",
    "<div align='center'><b>Rye</b></div>": "Rye",
    "| Grain | Price |\n|:---|---:|\n| **rye** | [2](a.md) |\n| a \\| b |   |": "Grain Price\nrye 2\na | b",
    "```python\nf(*args, **kwargs)  # [a](b)\n```": "python\nf(*args, **kwargs) # [a](b)",
    "Rye ............ 12": "Rye 12",
    "Sum 0123456789abcdef0123456789abcdef ends": "Sum 01234567 ends",
    'import A from \'a\'\n\n<Card title="The mill" href="/a">\n\nRye.\n\n</Card>': "The mill\nRye.",
}


def read(source: str) -> str:
    parsed = parse_markdown(source.encode(), ParseOptions())
    found = reading(parsed.text, reading_of(parsed).unread(0, len(parsed.text)))
    return "\n".join(" ".join(line.split()) for line in found.splitlines() if line.strip())


@pytest.mark.parametrize("source", MARKDOWN)
def test_words_of_markdown_are_read_and_its_signs_are_not(source: str) -> None:
    assert read(source) == MARKDOWN[source]


def test_a_text_of_signs_that_mean_nothing_is_read_whole() -> None:
    parsed = Parsed("a * b | c # d > [e](f)", (Element("paragraph", 0, 22),))
    assert reading_of(parsed).unread(0, 22) == ()


def test_code_within_a_line_is_read_without_its_signs_in_every_format() -> None:
    page = (
        "<p>Call <code>grind(*rye)</code> or <kbd>Enter</kbd>, (<code>x</code>).</p><table><tr><td>a<td><code>b</code>"
    )
    said = parse_html(page.encode(), ParseOptions())
    assert "`grind(*rye)`" in said.text
    whole = reading(said.text, reading_of(said).unread(0, len(said.text)))
    assert " ".join(whole.split()) == "Call grind(*rye) or Enter , ( x ). a b"
    kept = Parsed("``rye'', don`t, a ` b ` c", (Element("paragraph", 0, 24),))
    assert reading_of(kept).unread(0, 24) == ()


def test_a_chunk_of_markup_alone_is_read_nevertheless() -> None:
    parsed = parse_markdown(b"![](pictures/mill.png)", ParseOptions())
    (draft,) = chunk(parsed, "", Route("structure"), tokenizer(), ChunkOptions(64, "none", 0))
    read = indexed_text(draft.context, draft.text, draft.unread)
    assert read == draft.text == "![](pictures/mill.png)"
    assert draft.tokens == len(tokenizer().encode(read))


def test_a_table_is_cut_by_its_words_and_not_by_its_padding() -> None:
    rows = "".join(f"| {name:<30} | {number:>20} |\n" for number, name in enumerate(["rye", "oats", "wheat"] * 4))
    parsed = parse_markdown(f"| Grain | Price |\n|{'-' * 32}|{'-' * 22}|\n{rows}".encode(), ParseOptions())
    (draft,) = chunk(parsed, "", Route("structure", {"size": 64}), tokenizer(), ChunkOptions(128, "none", 0))
    assert draft.text == parsed.text.rstrip()
    assert draft.tokens < 64


def test_a_table_in_wide_columns_is_one_chunk_as_its_words_are() -> None:
    rows = "".join(f"| {name:<120} | {number:>60} |\n" for number, name in enumerate(["rye", "oats", "wheat"] * 2))
    parsed = parse_markdown(f"| Grain | Price |\n|{'-' * 122}|{'-' * 62}|\n{rows}".encode(), ParseOptions())
    (draft,) = chunk(parsed, "", Route("structure", {"size": 64}), tokenizer(), ChunkOptions(128, "none", 0))
    assert draft.text == parsed.text.rstrip()
    assert len(draft.text) > 16 * 64


def test_an_edited_link_target_changes_no_reading() -> None:
    before, after = (parse_markdown(f"See [the mill]({to}).".encode(), ParseOptions()) for to in ("a.md", "b/c.md"))
    texts = [reading(one.text, reading_of(one).unread(0, len(one.text))) for one in (before, after)]
    assert texts[0] == texts[1] == "See the mill ."


@pytest.mark.parametrize("kept", [(), ("furniture",)])
def test_a_foot_within_a_chunk_over_two_pages_is_read_only_if_it_is_kept(kept: tuple[str, ...]) -> None:
    said = [("paragraph", "The river rises in"), ("furniture", "The mill 1"), ("paragraph", "spring. It falls again.")]
    text = "\n\n".join(words for _, words in said)
    elements = [Element(kind, at := text.index(words), at + len(words), page=1 + at // 20) for kind, words in said]
    options = ChunkOptions(256, "none", 0, kept=kept)
    first, *others = chunk(Parsed(text, (*elements,)), "", Route("structure", {"size": 200}), tokenizer(), options)
    assert first.text == text
    assert ("mill" in indexed_text("", first.text, first.unread)) is bool(kept)
    assert [one.text for one in others] == ["The mill 1"][: len(kept)]
    for one in (first, *others):
        assert one.tokens == len(tokenizer().encode(indexed_text("", one.text, one.unread)).ids)


@examples(100)
@given(st.text(st.sampled_from("ab*_`[]()<>!#|-~\\ \n&;"), max_size=60))
def test_a_reading_has_the_length_of_its_document_and_its_words_in_order(source: str) -> None:
    parsed = parse_markdown(source.encode(), ParseOptions())
    found = reading_of(parsed)
    assert len(found.text) == len(parsed.text)
    assert all(ours in (theirs, " ", "\n") for ours, theirs in zip(found.text, parsed.text, strict=True))
    whole = found.unread(0, len(parsed.text))
    assert list(whole) == sorted(set(whole))
    if found.text.strip():
        assert reading(parsed.text, whole).split() == found.text.split()


@pytest.mark.parametrize("sign", ["[", "![", "`", "*", "_a*", "<", "<!--", "[a](", "\\", "~~a", "&", "| "])
def test_a_block_of_signs_takes_no_time(sign: str) -> None:
    assert read(f"mill {sign * 20_000}\n").startswith("mill")
    assert read(f"mill {sign * (9_000 // len(sign))}\n").startswith("mill")


def test_parts_are_read_as_their_chunk_is() -> None:
    text = "Rye **and** oats. [Wheat](a.md) too."
    unread = (4, 6, 9, 11, 18, 19, 24, 31)
    assert reading(text, unread) == "Rye and oats. Wheat too."
    assert part_readings(text, [18], unread) == ["Rye and oats.", "Wheat too."]
    assert clipped(unread, 18, len(text)) == (0, 1, 6, 13)
