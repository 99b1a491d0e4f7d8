"""The reader `unstructured`: each format that it takes, where its packages are installed."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from re import findall

import pytest

from docmill.storage.errors import ConfigError, Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.parsers import PARSERS
from docmill.tasks.parse.dispatch.readers import ChosenReader, ReaderTable, parser_for, parser_key
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.partition import unstructured_formats
from tests.kit.house import ROOT

TESTS = ROOT / "tests"
PARSER = PARSERS["unstructured"]


@dataclass(frozen=True)
class Expected:
    """A sample, the elements that are found in it, its title, its pages, and the share of our own words that it has."""

    file: str
    kinds: str
    title: str = ""
    pages: int = 0
    share: float = 0.9


EXPECTED = [
    Expected("golden/text/note.txt", "paragraph title", "Sampling on the ridge"),
    Expected("golden/markdown/guide.md", "code list_item paragraph table title", "Field guide"),
    Expected("corpus/products/ptarmigan.html", "list_item paragraph table title", "Ptarmigan SRC-400"),
    Expected("golden/xml/article.xml", "paragraph title", "On probes", share=0.85),
    Expected("golden/json/channel.json", "paragraph", share=0.4),
    Expected("golden/jsonl/readings.jsonl", "paragraph"),
    Expected("golden/csv/parts.csv", "table"),
    Expected("golden/odt/guide.odt", "list_item paragraph table title", "Care"),
    Expected("golden/pptx/plan.pptx", "paragraph table title", "Winter plan 2025", 4),
    Expected("golden/xlsx/readings.xlsx", "paragraph table title", "Snow readings, station KS-03", 2, 0.6),
    Expected("golden/xls/stock.xls", "paragraph table", "", 2, 0.7),
    Expected("golden/pdf/book.pdf", "furniture list_item paragraph title", "The ledger", 4),
    Expected(
        "golden/eml/thread.eml", "list_item paragraph title", "Re: Gauge G-17 reads nothing since Sunday", share=0.7
    ),
    Expected("golden/msg/report.msg", "list_item paragraph title", "RE: Road", share=0.4),
    Expected("golden/epub/guide.epub", "code list_item paragraph table title", "Care"),
    Expected("golden/rtf/guide.rtf", "code list_item paragraph table title", "Care"),
    Expected("golden/rst/guide.rst", "code list_item paragraph table title", "Field guide", share=0.7),
    Expected("golden/org/guide.org", "code list_item paragraph table title", "Care"),
]


def words(parsed: Parsed) -> Counter[str]:
    return Counter(findall(r"\w{3,}", parsed.text))


def reading(path: Path, **options: bool) -> tuple[Parsed, Parsed]:
    """Return a file as docmill reads it, and as `unstructured` does; skip if a package is missing."""
    data = path.read_bytes()
    file_type = detect_file_type(path.name, data)
    if lacking := PARSER.lacks(file_type.format):
        pytest.skip(lacking)
    reader = ChosenReader("unstructured", options)
    return parse(data, file_type, ParseOptions()), parse(data, file_type, ParseOptions(), reader)


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda one: one.file)
def test_a_file_becomes_text_with_elements_and_pages(expected: Expected) -> None:
    own, parsed = reading(TESTS / expected.file)
    assert " ".join(sorted({element.kind for element in parsed.elements})) == expected.kinds
    assert (parsed.title, max(element.page for element in parsed.elements)) == (expected.title, expected.pages)
    assert (words(own) & words(parsed)).total() >= expected.share * words(own).total()
    for element in parsed.elements:
        own_text = parsed.text[element.start_char : element.end_char]
        assert own_text == own_text.strip()
        cells = element.attributes.get("cells", [])
        assert all(cell.replace("|", "\\|") in own_text for row in cells for cell in row)
    assert parsed == reading(TESTS / expected.file)[1]


def test_every_format_has_a_sample() -> None:
    found = {detect_file_type(Path(one.file).name, (TESTS / one.file).read_bytes()).format for one in EXPECTED}
    assert found | {"docx"} == set(PARSER.formats)


def test_a_word_document_keeps_its_furniture_apart_or_leaves_it_out() -> None:
    path = TESTS / "corpus" / "legal" / "field-safety-policy.docx"
    own, parsed = reading(path)
    assert (words(own) & words(parsed)).total() == words(own).total()
    assert sum(element.kind == "furniture" for element in parsed.elements) == 2
    _, bare = reading(path, furniture=False)
    assert [one.kind for one in bare.elements] == [one.kind for one in parsed.elements if one.kind != "furniture"]


def test_notes_of_slides_are_left_out_on_demand() -> None:
    _, parsed = reading(TESTS / "golden" / "pptx" / "plan.pptx")
    _, bare = reading(TESTS / "golden" / "pptx" / "plan.pptx", notes=False)
    assert words(bare) < words(parsed)


def test_the_version_of_the_library_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, form = ChosenReader("unstructured"), FileType("html")
    before = parser_key(form, ParseOptions(), reader)
    assert PARSER.whole_version.startswith("unstructured 0.")
    monkeypatch.setattr("docmill.tasks.parse.dispatch.parser._release", lambda _: "99")
    assert parser_key(form, ParseOptions(), reader) != before
    assert parser_key(form, ParseOptions()) != before


def test_a_damaged_file_is_rejected_with_a_reason() -> None:
    for form in ("docx", "epub"):
        with pytest.raises(Rejected, match=f"^corrupt: .*({form}|container)"):
            parse(b"PK\x03\x04 torn", FileType(form), ParseOptions(), ChosenReader("unstructured"))


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every package of the reader look as if it were not installed."""
    monkeypatch.setattr(unstructured_formats, "is_installed", lambda _: False)


@pytest.mark.usefixtures("nothing_installed")
def test_without_the_extra_the_error_names_it_before_the_run() -> None:
    said = (
        r"reader 'unstructured': unstructured needs the package unstructured for docx files: pip install 'docmill\[un"
    )
    with pytest.raises(ConfigError, match=said):
        ReaderTable((("*.docx", ChosenReader("unstructured")),))
    with pytest.raises(ConfigError, match=r"needs the package unstructured: pip install 'docmill\[unstructured\]'"):
        ReaderTable((("inbox/**", ChosenReader("unstructured")),))
    with pytest.raises(Rejected, match="not_installed: unstructured needs the package"):
        parser_for(FileType("docx"), ChosenReader("unstructured"))


def test_pdf_needs_packages_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unstructured_formats, "is_installed", lambda package: package == "unstructured")
    ReaderTable((("inbox/**", ChosenReader("unstructured")),))
    with pytest.raises(ConfigError, match=r"package pdfminer for pdf files: pip install 'unstructured\[pdf\]'$"):
        ReaderTable((("**/*.pdf", ChosenReader("unstructured")),))
    with pytest.raises(ConfigError, match="reader 'unstructured' does not read code files, only text, markdown, "):
        ReaderTable((("**/*.py", ChosenReader("unstructured")),))
