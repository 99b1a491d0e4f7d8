"""Sentences end as the language of their text has it: its abbreviations and dates end none."""

from itertools import pairwise

import pytest

from docmill.storage.search.sentences.sentence_spans import sentence_starts

TEXTS = {
    "english": (
        "The mill stands by the river, as Dr. Hill has said in Fig. 3 of the book.",
        "It is the oldest.",
    ),
    "german": ("Die Mühle wurde am 3. Oktober von Dr. Huber eröffnet, wie es in Abb. 3 zu sehen ist.", "Sie ist alt."),
    "french": ("Le moulin est à M. Dupont, comme il est dit à la page des comptes de la ville.", "Il est vieux."),
    "spanish": ("El molino es del Sr. Gómez, que vive en la casa de la Sra. Díaz.", "Es el más viejo de todos."),
    "italian": ("Il mulino è del sig. Rossi, che vive nella casa della dott. Bianchi.", "È il più vecchio di tutti."),
    "russian": ("Мельница стоит на ул. Ленина, д. 5, где живут рыбаки города.", "Она была построена из камня."),
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_ends_where_its_language_ends_it(language: str) -> None:
    first, second = TEXTS[language]
    text = f"{first} {second}"
    assert list(sentence_starts(text, 0, len(text))) == [len(first) + 1]


def test_a_paragraph_has_the_language_of_its_document() -> None:
    paragraph = "Am 3. Oktober kam Schnee."
    text = f"{' '.join(TEXTS['german'])}\n\n{paragraph}"
    assert list(sentence_starts(text, len(text) - len(paragraph), len(text))) == []
    assert list(sentence_starts(paragraph, 0, len(paragraph))) == [6], "alone it is in doubt, and read as English"


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("english", ["The .NET one runs ./mill.sh, see Eq. (2) in Vol. 3 of the book.", "It takes approx. 5 hours."]),
        ("english", ["It was rebuilt.^3^ ", "Then sold.[^note] ", "It burned down.² ", "Now it stands."]),
        ("german", ["Im 19. Jahrhundert stand sie still, siehe Abs. 2 der Akten.", "Der 2. Weltkrieg kam."]),
    ],
)
def test_dots_of_names_abbreviations_and_ordinals_end_no_sentence(language: str, sentences: list[str]) -> None:
    before, paragraph = " ".join(TEXTS[language]), " ".join(map(str.strip, sentences))
    text = f"{before}\n\n{paragraph}"
    places = [len(before) + 2, *sentence_starts(text, len(before) + 2, len(text)), len(text)]
    assert [text[start:end].strip() for start, end in pairwise(places)] == [*map(str.strip, sentences)]


def test_a_quotation_within_a_japanese_sentence_does_not_end_it() -> None:
    text = "「水車は古い。」と彼は言った。そして帰った。"
    assert list(sentence_starts(text, 0, len(text))) == [text.index("そ")]
