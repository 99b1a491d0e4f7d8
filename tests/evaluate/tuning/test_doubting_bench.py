"""The benchmark of confidence: its figures, its fit, and which questions are off-topic."""

from pathlib import Path

import numpy as np
import pytest

from tests.bench.finding.doubting import Judged, area, fit, judged, measured, of_other_sets
from tests.bench.sets.collection import Asked
from tests.kit.workbench import Workbench


def drawn(size: int) -> Judged:
    draw = np.random.default_rng(3)
    rows = draw.normal(size=(size, 4))
    right = (draw.random(size) < 1 / (1 + np.exp(1 - rows @ np.array([2.0, 0, 1, 0])))).astype(float)
    return Judged(
        rows, right, np.ones(size), (draw.random(size) < 0.5).astype(float), (np.arange(size) % 2).astype(float)
    )


def test_the_area_is_the_share_of_pairs_in_the_right_order() -> None:
    assert area(np.array([3.0, 1.0, 2.0]), np.array([True, False, False])) == 1
    assert area(np.array([1.0, 1.0, 2.0]), np.array([True, False, False])) == 0.25


def test_the_fit_finds_the_weights_that_made_the_answers() -> None:
    found = fit([drawn(20_000)])
    assert found == pytest.approx([-1, 2, 0, 1, 0], abs=0.15)


def test_precision_is_that_above_what_nine_of_ten_answerable_questions_reach() -> None:
    size = 200
    kinds = (np.arange(size) < size // 2).astype(float)
    rows = np.zeros((size, 4))
    rows[:, 0] = np.where(kinds == 1, np.arange(size) % 100, np.arange(size) % 100 - 80.0)
    one = Judged(rows, kinds, np.ones(size), kinds, np.ones(size))
    auc, precision, *_ = measured(one, [0, 1, 0, 0, 0])
    # 90 of 100 answerable questions are at 10 or above, and so are 10 of 100 others.
    assert precision == pytest.approx(0.9, abs=0.02)
    assert auc > 0.95


def test_questions_of_the_same_texts_and_of_languages_of_their_own_are_not_off_topic() -> None:
    sets = {name: [Asked(name, name)] for name in ("scifact", "untitled", "cacm", "jaquad", "xquad-en", "xquad-de")}
    assert {one.id for one in of_other_sets("scifact", sets)} == {"cacm", "xquad-en"}
    assert {one.id for one in of_other_sets("xquad-de", sets)} == {"scifact", "untitled", "cacm"}


def test_hits_of_both_kinds_of_questions_are_judged(tmp_path: Path, fake_model: str) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"tea.md": "# Tea\n\nThe kettle stands.\n", "rye.md": "# Rye\n\nBread is baked.\n"})
    bench.ingest()
    own = [Asked("1", "kettle tea", grades={"tea.md": 1})]
    found = judged(bench.store, own, [Asked("2", "bread")], "keyword")
    assert (found.right.tolist(), found.first.tolist(), found.answerable.tolist()) == ([1, 0], [1, 1], [1, 0])
    assert found.evidence.shape == (2, 4)
    assert found.evidence[0, 1] == 1, "the chunk has both words"
