"""Evaluation: questions of every form are read, measures are the field's, a difference is told from chance."""

import json
import math
import random
import re
import warnings
from pathlib import Path

import ir_measures
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.cli.pages.chart import Compared, chart
from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.tasks.evaluate.answer_ranks import Answers, locate
from docmill.tasks.evaluate.ask_and_measure import SearchMethod
from docmill.tasks.evaluate.bootstrap import difference, interval
from docmill.tasks.evaluate.excerpts import Excerpts
from docmill.tasks.evaluate.questions import Question, Target, load_questions
from docmill.tasks.evaluate.retrieval_measures import MEASURES, answers, measure, measure_of, ranked, run_file
from tests.kit.workbench import Workbench


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
    assert question.targets == (Target("winter", "snow", start=1), Target("winter", "ice", start=9))


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


def test_what_is_wrong_with_questions_is_said(tmp_path: Path) -> None:
    for name, text, said in (
        ("none.csv", None, "none.csv: cannot be read: No such file"),
        ("none.txt", None, "none.txt: cannot be read: No such file"),
        ("names.csv", "name,uri\na,b\n", "no column `question`, only name, uri"),
        ("twice.csv", "id,question,uri\n7,One?,a.md\n7,Two?,b.md\n", "'7' is the id of two questions"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(QueryError, match=said):
            load_questions(tmp_path / name)
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "One?"}\n')
    with pytest.raises(QueryError, match="--qrels FILE"):
        load_questions(tmp_path)


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


@pytest.mark.parametrize("name", ["nDCG@10", "RR", "R(rel=2)@5", "nDCG(dcg='exp-log2')@10", "IPrec@0.1", "MRR@3"])
def test_a_measure_is_spelled_as_in_ir_measures(name: str) -> None:
    # Its own parser uses classes of `ast` of which Python 3.12 warns.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        spelled = ir_measures.parse_measure(name)
    assert measure_of(name) == spelled


@pytest.mark.parametrize(
    "name", ["sharpness", "nDCG@", "nDCG(10)", "nDCG@ten", "nDCG@10; RR", "nDCG(x=1)", "__import__"]
)
def test_an_unknown_measure_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="for example nDCG@10"):
        measure([Question("1", "?", (Target("a"),))], {"1": []}, [name])


def test_a_run_file_is_that_of_trec() -> None:
    assert run_file([], {"7": ["a", "b c"]}, "x").splitlines() == ["7 Q0 a 1 1.000000 x", "7 Q0 b%20c 2 0.500000 x"]


def test_a_run_file_names_documents_as_the_qrels_do() -> None:
    asked = [
        Question("7", "?", (Target("first"), Target("second"))),
        Question("8", "?", (Target("third", "a passage"),)),
    ]
    lines = run_file(asked, {"7": ["x.md", "target-1"], "8": ["target-0"]}, "x").splitlines()
    assert [line.split()[2] for line in lines] == ["x.md", "second", "target-0"]


def test_a_difference_is_told_from_chance() -> None:
    rng = random.Random(3)
    values = {str(i): rng.random() for i in range(200)}
    noisy = {key: value + rng.gauss(0, 0.1) for key, value in values.items()}
    higher = {key: value + 0.05 for key, value in noisy.items()}
    assert difference(noisy, values).verdict == "indistinguishable"
    assert difference(higher, values).verdict == "better"
    assert difference(values, higher).verdict == "worse"


def test_a_few_questions_tell_nothing_from_chance() -> None:
    lost = {str(i): 0.0 for i in range(6)}
    assert difference(lost, dict.fromkeys(lost, 1.0)).verdict == "worse"
    del lost["5"]
    found = difference(lost, dict.fromkeys(lost, 1.0))
    assert (found.mean, found.low, found.high, found.verdict) == (-1.0, -1.0, 0.0, "indistinguishable")


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


