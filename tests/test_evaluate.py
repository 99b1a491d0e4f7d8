"""Evaluation: questions of every form are read, measures are the field's, a difference is told from chance."""

import json
import math
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from storage.errors import ConfigError, QueryError
from storage.search import Hit
from tasks.evaluate.bootstrap import difference, interval
from tasks.evaluate.questions import Question, Target, load_questions
from tasks.evaluate.ranking import MEASURES, answers, measure, ranked, run_file
from tests.workbench import Workbench


def hit(uri: str, text: str, rank: int = 1) -> Hit:
    return Hit(rank, 1.0, None, None, f"{uri}-{rank}", uri, 0, len(text), text, "", (), None, "narrative", "structure")


def test_questions_of_a_csv_name_a_document_a_passage_or_both(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question,uri,phrase\nWhere?,a/b.md,on the ridge\nWho?,a/c.md,\nWhen?,,at noon\nWhy?,,\n")
    assert load_questions(path) == [
        Question("1", "Where?", (Target("a/b.md", "on the ridge"),)),
        Question("2", "Who?", (Target("a/c.md"),)),
        Question("3", "When?", (Target("", "at noon"),)),
    ]


def test_questions_with_excerpts_have_one_target_each(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    references = json.dumps([{"content": "snow", "start_index": 1}, {"content": "ice", "start_index": 9}])
    path.write_text('question,references,corpus_id\nWhat?,"' + references.replace('"', '""') + '",winter\n')
    (question,) = load_questions(path)
    assert question.targets == (Target("winter", "snow"), Target("winter", "ice"))


def test_a_beir_folder_is_read_with_its_test_judgements(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "One?"}\n{"_id": "2", "text": "Two?"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t31\t2\n1\t32\t0\n")
    assert load_questions(tmp_path) == [Question("1", "One?", (Target("31", grade=2),))]


def test_trec_topics_are_read_with_their_qrels(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("7\tSeven?\n8\tEight?\n")
    (tmp_path / "q.qrels").write_text("7 0 a.md 1\n7 0 b.md 0\n")
    assert load_questions(tmp_path / "topics.tsv", tmp_path / "q.qrels") == [Question("7", "Seven?", (Target("a.md"),))]


@pytest.mark.parametrize("text", ["", "question,uri\n", "name,uri\na,b\n"])
def test_a_file_without_questions_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "q.csv"
    path.write_text(text)
    with pytest.raises(QueryError):
        load_questions(path)


@pytest.mark.parametrize("name", ["a/b.md", "b.md", "b"])
def test_a_document_is_known_by_its_uri_its_name_and_its_stem(name: str) -> None:
    assert answers(hit("a/b.md", "text"), Target(name))
    assert not answers(hit("a/c.md", "text"), Target(name))


def test_a_quotation_is_found_across_line_ends() -> None:
    assert answers(hit("a.md", "It lay on\n  the ridge."), Target("a.md", "on the ridge"))


def test_a_document_counts_once_and_a_passage_where_it_is_first_found() -> None:
    hits = [hit("x.md", "no", 1), hit("a.md", "no", 2), hit("a.md", "the ridge", 3), hit("a.md", "the ridge", 4)]
    assert ranked(Question("1", "?", (Target("a.md"),)), hits) == ["x.md", "target-0"]
    assert ranked(Question("1", "?", (Target("a.md", "the ridge"),)), hits) == ["x.md-1", "a.md-2", "target-0"]


def test_measures_are_those_of_the_field() -> None:
    questions = [
        Question("1", "?", (Target("a", grade=2), Target("b"))),
        Question("2", "?", (Target("c"),)),
    ]
    found = measure(questions, {"1": ["x", "target-0", "y", "target-1"], "2": []}, MEASURES)
    gained = 2 / math.log2(3) + 1 / math.log2(5)
    assert found["nDCG@10"]["1"] == pytest.approx(gained / (2 + 1 / math.log2(3)))
    assert found["R@5"] == {"1": 1.0, "2": 0.0}
    assert found["RR"] == {"1": 0.5, "2": 0.0}
    assert found["AP"]["1"] == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert found["Success@1"] == {"1": 0.0, "2": 0.0}


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(ConfigError, match="for example nDCG@10"):
        measure([Question("1", "?", (Target("a"),))], {"1": []}, ["sharpness"])


def test_a_run_file_is_that_of_trec() -> None:
    assert run_file({"7": ["a", "b"]}, "x").splitlines() == ["7 Q0 a 1 1.000000 x", "7 Q0 b 2 0.500000 x"]


def test_a_difference_is_told_from_chance() -> None:
    rng = random.Random(3)
    values = {str(i): rng.random() for i in range(200)}
    noisy = {key: value + rng.gauss(0, 0.1) for key, value in values.items()}
    higher = {key: value + 0.05 for key, value in noisy.items()}
    assert difference(noisy, values).verdict == "indistinguishable"
    assert difference(higher, values).verdict == "better"
    assert difference(values, higher).verdict == "worse"


def test_an_interval_holds_its_mean_and_is_always_the_same() -> None:
    values = {str(i): i % 2 for i in range(100)}
    found = interval(values)
    assert found == interval(dict(reversed(values.items())))
    assert found.low < found.mean == 0.5 < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.05, rel=0.1)


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    bench = Workbench(tmp_path)
    bench.write({f"{name}.md": f"# {name}\n\nThe {name} is in box {i}.\n" for i, name in enumerate(("seal", "lid"))})
    bench.ingest()
    assert fake_model
    (tmp_path / "q.csv").write_text(
        "question,uri,phrase\nwhere is the seal,seal.md,in box 0\nwhere is the lid,lid.md,\n"
    )
    return bench


def test_the_command_compares_ways_to_search(bench: Workbench) -> None:
    arguments = ["evaluate", "--questions", str(bench.folder / "q.csv"), "--store", str(bench.root)]
    done = CliRunner().invoke(app, [*arguments, "--mode", "keyword", "--mode", "vector"])
    assert done.exit_code == 0, done.output
    keyword, vector = [line for line in done.output.splitlines() if line.startswith(("keyword", "vector"))]
    assert keyword.split()[1:4] == ["1.000", "1.000", "1.000"]
    assert vector.rstrip().endswith(("indistinguishable", "worse"))


def test_the_command_writes_a_run_and_json(bench: Workbench) -> None:
    arguments = ["evaluate", "--questions", str(bench.folder / "q.csv"), "--store", str(bench.root), "--json"]
    run = bench.folder / "run.txt"
    done = CliRunner().invoke(app, [*arguments, "--mode", "keyword", "--measure", "RR", "--run-file", str(run)])
    (found,) = json.loads(done.stdout)
    assert found["measures"]["RR"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert found["questions"]["RR"] == {"1": 1.0, "2": 1.0}
    assert run.read_text().splitlines()[0].startswith("1 Q0 target-0 1 ")
