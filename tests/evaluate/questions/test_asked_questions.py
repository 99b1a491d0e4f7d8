"""Asked questions: what an evaluation keeps of each question, so that a person sees why a measure is what it is."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.snapshots.history import measurements, row_files
from tests.kit.workbench import MakeBench, Workbench

QUESTIONS = """question,uri,phrase
How do I undo a commit?,git.md,reset the branch
Where does the heron stand?,,stands in the reeds
Who sails the boat?,boat.md,
Who mends the wheel?,mill.md,the miller mends the wheel
"""
DOCUMENTS: dict[str, str | bytes] = {
    "git.md": "# Undo\n\nTo undo a commit, reset the branch.\n",
    "boat.md": "# Boat\n\nIt has two masts.\n",
    "birds.md": "# Birds\n\nThe heron stands in the reeds.\n",
    "mill.md": "# Mill\n\nAt last the miller mends the wheel.\n",
}


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    own = make_bench(DOCUMENTS)
    (own.folder / "q.csv").write_text(QUESTIONS)
    return own


def evaluate(bench: Workbench, *arguments: str) -> None:
    where = ["--questions", str(bench.folder / "q.csv"), "--store", str(bench.root)]
    done = CliRunner().invoke(app, ["evaluate", *where, "--mode", "keyword", *arguments])
    assert done.exit_code == 0, done.output


def test_each_question_is_kept_with_its_rank_its_answer_and_what_came_first(bench: Workbench) -> None:
    assert bench.store.sql("FROM asked_questions").num_rows == 0
    for _ in range(2):
        evaluate(bench, "--measure", "RR", "--measure", "Success@5")
    rows = bench.store.sql("SELECT * FROM asked_questions ORDER BY question").to_pylist()
    assert [(row["question"], row["text"]) for row in rows] == [
        (str(place), line.split(",")[0]) for place, line in enumerate(QUESTIONS.splitlines()[1:], start=1)
    ]
    undo, heron, boat, _ = rows
    assert (undo["rank"], undo["snapshot"], undo["subject"]) == (1, 1, "q.csv")
    assert json.loads(undo["settings"])["mode"] == "keyword"
    (answer,) = undo["answers"]
    (chunk,) = [one for one in bench.chunks() if one.uri == "git.md"]
    assert answer == {
        "document": "git.md", "quotation": "reset the branch", "uri": "git.md",
        "start_char": chunk.start_char, "end_char": chunk.end_char, "rank": 1,
    }  # fmt: skip
    assert undo["hits"][0] == {"rank": 1, "uri": "git.md", "chunk_id": chunk.chunk_id, "right": True}
    assert heron["answers"][0]["uri"] == "birds.md"
    assert boat["rank"] == 1
    both = "SELECT DISTINCT e.measure FROM evaluations AS e JOIN asked_questions AS q USING (asking)"
    assert sorted(bench.store.sql(both).column(0).to_pylist()) == ["RR", "Success@5"]


def test_a_question_that_was_missed_says_where_its_answer_stands(bench: Workbench, tmp_path: Path) -> None:
    own = bench.copy(tmp_path / "copy")
    text = "word\n" + QUESTIONS.replace("Who mends the wheel?", "zeppelin").replace("Who sails the boat?", "airship")
    (own.folder / "q.csv").write_text(text.removeprefix("word\n"))
    evaluate(own, "--measure", "RR")
    rows = own.store.sql("FROM asked_questions WHERE rank IS NULL ORDER BY question").to_pylist()
    boat, mill = [row["answers"][0] for row in rows if row["text"] in ("airship", "zeppelin")]
    assert (boat["uri"], boat["start_char"], boat["rank"]) == ("boat.md", None, None)
    said = own.store.document("mill.md").text[mill["start_char"] : mill["end_char"]]
    assert (mill["uri"], said) == ("mill.md", "the miller mends the wheel")


def test_any_duckdb_reads_the_questions_and_files_of_an_older_docmill_have_none(
    bench: Workbench, tmp_path: Path
) -> None:
    import duckdb

    own = bench.copy(tmp_path / "copy")
    evaluate(own, "--measure", "RR")
    for path in (own.root / measurements.FOLDER).glob("*.parquet"):  # as an older docmill wrote them
        held = pq.read_table(path, partitioning=None)
        pq.write_table(held.drop_columns(["asking", "asked"]), path)
    assert own.store.sql("SELECT DISTINCT asking FROM evaluations").to_pylist() == [{"asking": ""}]
    assert own.store.sql("FROM asked_questions").num_rows == 0
    row_files.prepare(own.root, measurements.FOLDER, measurements.STORED)  # as the next run does
    evaluate(own, "--measure", "Success@5")
    with duckdb.connect() as connection:
        connection.execute(f"SET VARIABLE docmill_store = '{own.root}'")
        connection.execute((own.root / "views.sql").read_text())
        shown = connection.sql("SELECT question, answers[1].uri, len(hits) FROM asked_questions ORDER BY question")
        asked = own.store.sql("SELECT question, answers[1].uri, len(hits) FROM asked_questions ORDER BY question")
        assert shown.fetchall() == [tuple(row.values()) for row in asked.to_pylist()]
        assert len(connection.sql("SELECT asking FROM evaluations WHERE asking = ''").fetchall()) >= 1
