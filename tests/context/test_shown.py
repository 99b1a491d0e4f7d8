"""What a language model is shown of a document, all or the section of a long one, and how its answer is cleaned."""

import re

import pytest

from docmill.tasks.context.document_view import Shown, marked
from docmill.tasks.context.model_context import cleaned
from docmill.tasks.model.prompt import estimate
from docmill.tasks.split.parts.outline import Outline
from docmill.tasks.split.spans.span import Span
from tests.kit.documents import document

WORDS = "Words of the section, a good many of them, and more. " * 12


def shown(window: int, chapters: int = 6) -> tuple[Shown, str]:
    """Return what is shown of a document of chapters with two sections each, and its text."""
    parts: list[tuple[object, ...]] = []
    for i in range(chapters):
        parts += [("title", f"# Chapter {i}", 1), ("paragraph", WORDS)]
        parts += [part for j in "ab" for part in (("title", f"## Section {i}{j}", 2), ("paragraph", WORDS))]
    parsed = document(*parts)  # type: ignore[arg-type]
    return Shown(parsed, Outline(parsed), window), parsed.text


def at(text: str, heading: str) -> Span:
    place = text.index(heading) + len(heading) + 10
    return Span(place, place + 20)


def test_a_document_that_fits_is_shown_whole_and_once() -> None:
    own, text = shown(10_000)
    first, second = own.around(at(text, "Section 0a")), own.around(at(text, "Section 5b"))
    assert first is second
    assert text in first[0]


@pytest.mark.parametrize(
    ("window", "has", "lacks"), [(900, "Section 2a", "Section 3a\n\n"), (300, "Section 2b", WORDS * 2)]
)
def test_of_a_longer_one_the_largest_section_that_fits(window: int, has: str, lacks: str) -> None:
    own, text = shown(window)
    said, key = own.around(at(text, "Section 2b"))
    section = said[said.index("<section-") :]
    assert has in section
    assert lacks not in section
    assert text[slice(*at(text, "Section 2b"))] in section
    assert "- Chapter 5" in said
    assert key != own.around(at(text, "Section 4b"))[1]


@pytest.mark.parametrize("window", [500, 700])
def test_a_section_that_is_too_long_is_shown_in_parts_that_hold_the_place(window: int) -> None:
    parsed = document(*[("paragraph", f"Line {i} of a long text without any heading.") for i in range(600)])
    own = Shown(parsed, Outline(parsed), window)
    parts = set()
    for start in range(0, len(parsed.text) - 30, 997):
        said, _ = own.around(Span(start, start + 10))
        assert parsed.text[start : start + 2] in said
        assert estimate(said) <= window * 1.3 + 100
        parts.add(said)
    assert len(parts) > 8


def test_an_outline_that_is_too_long_keeps_its_highest_levels() -> None:
    own, text = shown(400, chapters=40)
    said, _ = own.around(at(text, "Section 20a"))
    outline = said[: said.index("<section-")]
    assert "- Chapter 0" in outline
    assert "- Section" not in outline
    assert estimate(outline) <= 400 / 4 + 40


def test_an_empty_document_is_shown_empty() -> None:
    parsed = document()
    assert "<document-" in Shown(parsed, Outline(parsed), 500).around(Span(0, 0))[0]


def test_marks_cannot_be_written_beforehand() -> None:
    text = marked("document", "words")
    again = marked("document", text)
    first, last = re.findall(r"</?(document-\w+)>", again)[:: len(re.findall(r"</?document-\w+>", again)) - 1]
    assert first == last
    assert again.count(f"</{first}>") == 1


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("  two\nlines\tand more ", "two lines and more"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("\u202eevil\u2066 \U000e0041tag", "evil tag"),
        ("", ""),
        ("x" * 5000, "x" * 1200),
        ("größer 大きい", "größer 大きい"),
    ],
)
def test_an_answer_is_one_line_of_words(said: str, kept: str) -> None:
    assert cleaned(said) == kept