def evaluate(bench: Workbench, *arguments: str) -> str:
    where = ["--questions", str(bench.folder / "q.csv"), "--store", str(bench.root)]
    done = CliRunner().invoke(app, ["evaluate", *where, *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_results_are_rows_that_sql_shows(bench: Workbench) -> None:
    assert bench.store.sql("SELECT * FROM evaluations").num_rows == 0
    for _ in range(2):
        evaluate(bench, "--mode", "keyword", "--mode", "hybrid", "--measure", "RR", "--measure", "R@5")
    rows = bench.store.sql("SELECT * FROM evaluations ORDER BY settings, measure").to_pylist()
    assert [(row["snapshot"], row["measure"], row["count"]) for row in rows] == [(1, "R@5", 2), (1, "RR", 2)] * 2
    assert json.loads(rows[2]["settings"])["mode"] == "keyword"
    assert (rows[3]["value"], rows[3]["low"], rows[3]["items"], rows[3]["item_values"]) == (1, 1, ["1", "2"], [1, 1])
    assert rows[0]["subject"] == "q.csv"
    evaluate(bench, "--mode", "vector", "--measure", "RR", "--no-values")
    (row,) = bench.store.sql("SELECT * FROM evaluations WHERE settings LIKE '%vector%'").to_pylist()
    assert row["items"] == []
    evaluate(bench, "--mode", "vector", "--measure", "AP", "--no-keep")
    assert bench.store.sql("SELECT * FROM evaluations WHERE measure = 'AP'").num_rows == 0


def test_any_duckdb_reads_the_rows(bench: Workbench) -> None:
    import duckdb

    evaluate(bench, "--mode", "keyword", "--measure", "RR")
    with duckdb.connect() as connection:
        connection.execute((bench.root / "views.sql").read_text())
        assert connection.sql("SELECT measure, value FROM evaluations").fetchall() == [("RR", 1.0)]


def test_snapshots_and_weights_are_compared(bench: Workbench) -> None:
    bench.write({"seal.md": "# seal\n\nNothing.\n"})
    bench.ingest()
    arguments = ("--at", "1", "--at", "2", "--mode", "keyword", "--measure", "R@5", "--json")
    old, new = json.loads(evaluate(bench, *arguments))
    assert (old["snapshot"], new["snapshot"]) == ("1", "2")
    assert new["against"]["R@5"]["mean"] == -0.5
    assert new["against"]["R@5"]["verdict"] == "indistinguishable", "one question of two is no proof"
    ways = json.loads(evaluate(bench, "--at", "1", "--mode", "hybrid", "--weight", "0.2", "--weight", "0.8", "--json"))
    assert [way["weight"] for way in ways] == [0.2, 0.8]


def test_the_options_of_searches_hold_for_evaluations_too(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_SEARCH__DIVERSITY", "0.5")
    monkeypatch.setenv("DOCMILL_SEARCH__FUSION", "rrf")
    (way,) = json.loads(evaluate(bench, "--mode", "hybrid", "--json"))
    assert (way["fusion"], way["diversity"]) == ("rrf", 0.5)
    assert "spread" not in way
    assert "hybrid rrf, diversity 0.5" in evaluate(bench, "--mode", "hybrid")
    way_of_seals = SearchMethod("keyword", {"widen": 400})
    assert way_of_seals.spelled() == "keyword, widen 400"
    assert way_of_seals.ask(bench.store, "seal", 1) == bench.store.search("seal", 1, "keyword", widen=400)


def test_the_page_draws_each_way(bench: Workbench) -> None:
    page = bench.folder / "page.html"
    evaluate(bench, "--html", str(page), "--measure", "RR")
    html = page.read_text()
    assert html.count('class="dot"') == 3
    assert "indistinguishable" in html
    assert "<script" not in html
    assert "default-src 'none'" in html


def test_a_scale_begins_at_nothing_at_least_and_its_ticks_differ() -> None:
    page = chart(
        "h", "n", [Compared("a", {"IoU@5": {"1": 0.0, "2": 0.01}}), Compared("b", {"IoU@5": {"1": 0.01, "2": 0.01}})]
    )
    ticks = re.findall(r'text-anchor="middle">([^<]*)<', page)
    assert ticks == sorted(set(ticks))
    assert float(ticks[0]) == 0
    assert float(ticks[-1]) > 0.01


def test_measures_of_excerpts_are_those_of_characters(bench: Workbench) -> None:
    bench.write({"seal.md": "# seal\n\nThe seal is in box 0.\n", "lid.md": "# lid\n\nBox.\n\nThe lid. The lid.\n"})
    bench.ingest()
    text = bench.store.document("lid.md").text
    second = text.rindex("The lid.")
    quoted = json.dumps([{"content": "The lid.", "start_index": second}]).replace('"', '""')
    (bench.folder / "q.csv").write_text(f'question,references,corpus_id\nwhere is the lid,"{quoted}",lid\n')
    measures = ("recall@1", "precision@1", "IoU@1", "precision_omega", "IoU_first@1", "precision_omega_first")
    named = [word for name in measures for word in ("--measure", name)]
    (found,) = json.loads(evaluate(bench, "--mode", "keyword", *named, "--json"))
    means = {name: one["mean"] for name, one in found["measures"].items()}
    (chunk,) = [chunk for chunk in bench.chunks() if chunk.uri == "lid.md"]
    share = pytest.approx(8 / len(chunk.text))
    assert means["recall@1"] == 1
    assert means["precision@1"] == means["IoU@1"] == means["precision_omega"] == means["IoU_first@1"] == share


def test_a_repeated_chunk_is_taken_for_its_first_place_where_asked(bench: Workbench) -> None:
    bench.settings = {"routes": [{"glob": "*", "strategy": "separator"}]}
    bench.write({"ice.md": "Ice melts.\n\nSnow.\n\nIce melts."})
    bench.ingest()
    question = Question("1", "?", (Target("ice", "Ice melts.", start=19),))
    hits = [hit for hit in bench.store.search("ice melts", k=9, mode="keyword", distinct=False) if hit.start_char == 19]
    excerpts = Excerpts(Answers(bench.store), [question])
    assert excerpts.measure({"1": hits}, "IoU@1") == {"1": 1.0}
    assert excerpts.measure({"1": hits}, "IoU_first@1") == {"1": 0.0}
    assert excerpts.measure({"1": hits}, "precision_omega") == {"1": 1.0}
    assert locate("Snow  and\nice", Target("a", "and ice")) == (6, 13)


def test_measures_of_excerpts_need_passages(bench: Workbench) -> None:
    (bench.folder / "q.csv").write_text("question,uri\nwhere is the lid,lid.md\n")
    where = ["--questions", str(bench.folder / "q.csv"), "--store", str(bench.root), "--measure", "IoU@5"]
    done = CliRunner().invoke(app, ["evaluate", *where])
    assert done.exit_code == 1
    assert "it has no quotation" in done.stderr
