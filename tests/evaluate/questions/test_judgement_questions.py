"""Questions from judgements: which passages count as answers, and that another way to split answers them, too."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import QueryError
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.evaluate.judgement_questions import SHARE, as_csv, questions_of
from docmill.tasks.evaluate.questions import Question, Target, load_questions
from docmill.tasks.evaluate.retrieval_measures import holds
from tests.kit.workbench import MakeBench, Workbench

TEXT = "Press the red button twice. Wait until the lamp is steady. Then close the lid. Send the station away."


@pytest.fixture
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"guide.md": f"# Guide\n\n{TEXT}\n", "mill.md": "# Mill\n\nThe mill grinds wheat and rye.\n"})


@pytest.fixture
def store(bench: Workbench) -> Iterator[Store]:
    with bench.store as own:
        yield own


def test_a_query_with_more_voices_for_a_passage_than_against_it_is_a_question(store: Store) -> None:
    hit = store.search("red button", k=1)[0]
    for by, relevant in (("Ada", True), ("Bo", True), ("Cy", False)):
        store.judge("red button", hit, relevant, by=by)
    store.judge("wheat", store.search("wheat", k=1)[0], False, by="Ada")
    store.judge("lamp", hit, by="Ada")
    store.judge("lamp", hit, False, by="Bo")  # one against one: nobody knows
    store.judge("parking", relevant=False, by="Ada")
    (one,) = questions_of(store.judgements())
    assert (one.text, one.targets) == ("red button", (Target("guide.md", hit.text, share=SHARE),))


def test_a_marked_answer_takes_the_place_of_the_hit_around_it_and_others_stay(store: Store) -> None:
    store.judge("what to do", store.search("red button", k=1)[0], by="Ada")
    store.judge("what to do", uri="guide.md", quotation="Wait until the lamp is steady.", by="Bo")
    store.judge("What to  do", store.search("wheat", k=1)[0], by="Bo")
    (one,) = questions_of(store.judgements())
    assert [(target.document, target.quotation) for target in one.targets] == [
        ("guide.md", "Wait until the lamp is steady."),
        ("mill.md", store.search("wheat", k=1)[0].text),
    ]


def test_the_exported_table_is_read_as_the_same_questions(tmp_path: Path) -> None:
    asked = [
        Question("a", 'with "quotes", and\nlines', (Target("guide.md", TEXT, share=0.5), Target("mill.md", "wheat"))),
        Question("b", "another", (Target("mill.md", "The mill", share=0.25),)),
    ]
    (tmp_path / "q.csv").write_text(as_csv(asked))
    assert load_questions(tmp_path / "q.csv") == asked
    (tmp_path / "q.csv").write_text("question,phrase,share\nOne?,it,2\n")
    with pytest.raises(QueryError, match=r"line 2: share must be in \(0, 1\], got '2'"):
        load_questions(tmp_path / "q.csv")
    (tmp_path / "q.csv").write_text("id,question,phrase\n1,One?,it\n1,Two?,it\n")
    with pytest.raises(QueryError, match="'1' is the id of two questions"):
        load_questions(tmp_path / "q.csv")


@pytest.mark.parametrize(
    ("chunk", "answers"),
    [
        (TEXT, True),
        (TEXT.replace("twice", "once"), True),  # an edit of one sentence
        ("Press the red button twice. Wait until the lamp is steady.", True),  # half of it
        ("Wait until the lamp is steady.", True),  # a small chunk that is all of the passage
        ("A chunk of other things, which is long and says much of them. Then close the lid. And it goes on.", False),
        ("Then close the", False),
        ("Something else.", False),
    ],
)
def test_a_chunk_answers_if_it_has_half_of_the_passage_or_is_mostly_a_part_of_it(chunk: str, answers: bool) -> None:
    assert holds(chunk, Target("guide.md", TEXT, share=SHARE)) == answers
    assert holds(chunk, Target("guide.md", TEXT)) == (chunk == TEXT)


def test_judged_queries_are_evaluated_listed_and_exported_by_the_command_line(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, status: int = 0) -> str:
        done = CliRunner().invoke(app, [*arguments, "--store", str(bench.root)])
        assert done.exit_code == status, done.output
        return done.output

    assert "no query has a passage that was judged right" in call("evaluate", "--judged", "--measure", "RR", status=1)
    assert "Nothing was judged yet." in call("judge", "list")
    guide = ("--uri", "guide.md", "--quote", "the lamp is steady")
    assert call("judge", "add", "red button", *guide, "--by", "Ada") == "answer: red button – guide.md\n"
    assert call("judge", "add", "red button", *guide, "--by", "Bo", "--wrong") == "wrong: red button – guide.md\n"
    assert call("judge", "add", "wheat", "--uri", "mill.md", "--quote", "grinds wheat", "--by", "Ada")
    assert call("judge", "add", "parking", "--nothing", "--by", "Ada") == "absent: parking\n"
    assert "leave out --chunk and --uri" in call("judge", "add", "x", "--nothing", *guide, status=1)
    assert call("judge", "list").count("disputed") == 2
    (own,) = [one for one in json.loads(call("judge", "list", "--json")) if one["judged_by"] == "Bo"]
    assert call("judge", "withdraw", own["judgement_id"]) == "1 judgement withdrawn\n"
    assert call("judge", "export", "judged.csv") == "2 questions from 3 judgements written to judged.csv\n"
    for asked in (("--judged",), ("--questions", "judged.csv")):
        found = call("evaluate", *asked, "--mode", "keyword", "--measure", "RR", "--no-keep", "--json")
        assert json.loads(found[found.index("[") :])[0]["measures"]["RR"]["mean"] == 1.0
