"""Questions that cost nothing: words of links, captions, comments and subjects, with the place of the words hidden."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.cli.commands.evaluate.evaluate_group import Made
from docmill.tasks.evaluate.ask_and_measure import ReadingDepth, SearchMethod, evaluate
from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.evaluate.proxy_questions import KINDS, proxies, read_sources
from docmill.tasks.evaluate.questions import Question, Target
from tests.kit.workbench import Workbench

DOCUMENTS = {
    "guide/start.md": (
        "# Start\n\nFirst [put up the mast](../mast.md), then [tighten each rope](/mast#guy-ropes) and\n"
        "[read more](../mast.md) or [read more](ropes/index.md). [Elsewhere and far](https://x.example/mast).\n\n"
        "[Not there at all](../nowhere.md) and [what this page says](start.md).\n\nSee also: Rope care, `Mast`.\n"
    ),
    "guide/ropes/index.md": "# Rope care\n\nDry them. Then [put up the mast](/mast).\n",
    "mast.md": "# Mast\n\nThe pole stands upright.\n\n## Guy ropes!\n\nFour lines hold the pole.\n",
    "report.md": (
        "# Report\n\nTable 1: Wind speeds by season\n\n| season | speed |\n|---|---|\n| winter | 12 |\n\n"
        "As Figure 2 shows, gusts are rare.\n\nFigure 2: Distribution of gusts over a year\n"
    ),
    "src/wind.py": (
        'def gust(values):\n    """Return the strongest value of ten minutes.\n\n    More.\n    """\n'
        "    return max(values[-600:])\n\n\ndef calm(values):\n    return not values\n"
    ),
    "mail/1.eml": "Message-ID: <1@x>\nFrom: a@x\nSubject: Broken vane on the ridge\n\nIt is bent.\n",
    "mail/2.eml": "Message-ID: <2@x>\nFrom: b@x\nSubject: Re: Broken vane on the ridge\n\nI climb up on Friday.\n",
    "mail/3.eml": "Message-ID: <3@x>\nFrom: b@x\nSubject: Lunch\n\nAt noon.\n",
}


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path)
    made.write({**DOCUMENTS})
    made.ingest()
    return made


def asked(bench: Workbench, kind: str) -> dict[str, tuple[Target, ...]]:
    return {one.text: one.targets for one in proxies(read_sources(bench.store, 100), 100, [kind])}


def test_words_of_a_link_ask_for_the_one_place_that_they_lead_to(bench: Workbench) -> None:
    assert asked(bench, "links") == {
        "put up the mast": (Target("mast.md"),),
        "tighten each rope": (Target("mast.md", "Four lines hold the pole."),),
        "Rope care": (Target("guide/ropes/index.md"),),
    }
    found = {one.text: one for one in proxies(read_sources(bench.store, 100), 100, ["links"])}
    assert sorted(place.document for place in found["put up the mast"].hidden) == [
        "guide/ropes/index.md",
        "guide/start.md",
    ]


def test_the_place_of_a_link_is_no_hit(bench: Workbench) -> None:
    text = bench.store.document("guide/start.md").text
    plain = Question("1", "put up the mast", (Target("guide/start.md"),))
    hidden = Question("1", plain.text, plain.targets, hidden=(Passage("guide/start.md", 0, len(text)),))
    for question, expected in ((plain, 1.0), (hidden, 0.0)):
        (found,) = evaluate(bench.store, [question], [SearchMethod("keyword")], ["Success@5"], ReadingDepth(10))
        assert found.values["Success@5"] == {"1": expected}


def test_captions_ask_for_tables_and_for_what_refers_to_figures(bench: Workbench) -> None:
    assert asked(bench, "captions") == {
        "Wind speeds by season": (Target("report.md", "| season | speed |"),),
        "Distribution of gusts over a year": (Target("report.md", "As Figure 2 shows, gusts are rare."),),
    }


def test_a_comment_asks_for_the_code_below_it(bench: Workbench) -> None:
    assert asked(bench, "docstrings") == {
        "Return the strongest value of ten minutes": (Target("src/wind.py", "return max(values[-600:])"),)
    }


def test_a_subject_asks_for_the_mails_of_its_thread(bench: Workbench) -> None:
    assert asked(bench, "subjects") == {"Broken vane on the ridge": (Target("mail/1.eml"), Target("mail/2.eml"))}


def test_words_of_people_come_first_and_no_question_is_asked_twice(bench: Workbench) -> None:
    sources = read_sources(bench.store, 100)
    found = proxies(sources, 100)
    assert len({one.id for one in found}) == len({one.text.casefold() for one in found}) == len(found)
    first = {
        one.text for kind in ("links", "captions", "docstrings", "subjects") for one in proxies(sources, 9, [kind])
    }
    assert {one.text for one in found[: len(first)]} == first
    assert proxies(sources, 3) == found[:3]


def run(bench: Workbench, *arguments: str) -> tuple[int, Any, str]:
    done = CliRunner().invoke(app, ["evaluate", "--store", str(bench.root), "--json", *arguments])
    return done.exit_code, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_the_command_makes_its_questions(bench: Workbench) -> None:
    status, found, said = run(bench, "--from", "links", "--from", "subjects", "--mode", "keyword", "--measure", "RR")
    assert status == 0
    assert len(found[0]["questions"]["RR"]) == 4
    assert "4 questions with 5 answers" in said
    (row,) = bench.store.sql("SELECT subject, count FROM evaluations").to_pylist()
    assert row == {"subject": "from links, subjects", "count": 4}
    for wrong, why in (
        ((), "give questions with --questions FILE, or have them made with --from links"),
        (("--from", "links", "--questions", "q.csv"), "give questions with --questions FILE"),
    ):
        status, _, said = run(bench, *wrong)
        assert (status, why in said) == (1, True)
    assert (
        {*KINDS} == {one.value for one in Made} == {"links", "captions", "docstrings", "subjects", "headings", "words"}
    )


def test_a_gate_asks_with_what_stands_before_and_after(bench: Workbench) -> None:
    bench.settings = {"gate": {"made_from": ["links"], "metric": "RR"}}
    bench.write({"mast.md": "# Mast\n\nNothing.\n"})
    report = bench.ingest()
    assert report.gate is not None
    assert report.gate.questions == 2, "the section of the third has gone, by intent"
    assert not report.gate.worse
