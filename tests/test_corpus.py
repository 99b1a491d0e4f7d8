"""The documents of tests/corpus are what the questions, the demo and the benchmarks take them for."""

import csv
import io
from pathlib import Path

import docx
import pathspec
import pypdfium2
import pytest

from tests.kit.making.make_corpus import CORPUS, MAKERS

QUESTIONS = CORPUS.parent / "corpus_questions.csv"
IGNORE_FILE = ".docmillignore"


def documents() -> list[str]:
    """Return the documents that are not ignored, as paths within the corpus, in order."""
    ignored = pathspec.GitIgnoreSpec.from_lines((CORPUS / IGNORE_FILE).read_text(encoding="utf-8").splitlines())
    paths = (path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*") if path.is_file())
    return sorted(path for path in paths if path != IGNORE_FILE and not ignored.match_file(path))


def questions() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(QUESTIONS.read_text(encoding="utf-8"))))


def text_of(path: Path) -> str:
    """Return a document's text: PDF page by page, DOCX its paragraphs, all else as it is."""
    if path.suffix == ".pdf":
        with pypdfium2.PdfDocument(path) as pdf:
            return "\n".join(page.get_textpage().get_text_bounded() for page in pdf)
    if path.suffix == ".docx":
        return "\n".join(paragraph.text for paragraph in docx.Document(str(path)).paragraphs)
    return path.read_bytes().decode("utf-8")


def test_there_are_about_thirty_documents_of_many_kinds() -> None:
    found = documents()
    assert 25 <= len(found) <= 40
    assert len({Path(path).suffix for path in found}) >= 12
    assert 150_000 <= sum((CORPUS / path).stat().st_size for path in found) <= 300_000


def test_the_ignore_file_hides_one_pattern_and_one_file() -> None:
    hidden = {"drafts/spring-campaign.tmp", "handbook/old-org-chart.md"}
    assert all((CORPUS / path).is_file() for path in hidden)
    assert not hidden & set(documents())


def test_forty_questions_ask_every_folder() -> None:
    asked = [question["uri"] for question in questions()]
    assert len(asked) == 40
    folders = {path.split("/")[0] for path in documents()} - {"notes"}
    assert {uri.split("/")[0] for uri in asked} == folders
    assert {Path(uri).suffix for uri in asked} == {Path(path).suffix for path in documents()}


@pytest.mark.parametrize("question", questions(), ids=lambda question: question["question"][:40])
def test_the_document_contains_the_phrase_that_answers(question: dict[str, str]) -> None:
    assert question["uri"] in documents()
    assert question["phrase"] in text_of(CORPUS / question["uri"])
    assert question["phrase"].casefold() not in question["question"].casefold()


@pytest.mark.parametrize("name", MAKERS)
def test_a_generated_document_is_made_again_byte_for_byte(name: str) -> None:
    assert MAKERS[name]() == (CORPUS / name).read_bytes()
