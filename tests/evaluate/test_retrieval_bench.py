"""The retrieval benchmark: a set is ingested and asked, and two runs are compared question by question."""

from argparse import Namespace
from pathlib import Path

import pytest

from docmill.storage.search.encode import encoder
from docmill.tasks.evaluate.overlap import Passage
from tests.bench.finding.asking import nested, read_way
from tests.bench.finding.halves import halves
from tests.bench.finding.remembering import remember
from tests.bench.finding.results import Costs, Results, SetResult, WayResult, load_results, over_all, rows
from tests.bench.finding.retrieval import main, measure
from tests.bench.sets.collection import Asked, Collection, JudgedSet
from tests.bench.sets.worth import hit_at

DOCUMENTS = {"tea.md": "# Tea\n\nThe kettle stands on the stove.\n", "rye.md": "# Rye\n\nBread is baked slowly.\n"}
ASKED = (
    Asked("1", "where is the kettle", (Passage("tea.md", 7, 39),)),
    Asked("2", "how is bread baked", (Passage("rye.md", 7, 29),)),
    Asked("3", "what stands on the stove", (Passage("tea.md", 7, 39),), besides=frozenset({"tea.md"})),
)
SET = JudgedSet("small", lambda _: Collection(DOCUMENTS, ASKED), hit_at(1), 2)


@pytest.fixture
def remembering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(encoder, "_LOADED", {})
    remember(tmp_path / "vectors")
    return tmp_path / "vectors"


def given(**more: object) -> Namespace:
    known = Namespace(data=None, pages=None, packages=None, half="all", setting=[], failures=0)
    return Namespace(**{**vars(known), **more})


def test_a_set_is_ingested_asked_and_known_the_next_time(
    tmp_path: Path, remembering: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = measure(SET, given(failures=5), tmp_path, ["default", "mode=keyword"])
    assert first is not None
    assert first.ways["default"].values["hit@1"] == {ASKED[0].key: 1.0, ASKED[1].key: 1.0, ASKED[2].key: 0.0}
    assert first.costs.chunks == 2
    assert (first.costs.embedded or 0) > first.costs.tokens  # the marks of the sequence's ends included
    assert (first.costs.seconds or 0) > 0
    told = capsys.readouterr().out
    assert "what stands on the stove" in told
    assert "The kettle stands on the stove." in told
    assert "how is bread baked" not in told
    packs = sorted(remembering.iterdir())
    again = measure(SET, given(), tmp_path, ["default"])
    assert again is not None
    assert (again.costs, sorted(remembering.iterdir())) == (first.costs, packs)
    short = 'routes=[{"glob": "**", "strategy": "fixed", "options": {"size": 16, "unit": "characters"}}]'
    other = measure(SET, given(setting=[short]), tmp_path, ["default"])
    assert other is not None
    assert other.costs.chunks > first.costs.chunks


def test_a_way_and_a_setting_are_read_as_they_are_typed() -> None:
    assert read_way("vectors") == {"mode": "vector"}
    assert read_way("weight=.3, distinct=false,rerank=late,k=7") == {
        "weight": 0.3, "distinct": False, "rerank": "late", "k": 7,
    }  # fmt: skip
    assert nested({"chunk": {"a": 1}}, ["chunk.b=2", "parse.ocr=true"]) == {
        "chunk": {"a": 1, "b": 2}, "parse": {"ocr": True},
    }  # fmt: skip


def run(default: float, other: float, half: str = "report") -> Results:
    def way(value: float) -> WayResult:
        return WayResult({"hit@1": {str(number): value for number in range(20)}}, 1.0, 1.0)

    costs = Costs(1, 2, 3, 4.0)
    return Results(half, {"a": SetResult(costs, {"default": way(default), "vectors": way(other)})})


def test_a_change_is_told_question_by_question_against_the_default_or_an_earlier_run(tmp_path: Path) -> None:
    mine, base = run(0.5, 0.25), run(0.25, 0.25)
    own = [row.split(" | ")[2:5] for row in rows(mine, None, "a")]
    assert own == [["default", "50.0 [50.0, 50.0]", ""], ["vectors", "25.0 [25.0, 25.0]", "-25.0 [-25.0, -25.0] **-**"]]
    base.save(tmp_path / "base.json")
    kept = load_results(tmp_path / "base.json")
    assert kept == base
    assert [row.split(" | ")[4] for row in rows(mine, kept, "a")] == ["+25.0 [+25.0, +25.0] **+**", "+0.0 [+0.0, +0.0]"]
    mine.sets["a"].ways["weight=.3"] = mine.sets["a"].ways["default"]
    assert list(rows(mine, kept, "a"))[-1].split(" | ")[4] == "+25.0 [+25.0, +25.0] **+**"
    first = next(iter(over_all(mine, kept))).split(" | ")
    assert first[2:5] == ["default", "50.0", "+25.0 [+25.0, +25.0] **+**"]


def test_results_of_other_questions_are_not_compared() -> None:
    mine, base = run(0.5, 0.25), run(0.25, 0.25)
    base.sets["a"].ways["default"] = WayResult({"hit@1": {"other": 1.0}}, 1.0, 1.0)
    with pytest.raises(ValueError, match="of other questions"):
        list(rows(mine, base, "a"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--failures", "3"], "--failures needs --half look"), (["--half", "both"], "invalid choice: 'both'")],
)
def test_failures_are_shown_of_the_half_that_no_figure_is_of(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["retrieval", *arguments])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert said in capsys.readouterr().err


def test_the_hybrid_search_is_told_beside_the_better_of_its_halves() -> None:
    def values(*means: float) -> WayResult:
        numbers = {str(n): (means[0] if n % 2 else means[-1]) for n in range(20)}
        return WayResult({"hit@1": dict.fromkeys(numbers, 0.0), "hit@5": numbers}, 1.0, 1.0)

    costs = Costs(1, 2, 3, 4.0)
    worse = {"default": values(0.5), "keywords": values(0.75), "vectors": values(0.25)}
    best = {"default": values(1.0), "keywords": values(0.25), "vectors": values(0.5, 1.0)}
    sets = {"a": SetResult(costs, worse), "b": SetResult(costs, best)}
    lines = [line.strip("| ").split(" | ") for line in halves(Results("report", sets))]
    assert lines[1] == ["a", "hit@5", "20", "75.0", "25.0", "50.0", "-25.0 [-25.0, -25.0] **-**"]
    assert lines[2][:6] == ["b", "hit@5", "20", "25.0", "75.0", "100.0"]
    assert lines[2][6].startswith("+25.0 [")
    assert lines[2][6].endswith("**+**")
    assert lines[3][-4:-1] == ["50.0", "50.0", "75.0"]
    assert lines[3][-1].startswith("+0.0 [")
    del worse["vectors"], best["keywords"]
    assert not list(halves(Results("report", sets)))
