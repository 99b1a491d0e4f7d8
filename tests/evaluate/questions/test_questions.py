"""Questions as people keep them: marks, tabs and names with spaces are read, what cannot be is named by its place."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import ConfigError, QueryError
from docmill.tasks.evaluate.ask_and_measure import check_measures
from docmill.tasks.evaluate.questions import Question, Target, load_questions
from docmill.tasks.evaluate.retrieval_measures import measure
from tests.kit.workbench import Workbench


def trec(folder: Path, topics: str, qrels: str) -> list[Question]:
    (folder / "topics.tsv").write_text(topics, newline="")
    (folder / "q.qrels").write_text(qrels, newline="")
    return load_questions(folder / "topics.tsv", folder / "q.qrels")


def test_a_byte_order_mark_loses_no_question(tmp_path: Path) -> None:
    asked = trec(tmp_path, "\ufeff1\tOne?\r\n2\tTwo?\r\n", "\ufeff1 0 a.md 1\r\n2 0 b.md 1\r\n")
    assert [(one.id, one.text, one.targets[0].document) for one in asked] == [
        ("1", "One?", "a.md"),
        ("2", "Two?", "b.md"),
    ]
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('\ufeff{"_id": "1", "text": "One?"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("\ufeffquery-id\tcorpus-id\tscore\n1\ta.md\t1\n")
    assert load_questions(tmp_path) == [Question("1", "One?", (Target("a.md"),))]


def test_a_line_of_json_ends_where_the_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "1", "text": "a\u2028b"}, ensure_ascii=False))
    (tmp_path / "qrels" / "test.tsv").write_text("1\ta.md\t1\n")
    assert load_questions(tmp_path)[0].text == "a\u2028b"


def test_names_between_tabs_may_hold_spaces(tmp_path: Path) -> None:
    asked = trec(tmp_path, "q 1\tOne?\n", "q 1\t0\tmy guide.md\t2\nq 1\tyour guide.md\t1\nq 1\tmy guide.md\t2\n")
    assert asked == [Question("q 1", "One?", (Target("my guide.md", grade=2), Target("your guide.md")))]


@pytest.mark.parametrize(
    ("topics", "qrels", "said"),
    [
        ("1 One?\n", "1 0 a.md 1\n", "topics.tsv line 1: no tab"),
        ("1\tOne?\n", "1 0 a.md 1\n1 0 b.md 1.5\n", "q.qrels line 2: expected an id, a document and an integer"),
        ("1\tOne?\n", "\nnothing\n", "q.qrels line 2: expected an id"),
        ("1\tOne?\n1\tTwo?\n", "1 0 a.md 1\n", "'1' is the id of two questions"),
        ("1\t🙂\n", "1 0 a.md 1\n", "question 1: the query '🙂' contains no word"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, topics: str, qrels: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        trec(tmp_path, topics, qrels)


def test_a_csv_may_end_its_lines_in_any_way(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_bytes(b"question,uri\rone,a\rtwo,b\r")
    assert [one.text for one in load_questions(tmp_path / "q.csv")] == ["one", "two"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("question,uri\nfür,a\n".encode("latin-1"), "not UTF-8 .* at byte 14"),
        (b"question,uri\n" + b"a" * 10_000_001, "after line 1: field larger than"),
        (b"question,references,corpus_id\none,nothing,a\n", "line 2: `references` is not a JSON list"),
        (b'question,references,corpus_id\none,"[7]",a\n', "line 2: `references` is not a JSON list"),
    ],
)
def test_a_wrong_csv_is_refused_in_a_line(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes(data)
    with pytest.raises(QueryError, match=said) as refused:
        load_questions(path)
    assert len(str(refused.value)) < len(str(path)) + 120


@pytest.mark.parametrize(
    "name", ["nDCG@0", "P@0", "nDCG@2.5", "nDCG(a=1)@5", "alpha_nDCG@5", "Success", "P(rel=0)@5", "recall@0"]
)
def test_a_measure_that_cannot_be_computed_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="for example nDCG@10"):
        check_measures([name])


def test_one_measure_may_have_two_names() -> None:
    found = measure([Question("1", "?", (Target("a"),))], {"1": ["x", "target-0"]}, ["RR", "MRR", "R@5"])
    assert found == {"RR": {"1": 0.5}, "MRR": {"1": 0.5}, "R@5": {"1": 1.0}}


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path)
    made.write({"seal.md": "# Seal\n\nThe seal is in box 0.\n"})
    made.ingest()
    return made


def evaluate(bench: Workbench, rows: str, *arguments: str) -> tuple[int, str, str]:
    (bench.folder / "q.csv").write_text("question,uri\n" + rows)
    where = ["--questions", str(bench.folder / "q.csv"), "--store", str(bench.root), "--json"]
    done = CliRunner().invoke(app, ["evaluate", *where, *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_a_question_of_stop_words_finds_nothing_by_keywords(bench: Workbench) -> None:
    status, out, _ = evaluate(bench, "what is it,seal.md\nseal,seal.md\n", "--measure", "RR")
    assert status == 0
    assert {way["mode"]: way["questions"]["RR"] for way in json.loads(out)} == {
        "hybrid": {"1": 1.0, "2": 1.0},
        "vector": {"1": 1.0, "2": 1.0},
        "keyword": {"1": 0.0, "2": 1.0},
    }


def test_a_question_beyond_the_model_is_named(bench: Workbench) -> None:
    asked = f"seal,seal.md\n{'seal ' * 5000},seal.md\n"
    status, out, said = evaluate(bench, asked, "--mode", "vector", "--measure", "RR")
    assert status == 3
    assert "question 2 (line 3): the query has 25,000 characters" in said
    assert json.loads(out)[0]["questions"] == {"RR": {"1": 1.0}}, "the other question is measured"


def test_documents_that_the_store_lacks_are_named(bench: Workbench) -> None:
    status, _, said = evaluate(bench, "seal,seal.md\nlid,lid.md\n", "--mode", "keyword", "--measure", "RR")
    assert status == 3
    assert "left out: 1 of 2 questions: question 2 (line 3): no document 'lid.md' in snapshot 1" in said
    assert "does not contain" not in evaluate(bench, "seal,seal\n", "--mode", "keyword")[2]


@pytest.mark.parametrize("option", ["--run-file", "--html"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(bench: Workbench, option: str) -> None:
    wanted = (option, str(bench.folder / "nowhere" / "file"))
    status, _, said = evaluate(bench, "seal,seal.md\n", "--mode", "keyword", "--measure", "RR", *wanted)
    assert status == 2
    assert "cannot be written" in said
    assert not bench.store.sql("SELECT value FROM evaluations").num_rows
    file = bench.folder / "written"
    assert evaluate(bench, "seal,seal.md\n", "--mode", "keyword", "--measure", "RR", option, str(file))[0] == 0
    assert file.stat().st_mode & 0o777 == 0o600
