"""Local contexts: titles by their looks are headings, and nothing is said twice that the chunk says."""

from dataclasses import replace

from docmill.storage.schema import Draft
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.context.topic_line import about
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.documents import tokenizer

SNOW = "The sensor stands on a mast of six metres and measures how deep the snow below it lies. " * 6
GRAIN = "The stone turns once in a second and grinds the grain that falls from the hopper above it. " * 6


def chunks(text: str, form: str = "text", title: str = "", strategy: str = "structure", size: int = 60) -> list[Draft]:
    parsed = replace(parse(text.encode(), FileType(form), ParseOptions()), title=title)
    return chunk(parsed, "", Route(strategy, {"size": size}), tokenizer(), ChunkOptions(256))


def test_articles_in_one_file_stand_below_their_own_titles_alone() -> None:
    found = chunks(f" = Snow = \n\n{SNOW}\n\n = Grain = \n\n{GRAIN}\n")
    assert {one.headings for one in found} == {("Snow",), ("Grain",)}
    for one in found:
        assert one.context in ("", *one.headings)
        assert "=" not in one.context
        assert ("stone" in one.text) == (one.headings == ("Grain",))


def test_a_first_sentence_ends_with_the_section_that_it_stands_in() -> None:
    # Chunks of a fixed size begin in one section and end in the next, so no heading is above all of a chunk.
    text = f"SNOW\n\n{SNOW}\n\nGRAIN\n\n{GRAIN}\n\nFLOUR\n\n{GRAIN}\n"
    sentence, end = about(parse(text.encode(), FileType("text"), ParseOptions()))
    assert sentence.startswith("The sensor stands")
    assert text[:end].endswith("lies.")
    found = chunks(text, strategy="fixed", size=200)
    later = [one for one in found if one.start_char >= text.index("GRAIN")]
    assert later
    assert not [one for one in later if "sensor" in one.context]


def test_a_first_sentence_above_all_headings_is_that_of_the_document() -> None:
    text = f"A mill and its snow are described below.\n\n## One\n\n{SNOW}\n\n## Two\n\n{GRAIN}\n"
    across = [one for one in chunks(text, "markdown", strategy="fixed", size=100) if "## Two" in one.text[1:]]
    assert across
    assert {one.context for one in across} == {"A mill and its snow are described below."}


def test_a_title_that_a_chunk_has_as_a_line_is_not_said_above_it() -> None:
    first, *rest = chunks(f"The snow sensor\n{SNOW}\n\n{GRAIN}\n", title="The snow sensor")
    assert first.text.startswith("The snow sensor\n")
    assert first.context == ""
    assert {one.context for one in rest} == {"The snow sensor"}


def test_a_description_that_a_chunk_quotes_is_not_said_above_it() -> None:
    said = "How a mill grinds grain in winter"
    text = f"---\ndescription: {said}\n---\n\n{SNOW}\n\nIts page says: {said}, and no more.\n\n{GRAIN}\n"
    found = chunks(text, "markdown")
    assert {one.context for one in found if said in one.text} == {""}
    assert {one.context for one in found if said not in one.text} == {said}
