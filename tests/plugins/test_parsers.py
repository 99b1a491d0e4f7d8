"""Parsers of plugins: what they claim, what they return, what goes wrong, and what is read again."""

from pathlib import Path
from typing import Any

import pytest

from docmill.storage.errors import ConfigError, Rejected
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.parsers import PARSERS
from docmill.tasks.parse.dispatch.readers import ChosenReader, ReaderTable, parser_key, parser_name
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.workbench import Workbench
from tests.plugins.distributions import write_distribution

pytestmark = pytest.mark.usefixtures("fresh")

CARDS = """
from dataclasses import dataclass
from docmill.plugins import Canvas, Element, NoOptions, Parsed, Rejected

@dataclass(frozen=True)
class Loud:
    times: int = 1

    def __post_init__(self):
        if self.times < 1:
            raise ValueError(f"times must be at least 1, got {self.times}")

class Cards:
    version = 1
    options = Loud
    formats = {"cards": (".card", b"\\x93CARD"), "odp": (), "markdown": ()}

    def parse(self, data, format, options):
        canvas = Canvas()
        canvas.heading(f"{format} read by cards", 1)
        canvas.paragraph(data.decode(errors="replace") * options.times)
        return canvas.parsed("Cards")
"""
KEPT = ParseOptions()


def install(site: Path, monkeypatch: pytest.MonkeyPatch, code: str, **names: str) -> None:
    module = f"cards_{site.name.replace('-', '_')}"
    entries = {f"parsers/{name}": f"{module}:{target}" for name, target in names.items()}
    write_distribution(site, "acme", entries, {module: code})
    monkeypatch.syspath_prepend(site)


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a parser of a format of its own, of one that docmill knows and does not read, and of one that it does."""
    install(tmp_path, monkeypatch, CARDS, cards="Cards")


@pytest.mark.usefixtures("cards")
def test_a_suffix_and_a_signature_lead_to_the_plugin_unless_they_are_ours() -> None:
    assert detect_file_type("a.card", b"A text.") == FileType("cards")
    assert detect_file_type("a.CARD", b"\x93CARD\0\1\2") == FileType("cards")
    assert detect_file_type("a.bin", b"\x93CARD" + b"\0\1\2" * 20) == FileType("cards")
    assert detect_file_type("a.card", b"%PDF-1.7 ...") == FileType("pdf")
    assert detect_file_type("a.txt", b"\x93CARD is a text that begins so.").format == "text"
    with pytest.raises(Rejected, match="binary data of unknown type"):
        detect_file_type("a.bin", b"\0\1\2" * 20)


@pytest.mark.usefixtures("cards")
def test_a_format_of_a_plugin_is_read_by_it_and_its_version_is_in_the_key() -> None:
    form = FileType("cards")
    parsed = parse(b"Rye bread.", form, KEPT)
    assert parsed.text == "# cards read by cards\n\nRye bread."
    assert [element.kind for element in parsed.elements] == ["title", "paragraph"]
    assert parser_name(form) == "cards by cards (acme 1.0, 1)"
    assert parser_key(form, KEPT)
    assert parser_key(FileType("nothing"), KEPT) == ""
    twice, once = (ChosenReader("cards", {"times": times}) for times in (2, 1))
    assert parse(b"Rye. ", form, KEPT, twice).text.endswith("Rye. Rye.")
    assert parser_key(form, KEPT, once) == parser_key(form, KEPT)
    assert parser_key(form, KEPT, twice) != parser_key(form, KEPT)


@pytest.mark.usefixtures("cards")
def test_a_reader_takes_the_place_of_our_parser_where_its_glob_matches() -> None:
    table = ReaderTable((("notes/*.md", ChosenReader("cards")), ("*.md", ChosenReader("markdown"))))
    chosen = table.chosen("notes/a.md")
    assert chosen == ChosenReader("cards")
    assert parse(b"# Rye", FileType("markdown"), KEPT, chosen).title == "Cards"
    assert table.chosen("a.md") == ChosenReader("markdown")
    assert table.chosen("a.txt") is None
    assert parser_key(FileType("markdown"), KEPT, table.chosen("a.md")) == parser_key(FileType("markdown"), KEPT)


@pytest.mark.usefixtures("cards")
@pytest.mark.parametrize(
    ("glob", "reader", "options", "problem"),
    [
        ("*.md", "card", {}, "parser 'card' does not exist; the nearest is 'cards'"),
        ("*.md", "cards", {"time": 2}, "cards has no option 'time'; the nearest is 'times'"),
        ("*.md", "cards", {"times": 0}, "cards: ValueError: times must be at least 1, got 0"),
        ("*.md", "markdown", {"times": 0}, "markdown has no option 'times'; it has none"),
        (
            "docs/**/*.pdf",
            "cards",
            {},
            r"reader 'cards' does not read pdf files, only cards, odp, markdown, but '",
        ),
    ],
)
def test_a_wrong_reader_is_an_error_before_the_run(glob: str, reader: str, options: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        ReaderTable(((glob, ChosenReader(reader, options)),))


@pytest.mark.usefixtures("cards")
def test_a_file_that_its_reader_does_not_take_is_rejected() -> None:
    with pytest.raises(Rejected, match=r"unsupported: reader 'cards' does not read html files, only cards, odp, mark"):
        parse(b"<p>Rye.</p>", FileType("html"), KEPT, ChosenReader("cards"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("version = 1", ""), r"TypeError: it lacks version of docmill\.plugins\.ParserPlugin"),
        (("def parse", "def read"), r"TypeError: it lacks parse of docmill\.plugins\.ParserPlugin"),
        (("options = Loud", "options = dict"), "TypeError: its options must be a dataclass, such as"),
        (("times: int = 1", "times: int"), "TypeError: .*missing 1 required positional argument: 'times'"),
        (("formats = {", "formats = {} and {"), "TypeError: its formats must be a mapping from names"),
        (('".card", ', '"card", '), "TypeError: its signs of cards must be suffixes"),
        (("import Canvas", "import Canvass"), "ImportError: "),
    ],
)
def test_a_parser_that_cannot_be_loaded_is_named_and_harms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str], problem: str
) -> None:
    assert change[0] in CARDS
    install(tmp_path, monkeypatch, CARDS.replace(*change), cards="Cards")
    with pytest.raises(ConfigError, match=f"^parser 'cards' of acme 1.0 cannot be used: {problem}"):
        ChosenReader("cards")
    assert parse(b"# Rye", FileType("markdown"), KEPT).text == "# Rye"
    with pytest.raises(Rejected, match=r"unknown type; parser 'cards' of acme 1\.0 cannot be used: "):
        detect_file_type("a.bin", b"\x93CARD" + b"\0\1\2" * 20)


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ("None", r"TypeError: it must return docmill\.plugins\.Parsed, got NoneType"),
        ("Parsed(b'x', ())", "TypeError: its text and title must be text, got bytes"),
        ("Parsed('Rye', (Element('paragraph', 0, 9),))", "ValueError: element 0, .*outside of a text of 3 characters"),
        ("Parsed('Rye', [Element('paragraph', 0, 2), Element('title', 1, 3)])", "ValueError: element 1, .*overlaps"),
        ("Parsed('Rye', (Element('para', 0, 3),))", "ValueError: element 0, .*kind is none of"),
        ("Parsed('Rye', (Element('title', 0.0, 3),))", "TypeError: an element's offsets, level, page and line must be"),
        ("Parsed('Rye', ('title',))", "TypeError: its elements must be"),
        ("Parsed('Rye', (), '', {'made': object()})", "TypeError: Object of type object is not JSON"),
        ("Parsed('Rye', (Element('title', 0, 3, attributes={'x': {1}}),))", "TypeError: Object of type set"),
        ("1 / 0", r"ZeroDivisionError: division by zero \(cards.*\.py, line \d+\)$"),
    ],
)
def test_a_wrong_result_and_an_exception_reject_the_document_and_name_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: str, problem: str
) -> None:
    install(tmp_path, monkeypatch, CARDS.replace("canvas = Canvas()", f"return {result}"), cards="Cards")
    with pytest.raises(Rejected, match=f"plugin_failed: parser 'cards' of acme 1.0 failed: {problem}"):
        parse(b"Rye.", FileType("cards"), KEPT)


def test_a_plugin_may_reject_and_a_text_of_half_characters_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "if b'!' in data: raise Rejected('corrupt', 'torn')\n        return Parsed('Rye \\ud800', ())"
    install(tmp_path, monkeypatch, CARDS.replace("canvas = Canvas()", code), cards="Cards")
    with pytest.raises(Rejected, match="corrupt: torn"):
        parse(b"Rye!", FileType("cards"), KEPT)
    assert parse(b"Rye.", FileType("cards"), KEPT).text == "Rye \ufffd"
    with pytest.raises(Rejected, match="too_large: "):
        parse(b"Rye.", FileType("cards"), ParseOptions(max_characters=3))


def test_a_format_that_two_plugins_take_is_refused_until_one_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, CARDS, cards="Cards", more="Cards")
    with pytest.raises(Rejected, match=r"cards is read by cards \(acme 1.0, 1\) and more \(acme 1.0, 1\); choose one"):
        parse(b"Rye.", FileType("cards"), KEPT)
    assert parse(b"Rye.", FileType("cards"), KEPT, ChosenReader("more")).title == "Cards"
    assert list(PARSERS)[-2:] == ["cards", "more"]


def column(bench: Workbench, name: str, table: str = "documents") -> dict[str, str]:
    """Return a column of a table by uri."""
    return {
        row["uri"]: row[name] for row in bench.store.sql(f"SELECT uri, {name} FROM {table} ORDER BY uri").to_pylist()
    }


def rule(glob: str, **options: Any) -> dict[str, Any]:
    """Return settings in which `cards` reads what a glob matches."""
    return {"parse": {"workers": 1, "readers": [{"glob": glob, "reader": "cards", "options": options}]}}


CARDS_1 = "cards (acme 1.0, 1)"


@pytest.mark.usefixtures("cards", "fake_model")
def test_another_reader_reads_exactly_its_documents_again(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "bench")
    names = ("kept/c.md", "kept/d.txt", "read/a.md", "read/b.md")
    bench.write({name: f"# The mill of {name}\n\nIt grinds.\n" for name in names})
    assert bench.ingest().parsed == 4
    before = column(bench, "text_key")
    assert set(column(bench, "reader").values()) == {""}

    bench.settings = rule("read/**")
    assert bench.ingest().parsed == 2
    assert list(column(bench, "reader").values()) == ["", "", CARDS_1, CARDS_1]
    after = column(bench, "text_key")
    assert {uri for uri in names if before[uri] != after[uri]} == {"read/a.md", "read/b.md"}
    assert bench.ingest().parsed == 0

    bench.settings = rule("read/a*", times=2)
    bench.ingest()
    assert list(column(bench, "reader").values()) == ["", "", CARDS_1, ""]
    now = column(bench, "text_key")
    assert {uri for uri in names if now[uri] != before[uri]} == {"read/a.md"}
    assert now["read/a.md"] != after["read/a.md"]


@pytest.mark.usefixtures("cards", "fake_model")
def test_a_file_that_its_reader_refuses_is_tried_again_once_the_rule_changes(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "bench", rule("read/**"))
    bench.write({"read/a.html": "<p>The mill grinds.</p>", "read/b.md": "The mill grinds."})
    assert bench.ingest().documents.rejected == 1
    assert column(bench, "reason", "rejects") == {"read/a.html": "unsupported"}
    assert "[[parse.readers]] chose it" in column(bench, "message", "rejects")["read/a.html"]
    assert bench.ingest().parsed == 0
    bench.settings = rule("*.md")
    assert bench.ingest().parsed == 1
    assert column(bench, "reader") == {"read/a.html": "", "read/b.md": CARDS_1}
