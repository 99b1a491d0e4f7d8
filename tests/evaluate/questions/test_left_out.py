"""What cannot be measured is named and counted, and the rest is measured; groups show what a mean hides."""

import json
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import QueryError
from docmill.tasks.evaluate.bootstrap import gap
from docmill.tasks.evaluate.question_groups import worst
from docmill.tasks.evaluate.questions import Question, Target, load_questions, read_questions
from tests.kit.workbench import Workbench

ROWS = [["question", "uri", "phrase"], ["Where, please?", "a.md", "ridge"], ["Who?", "b.md", ""]]
READ = [Question("1", "Where, please?", (Target("a.md", "ridge"),)), Question("2", "Who?", (Target("b.md"),))]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_is_read_as_it_was_saved(tmp_path: Path, separator: str, coding: str) -> None:
    lines = [separator.join(f'"{cell}"' if "," in cell else cell for cell in row) for row in ROWS]
    for name in ("q.csv", "q.tsv", "q.txt"):
        (tmp_path / name).write_bytes("\r\n".join(lines).encode(coding))
        assert load_questions(tmp_path / name) == READ


def test_a_workbook_is_read_from_the_sheet_with_questions(tmp_path: Path) -> None:
    book = Workbook()
    book.active.append(["notes"])
    sheet = book.create_sheet("asked")
    sheet.append([])
    for row in [[*ROWS[0], "id"], [*ROWS[1], 7], [None, None, None], [*ROWS[2], 8], ["Why?", "", "", 9]]:
        sheet.append(row)
    book.save(tmp_path / "q.xlsx")
    found, faults = read_questions(tmp_path / "q.xlsx")
    assert [(one.id, one.text, one.targets, one.place) for one in found] == [
        ("7", "Where, please?", READ[0].targets, "sheet 'asked' row 3"),
        ("8", "Who?", READ[1].targets, "sheet 'asked' row 5"),
    ]
    assert [one.spelled() for one in faults] == [
        "question 9 (sheet 'asked' row 6): no answer; fill in `uri`, `phrase` or both"
    ]
    (tmp_path / "broken.xlsx").write_bytes(b"PK nothing")
    with pytest.raises(QueryError, match=r"broken\.xlsx: cannot be read as a workbook"):
        load_questions(tmp_path / "broken.xlsx")


def test_a_row_that_cannot_be_told_apart_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text('question,uri,phrase\n"One\nmore?",a.md,ridge\n\nTwo?,a.md,on the ridge, at noon\n,a.md,ridge\n')
    found, faults = read_questions(path)
    assert [(one.text, one.place) for one in found] == [("One\nmore?", "line 2")]
    assert [one.spelled() for one in faults] == [
        "question 2 (line 5): 4 fields, the header has 3; put a field with a separator between quotation marks",
        "question 3 (line 6): the query is empty; type a question",
    ]
    path.write_text("question,link\nOne?,a.md\n")
    with pytest.raises(
        QueryError, match="no column that names an answer, such as `uri` or `phrase`, only question, link"
    ):
        load_questions(path)
    path.write_bytes("question,uri\none,a\nfür,a\n".encode("latin-1"))
    with pytest.raises(QueryError, match="at byte 20, line 3"):
        load_questions(path)


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path, {"routes": [{"glob": "*", "strategy": "separator"}]})
    made.write({"seal.md": "The seal is in box zero.\n\nIt is made of wax.\n", "lid.md": "The lid is in box one.\n"})
    made.ingest()
    return made


def evaluate(bench: Workbench, rows: str, *arguments: str) -> tuple[int, Any, str]:
    (bench.folder / "q.csv").write_text("question,uri,phrase\n" + rows)
    where = ["--questions", str(bench.folder / "q.csv"), "--store", str(bench.root), "--json", "--mode", "keyword"]
    done = CliRunner().invoke(app, ["evaluate", *where, *arguments])
    return done.exit_code, json.loads(done.stdout) if done.stdout else None, done.stderr


@pytest.mark.parametrize("measure", ["nDCG@10", "recall@5", "half@20tokens"])
def test_a_quotation_that_stands_nowhere_is_left_out_of_every_measure(bench: Workbench, measure: str) -> None:
    rows = "where is the seal,seal.md,in box zero\nwhere is the seal,seal.md,in box nine\nwho,,nobody\nseal,,of wax\n"
    status, found, said = evaluate(bench, rows, "--measure", measure)
    assert status == 3
    assert found[0]["questions"] == {measure: {"1": 1.0, "4": pytest.approx(1.0, abs=1)}}
    assert [(one["question"], one["reason"]) for one in found[0]["left_out"]] == [
        ("2", "seal.md does not contain 'in box nine'"),
        ("3", "no document contains 'nobody'"),
    ]
    assert "left out: 2 of 4 questions: question 2 (line 3): seal.md does not contain 'in box nine'; question 3" in said


