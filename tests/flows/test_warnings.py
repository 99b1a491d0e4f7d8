"""What a run could not read of a document, or read by a lesser way, it says: at its end, in SQL and in its status."""

import json
import re
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.sql.column_descriptions import TABLES
from docmill.storage.sql.document_warnings import WARNINGS, messages_of, warnings_of, with_derived
from tests.kit.pdf_pages import LEFT, page
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")
GARBLED = "1 of 2 pages: their fonts do not say which letters they draw"


def half_readable() -> bytes:
    """Return a PDF of a page that can be read and one of letters that its font does not name."""
    pdf = page()
    pdf.lines(60, 740, LEFT)
    pdf.add_page()
    pdf.text(60, 740, "plain")
    return pdf.to_bytes().replace(b"(plain)", b"(\\001\\002\\003\\004\\005)")


def test_lost_pages_are_told_and_end_the_run_with_status_3(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({"half.pdf": half_readable(), "notes.md": "# Notes\n\nAll of it.\n"})
    report = bench.ingest()
    assert (report.exit_status, report.lost_text) == (3, 1)
    assert any(problem.endswith(f"half.pdf: {GARBLED}") for problem in report.problems)
    rows = bench.store.sql("SELECT kind, message, lost FROM warnings").to_pylist()
    assert rows == [{"kind": "undecodable_pages", "message": GARBLED, "lost": True}]
    assert bench.store.status()["lost_text"] == 1


def test_each_way_to_a_document_gives_its_warnings(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, {"parse": {"ocr": "off"}})  # which would take seconds to find no letter
    bench.write({"half.pdf": half_readable(), "notes.md": "# Notes\n\nAll of it.\n"})
    bench.ingest()
    told = {"half.pdf": [GARBLED], "notes.md": []}
    with bench.store as store:
        assert {uri: list(store.document(uri).warnings) for uri in told} == told
        for table in ("documents", "documents_at(1)"):
            rows = store.sql(f"SELECT uri, warnings FROM {table}").to_pylist()
            assert {row["uri"]: row["warnings"] for row in rows} == told
        hits = store.search("letters notes", mode="keyword", where="len(warnings) = 0")
        assert {hit.uri for hit in hits} == {"notes.md"}
    with duckdb.connect() as elsewhere:
        elsewhere.execute((bench.root / "views.sql").read_text())
        for table in ("documents", "documents_at(1)"):
            assert dict(elsewhere.sql(f"SELECT uri, warnings FROM {table}").fetchall()) == told
    command = ["sql", "SELECT uri, warnings FROM documents", "--store", str(bench.root), "--json"]
    assert {row["uri"]: row["warnings"] for row in json.loads(said(command))} == told


def test_explain_tells_the_warnings_of_a_file(tmp_path: Path, fake_model: str) -> None:
    file, page = tmp_path / "half.pdf", tmp_path / "page.html"
    file.write_bytes(half_readable())
    command = ["explain", str(file), "--set", f"embedding.model={fake_model}", "--set", "parse.ocr=off"]
    assert json.loads(said([*command, "--json"]))["warnings"] == [GARBLED]
    assert f"\n  warning   {GARBLED}\n" in said(command)
    said([*command, "--html", str(page)])
    assert GARBLED in page.read_text()


def said(command: list[str]) -> str:
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_latex_that_is_read_as_text_is_told_and_loses_nothing(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({"broken.tex": "\\documentclass{article}\n" + "\\begin{itemize}\\item Grain. " * 12})
    report = bench.ingest()
    assert (report.exit_status, report.lost_text) == (0, 0)
    rows = bench.store.sql("SELECT kind, message, lost FROM warnings").to_pylist()
    message = "read as text; lists or tables that begin within one another do not end"
    assert rows == [{"kind": "read_as", "message": message, "lost": False}]
    assert any(problem.endswith(f"broken.tex: {message}") for problem in report.problems)


def test_sql_and_python_agree_on_every_warning() -> None:
    metadata = [
        {"pages": 23, "garbled_pages": [2, 3, 4], "ocr_pages": [3]},
        {"pages": 3, "garbled_pages": [1], "ocr_pages": [1]},
        {"pages": 9, "garbled_pages": [1], "damaged_pages": [2, 5]},
        {"pages": 40, "scanned_pages": [2, 3], "garbled_pages": [1]},
        {"read_as": "text; it is no LaTeX"},
        {"pages": 2, "damaged_pages": [1], "half": float("nan")},
        {"pages": 2, "ocr_pages": [2], "ocr_confidence": [86], "figures_left_out": {"broken": 1, "unread": 2}},
        {"pages": "many", "garbled_pages": "some", "damaged_pages": ["front matter"]},
        {},
    ]
    told = ["", *map(json.dumps, metadata)]
    rows = [[f"{number}", text] for number, text in enumerate(told)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE documents (uri VARCHAR, document_id VARCHAR, metadata VARCHAR)")
        connection.execute("ALTER TABLE documents ADD COLUMN created VARCHAR DEFAULT ''")
        connection.execute("ALTER TABLE documents ADD COLUMN modified VARCHAR DEFAULT ''")
        connection.execute("ALTER TABLE documents ADD COLUMN created_at TIMESTAMPTZ")
        connection.execute("ALTER TABLE documents ADD COLUMN modified_at TIMESTAMPTZ")
        connection.execute("ALTER TABLE documents ADD COLUMN metadata_warnings VARCHAR[]")
        connection.executemany("INSERT INTO documents (uri, document_id, metadata) VALUES (?, '', ?)", rows)
        connection.execute("UPDATE documents SET metadata_warnings = ['one', 'two'] WHERE uri = '1'")
        found = connection.sql(f"SELECT uri, kind, message, lost FROM ({WARNINGS}) ORDER BY uri, kind").fetchall()
        columns = connection.sql(
            f"SELECT uri, warnings FROM ({with_derived('documents', 'FROM documents', {})})"
        ).fetchall()
    beside = {1: ("one", "two")}
    every = [(f"{n}", *one) for n, text in enumerate(told) for one in warnings_of(text, beside.get(n, ()))]
    assert found == sorted(every)
    assert {kind for _, kind, *_ in every} == {*re.findall(r"\w+_\w+|\bmetadata\b", TABLES["warnings"][1]["kind"])}
    assert dict(columns) == {f"{n}": list(messages_of(text, beside.get(n, ()))) for n, text in enumerate(told)}


JAPANESE = "水車は川のそばに立ち、冬の間も小麦を挽いている。粉は袋に詰められて、町の市場へ運ばれる。"


def test_a_language_that_the_model_cannot_read_is_told_by_run_and_status(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({f"{n}.md": f"# {n}\n\n{JAPANESE * 3}\n" for n in range(20)})
    german = "Die Mühle steht am Fluss und mahlt auch im Winter den Weizen, der auf den Feldern wächst. Das Mehl wird"
    bench.write({"muehle.md": f"# Die Mühle\n\n{german} in Säcke gefüllt und auf dem Markt der Stadt verkauft.\n"})
    bench.write({"mill.md": "# The mill\n\nIt stands near the river and grinds the wheat in the winter.\n"})
    (told,) = (problem for problem in bench.ingest().problems if "vectors say little" in problem)
    assert told.startswith("vectors say little about 20 documents in the language ja: the embedding model cannot read ")
    found = bench.store.status()["poorly_read"]
    assert [*found] == ["ja"]
    assert found["ja"]["documents"] == 20
    assert 0.4 < found["ja"]["share"] < 0.9
    assert re.search(
        r"\npoorly read +ja 20 \(\d\d% of the letters unread\)\n", said(["status", "--store", str(bench.root)])
    )
    bench.write({"mill.md": "# The mill\n\nIt stands near the river and grinds the rye in the winter.\n"})
    for number in range(20):
        (bench.docs / f"{number}.md").unlink()
    report = bench.ingest(allow_delete=True)
    assert not any("vectors say little" in problem for problem in report.problems)
    assert bench.store.status()["poorly_read"] == {}


def test_the_words_of_a_document_say_its_language_where_they_tell_another_one(tmp_path: Path) -> None:
    german = "Die Mühle steht am Fluss und mahlt auch im Winter den Weizen, der auf den Feldern wächst."
    norwegian = "Møllen ligger ved elven og maler også kornet om vinteren, når det ikke er noe annet å gjøre for dem."
    pages = {
        "template.html": ("en-US", german, "de"),
        "region.html": ("de-AT", german, "de-AT"),
        "kin.html": ("lb", german, "lb"),  # docmill does not tell Luxembourgish
        "standard.html": ("nb", norwegian, "nb"),
        "script.html": ("fr", JAPANESE, "ja"),
        "doubt.html": ("fr", "12 + 30", "fr"),
    }
    bench = Workbench(tmp_path)
    bench.write({name: f'<html lang="{lang}"><p>{text}</p></html>' for name, (lang, text, _) in pages.items()})
    bench.write({f"{n}.html": f'<html lang="ja{"-JP" * n}"><p>{JAPANESE * 3}</p></html>' for n in range(2)})
    told = [problem.partition(":")[0] for problem in bench.ingest().problems if " in the language ja" in problem]
    assert told == ["vectors say little about 3 documents in the language ja"], "with and without a region"
    found = {row.uri: row.lang for row in bench.store.documents()}
    assert {name: found[name] for name in pages} == {name: lang for name, (*_, lang) in pages.items()}
