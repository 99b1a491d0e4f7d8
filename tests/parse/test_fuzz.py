"""No damage to a document crashes a parser, its process or the pool, or keeps one busy past its limit."""

import time
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.kit.making.make_golden import samples
from tests.parse.mutation import Damage, damaged, read_damaged

CORPUS = Path(__file__).parents[1] / "corpus"
DOCUMENTS = [*sorted(path for path in CORPUS.rglob("*") if path.is_file()), *samples()]
ROUND = 200
LIMITS = Limits(workers=2, timeout_s=120, memory_mb=2048)


def fates(first: int, pool: Pool, number: int = ROUND) -> list[tuple[Damage, str]]:
    """Return what becomes of the documents, each damaged in its own way."""
    damages = [Damage(DOCUMENTS[seed % len(DOCUMENTS)], seed) for seed in range(first, first + number)]
    results = pool.map(read_damaged, damages)
    return [(d, r.reason if isinstance(r, Rejected) else r) for d, r in zip(damages, results, strict=True)]


def test_damage_is_the_same_for_one_seed_and_another_for_the_next() -> None:
    first = [damaged(Damage(DOCUMENTS[0], seed)) for seed in range(20)]
    assert first == [damaged(Damage(DOCUMENTS[0], seed)) for seed in range(20)]
    assert len(set(first)) > 10


def test_some_damage_crashes_nothing() -> None:
    with Pool(LIMITS) as pool:
        found = fates(1_000_000, pool, 20)
    assert {fate for _, fate in found}.isdisjoint({"crashed", "timeout", "memory"})
    assert "read" in {fate for _, fate in found}


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [pytest.param(60, marks=pytest.mark.soak)])
def test_seconds_of_damage_crash_nothing(seconds: int) -> None:
    pool, end, seen = Pool(LIMITS), time.monotonic() + seconds, Counter[str]()
    try:
        for first in count(0, ROUND):
            found = fates(first, pool)
            bad = [(damage, fate) for damage, fate in found if fate in ("crashed", "timeout", "memory")]
            assert bad == []
            seen.update(fate for _, fate in found)
            if time.monotonic() > end:
                break
    finally:
        pool.close()
    assert seen["read"] > 100
    assert len(seen) > 3
