"""The benchmark of weights by question: the model learns what features tell, and is measured on other sets."""

import numpy as np

from tests.bench.finding.weighing import FEATURES, WEIGHTS, Weighed, fit, table


def drawn(name: str, seed: int, told: bool) -> Weighed:
    """Return a set whose first feature tells which questions are found by vectors alone, or one of chance."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(80, len(FEATURES)))
    wanted = np.where(features[:, 0] > 0, 0.9, 0.1) if told else rng.choice([0.1, 0.9], 80)
    worth = (np.abs(np.array(WEIGHTS) - wanted[:, None]) < 0.25).astype(float)
    return Weighed(name, features, worth, np.arange(80) % 2 == 0)


def test_a_feature_that_tells_is_learned_from_the_other_sets() -> None:
    sets = [drawn(name, seed, told=True) for seed, name in enumerate(("a-1", "b-1", "c-1"))]
    model = fit(sets[1:])
    assert model.b[1] > 3 * max(np.abs(model.b[2:]))
    assert sets[0].at(model.weights(sets[0].features)).mean() > 0.8
    lines = list(table(sets))
    assert "**+**" in lines[1]
    assert "| a-1 | 40 |" in lines[1]


def test_chance_is_not_learned_and_sets_of_the_same_data_do_not_teach_each_other() -> None:
    by_chance = [drawn(name, seed, told=False) for seed, name in enumerate(("a-1", "b-1", "c-1"))]
    against_best = [line.split("|")[-2] for line in table(by_chance) if line.startswith(("| a-", "| b-", "| c-"))]
    assert len(against_best) == 3
    assert not any("**+**" in cell for cell in against_best)
    same = [drawn("a-1", 1, told=True), drawn("a-2", 2, told=True)]
    assert [line for line in table(same) if line.startswith("| a")] == []
    assert drawn("untitled", 1, told=True).data == drawn("scifact", 1, told=True).data
