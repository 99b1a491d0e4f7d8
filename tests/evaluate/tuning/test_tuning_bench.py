"""The benchmark of tuning: judged questions are those of `docmill evaluate`, and where a tuning ends is shown."""

from pathlib import Path

import pytest

from docmill.storage.search.encode import encoder
from docmill.tasks.evaluate.overlap import Passage
from tests.bench.finding.remembering import remember
from tests.bench.finding.tuning import KNOWN, known, question, row
from tests.bench.finding.weighing import FEATURES, WEIGHTS, weighed
from tests.bench.sets.collection import Asked, Collection, JudgedSet
from tests.bench.sets.worth import hit_at

TEA = "# Tea\n\nThe kettle stands on the stove.\n"
DOCUMENTS = {"tea.md": TEA, "rye.md": "# Rye\n\nBread is baked slowly.\n"}
LOOK, REPORT = "what stands on the stove", "where is the kettle"


def test_a_judged_question_is_asked_as_a_person_would_give_it() -> None:
    collection = Collection(DOCUMENTS, ())
    (target,) = question(Asked("1", LOOK, (Passage("tea.md", 7, 17),)), collection).targets
    assert (target.document, target.quotation, target.start) == ("tea.md", "The kettle", 7)
    graded = question(Asked("2", LOOK, grades={"rye.md": 2}, besides=frozenset({"tea.md"})), collection)
    assert [(target.document, target.grade) for target in graded.targets] == [("rye.md", 2)]
    assert graded.hidden == (Passage("tea.md", 0, len(TEA)),)


def test_a_set_is_tuned_by_one_half_and_measured_by_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "_LOADED", {})
    remember(tmp_path / "vectors")
    place = (Passage("tea.md", 7, 39),)
    collection = Collection(DOCUMENTS, (Asked("1", LOOK, place), Asked("2", REPORT, place)))
    assert [one.text for one in collection.asked("look")] == [LOOK]
    small = JudgedSet("small", lambda _: collection, hit_at(1), 2)
    found = known(small, collection, tmp_path)
    name, tuned_by, asked, best, most, weight, value, against = row(small, collection, tmp_path, found, "own")
    assert (name, tuned_by, asked) == ("small", "own", "1")
    assert float(best) in KNOWN
    assert (most, weight, value) == ("100.0", "0.4", "100.0")
    assert against == "+0.0 [+0.0, +0.0]"
    read = weighed(small, collection, tmp_path)
    assert read.worth.tolist() == [[1.0] * len(WEIGHTS)] * 2
    assert read.features[:, list(FEATURES).index("begins like a question")].tolist() == [1.0, 1.0]
    assert all(0 < rarest <= 1 for rarest in read.features[:, list(FEATURES).index("rarest term")])
    assert read.reports.tolist() == [False, True]
