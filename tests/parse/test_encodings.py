"""Encodings that nothing in a file states: UTF-16 without a mark in every script, and tables with a few umlauts."""
# ruff: noqa: RUF001  other scripts have letters that look like Latin ones

import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.parse.decode import decode, is_text
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.parsed import found

SCRIPTS = {
    "Greek": "Τα σπίτια και οι κήποι θα μείνουν.\n",
    "Russian": "Дома и сады сохранятся для жителей города.\n",
    "Arabic": "وقال رئيس البلدية إن المنازل ستبقى.\n",
    "Hindi": "महापौर ने कहा कि घर और बगीचे बने रहेंगे।\n",
    "Thai": "บ้านและสวนจะยังคงอยู่\n",
    "Chinese": "市长说,房屋和花园将保留下来。\n",
    "Japanese": "市長は、家と庭は残ると述べました。\n",
    "Korean": "시장은 집과 정원이 그대로 남을 것이라고 말했습니다.\n",
}


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_told_by_its_blanks(text: str, encoding: str) -> None:
    assert detect_file_type("a.txt", text.encode(encoding)).format == "text"
    assert decode(text.encode(encoding)) == (text, encoding, 0)


def test_numbers_of_two_bytes_are_no_text() -> None:
    numbers = b"".join(number.to_bytes(2, "little") for number in range(0, 60_000, 32))
    assert not is_text(numbers)
    with pytest.raises(Rejected):
        decode(numbers)


def test_bytes_of_a_wide_letter_are_no_letter_printed_over_itself() -> None:
    text = "これは〈森〉です。\n"
    assert decode(text.encode("utf-16")).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Straße;Größe;Datum\nHauptstraße 5;12,5;31.12.2025\nÄußere Gasse;1.234,00;01.02.2026\n", "cp1252"),
        ("Imię;Miasto;Kwota\nStanisław;Kraków;13,50\nZbigniew;Wrocław;7,00\n", "cp1250"),
        ("Der Wald wird für die Strasse abgeholzt, sagte der Bürgermeister von Burgdorf am Montag.\n", "mac-roman"),
        ("The café and the naïve owner's résumé: “fine”.\n", "cp1252"),
        ("Die Mühle steht am Fluß. Größe und Äpfel, Öl und Süßes.\n" * 8, "cp437"),
        ("Die Mühle steht am Fluß. Größe und Äpfel, Öl und Süßes.\n" * 8, "mac-roman"),
        ("Le moulin est près de la rivière, où l'été a été très chaud. Ça va.\n" * 8, "cp850"),
    ],
)
def test_a_few_letters_are_read_where_no_word_gets_a_sign_into_it(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


def test_the_byte_order_marks_of_joined_files_are_removed() -> None:
    one = "## Größe\n\n5 m\n".encode("utf-8-sig")
    assert decode(one + one).text == "## Größe\n\n5 m\n" * 2


def test_text_that_was_encoded_twice_is_encoded_once() -> None:
    text = "Die Mühle – groß und “schön”.\n"
    assert decode(text.encode().decode("latin-1").encode()).text == text
    assert decode("Die MÃ¼hle â€“ groÃŸ und â€œschÃ¶nâ€\x9d.\n".encode()).text == text
    assert decode("Ã¼ means ü\n".encode()).text == "Ã¼ means ü\n"


def test_a_form_feed_ends_a_paragraph() -> None:
    parsed = parse(b"One\npage.\n\x0cThe next.\n", FileType("text"), ParseOptions())
    assert found(parsed) == [("paragraph", "One\npage."), ("paragraph", "The next.")]