def test_a_measure_of_excerpts_leaves_out_questions_without_a_quotation(bench: Workbench) -> None:
    rows = "where is the seal,seal.md,in box zero\nwhere is the lid,lid.md,\n"
    status, found, said = evaluate(bench, rows, "--measure", "RR", "--measure", "recall@5")
    assert status == 3
    assert {name: list(own) for name, own in found[0]["questions"].items()} == {"RR": ["1", "2"], "recall@5": ["1"]}
    assert found[0]["left_out"][0]["measures"] == ["recall@5"]
    assert "left out of recall@5: 1 of 2 questions: question 2 (line 3): it has no quotation" in said


def test_an_odd_question_is_named_and_the_others_are_asked(bench: Workbench) -> None:
    status, found, said = evaluate(bench, "🙂,seal.md,\nseal,seal.md,\nlid,,\n", "--measure", "RR")
    assert status == 3
    assert found[0]["questions"] == {"RR": {"2": 1.0}}
    assert "left out: 2 of 3 questions: question 1 (line 2): the query '🙂' contains no word" in said
    status, found, said = evaluate(bench, "🙂,seal.md,\n", "--measure", "RR")
    assert (status, found) == (1, None), "nothing is left to measure"


def test_a_passage_that_chunks_cut_is_said_to_be_missed_by_rankings(bench: Workbench) -> None:
    rows = "seal,seal.md,box zero. It is\nseal wax,seal.md,made of wax\n"
    status, found, said = evaluate(bench, rows, "--measure", "RR", "--measure", "half@5", "--measure", "recall@5")
    assert status == 0
    assert found[0]["cut"] == ["1"]
    assert found[0]["questions"]["RR"]["1"] == 0.0
    assert found[0]["questions"]["half@5"]["1"] == 1.0, "the chunk of `box zero.` holds more than a half"
    assert "bounds of chunks cut the answers to 1 question (1)" in said


def test_a_budget_of_tokens_reads_what_fits_into_it(bench: Workbench) -> None:
    """The fake model has a token for each word: `The seal is in box zero.` are six and a full stop."""
    rows = "seal,seal.md,The seal is in box zero.\n"
    names = [f"{name}@{count}tokens" for name in ("recall", "half", "IoU") for count in (2, 4, 100)]
    status, found, _ = evaluate(bench, rows, *(word for name in names for word in ("--measure", name)))
    values = {name: own["1"] for name, own in found[0]["questions"].items()}
    assert status == 0
    assert values["recall@2tokens"] == pytest.approx(len("The seal") / 24)
    assert values["recall@4tokens"] == pytest.approx(len("The seal is in") / 24)
    assert [values[f"half@{count}tokens"] for count in (2, 4, 100)] == [0.0, 1.0, 1.0]
    assert values["IoU@4tokens"] == values["recall@4tokens"]
    assert values["recall@100tokens"] == 1.0


def test_groups_show_what_a_mean_hides(bench: Workbench) -> None:
    good = "".join(f"seal wax {i},seal.md,made of wax\n" for i in range(7))
    bad = "".join(f"nothing {i},lid.md,The lid\n" for i in range(6))
    status, found, said = evaluate(bench, good + bad, "--measure", "RR", "--by", "document", "--by", "language")
    assert status == 0
    documents = found[0]["groups"]["document"]
    assert list(documents) == ["lid.md", "seal.md"], "the worst first"
    assert {name: (one["questions"], one["measures"]["RR"]["mean"]) for name, one in documents.items()} == {
        "lid.md": (6, 0.0), "seal.md": (7, 1.0),
    }  # fmt: skip
    assert found[0]["groups"]["language"]["en"]["questions"] == 13
    assert {name: found[0]["worst"][name] for name in ("by", "group", "mean", "others")} == {
        "by": "document", "group": "lid.md", "mean": 0.0, "others": 1.0,
    }  # fmt: skip
    assert "worst document: lid.md: RR 0.000 over 6 questions, 1.000 over the others: -1.000" in said
    assert "--by document" in evaluate(bench, good + bad, "--measure", "RR")[2], "it is pointed out unasked"
    assert "worst" not in evaluate(bench, good, "--measure", "RR")[2]


def test_the_worst_of_many_groups_may_be_so_by_chance() -> None:
    values = {f"{group}-{i}": float((i + group) % 10 < 4) for group in range(10) for i in range(10)}
    groups = {key: key.partition("-")[0] for key in values}
    values |= {f"3-{i}": float(i < 1) for i in range(10)}
    found = worst("source", "RR", values, groups)
    assert found is not None
    assert (found.group, found.questions, found.mean) == ("3", 10, 0.1)
    others = [value for key, value in values.items() if groups[key] != "3"]
    assert gap([values[f"3-{i}"] for i in range(10)], others).high < found.change.high, "wider, for ten groups"
    assert worst("source", "RR", dict.fromkeys(values, 1.0), dict.fromkeys(values, "one")) is None
