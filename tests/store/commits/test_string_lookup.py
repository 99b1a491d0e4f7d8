"""Strings are found among sorted ones by Arrow's binary search, and without it, in an older PyArrow, all the same."""

import random

import pyarrow as pa
import pytest

from docmill.storage.search.keywords.segments import postings
from docmill.storage.search.keywords.segments.postings import StringLookup

LETTERS = "ab\u00e9\u6c34\U0001f600"


@pytest.mark.parametrize("arrows", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_each_string_is_found_where_it_is(seed: int, arrows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not arrows:
        monkeypatch.setattr(postings, "_search_sorted", None)
    draw = random.Random(seed)
    every = ["".join(draw.choices(LETTERS, k=draw.randint(0, 6))) for _ in range(4000)]
    values = sorted(set(every[:2500]), key=str.encode)
    places = {value: place for place, value in enumerate(values)}
    lookup = StringLookup(pa.array(values))
    for count in (0, 3, 3000):
        wanted = [draw.choice([*every, "zz", ""]) for _ in range(count)]
        found = [places.get(one, -1) for one in wanted]
        assert lookup.find_all(wanted).tolist() == found
        assert lookup.find_all(pa.array(wanted, pa.string())).tolist() == found
    assert StringLookup(pa.array([], pa.string())).find_all(["a"]).tolist() == [-1]
