"""Splitting by vectors: where the subject changes, and which pieces belong together."""

import itertools
import random
import time
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import ConfigError
from docmill.storage.schema import Parsed
from docmill.tasks.counting.tokens import Tokens
from docmill.tasks.split.general.cluster import group, mean_similarity
from docmill.tasks.split.general.semantic import METHODS
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.sentence_vectors import directions
from docmill.tasks.split.spans.pieces import Piece
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.strategies import SPLITTERS, options_of
from tests.kit.documents import document, documents, must_cover, tokenizer
from tests.kit.drawing import examples

MILL = [f"The mill number {i} grinds grain into flour with its stone wheel." for i in range(8)]
SHIP = [f"The ship number {i} sails over the sea with wind in every canvas." for i in range(8)]
CODE = [f"The program number {i} compiles to bytes that a processor runs fast." for i in range(8)]
Vectors = npt.NDArray[np.float32]


def words(texts: Sequence[str]) -> Vectors:
    """Return vectors in which only the subject of a text matters."""
    subjects = ("mill", "ship", "program")
    rows = [[2.0 * (f"The {subject}" in text) for subject in subjects] + [0.5, len(text) % 7 / 10] for text in texts]
    return directions(np.array(rows, np.float64))


def counts(texts: Sequence[str]) -> Vectors:
    """Return vectors of what letters a text has."""
    return directions(np.array([np.bincount([ord(c) % 32 for c in text], minlength=32) for text in texts], np.float64))


def drawn(texts: Sequence[str]) -> Vectors:
    """Return vectors drawn by the text itself, a little alike."""
    rows = [np.random.default_rng(crc32(text.encode())).normal(0.3, size=16) for text in texts]
    return directions(np.array(rows))


def split(
    parsed: Parsed, strategy: str, encode: Callable[[Sequence[str]], Vectors] = words, **options: object
) -> list[str]:
    tokens, lookup = Tokens(parsed.text, tokenizer()), Lookup()
    kind = options_of(strategy, options)
    SPLITTERS[strategy].split(Part.whole(parsed, tokens, lookup), kind)
    asked = list(lookup.wanted)
    answered = Lookup(dict(zip(asked, encode(asked), strict=True)) if asked else {})
    spans = SPLITTERS[strategy].split(Part.whole(parsed, tokens, answered), kind)
    assert answered.complete
    return [parsed.text[slice(*span)] for span in spans]


def subjects(*parts: list[str]) -> Parsed:
    return document(("paragraph", " ".join(itertools.chain.from_iterable(parts))))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_breaks_where_the_subject_changes(method: str) -> None:
    amount = {"threshold": 0.5, "centroid": 0.5, "deviation": 1.0, "percentile": 91}.get(method, -1)
    found = split(subjects(MILL, SHIP, CODE), "semantic", method=method, amount=amount, size=256, buffer=1)
    assert [text.split(" number")[0] for text in found] == ["The mill", "The ship", "The program"]
    assert [text.count("number") for text in found] == [8, 8, 8]


def test_what_is_too_long_without_a_break_is_cut_where_it_is_least_alike() -> None:
    found = split(subjects(MILL[:4], SHIP[:4]), "semantic", size=64, amount=0.0, buffer=1)
    assert len(found) > 1
    assert all(("mill" in text) != ("ship" in text) for text in found)


@pytest.mark.parametrize("buffer", [1, 2])
def test_of_the_gaps_that_a_sentence_is_compared_across_one_at_most_is_a_break(buffer: int) -> None:
    found = split(subjects(MILL, SHIP, CODE), "semantic", drawn, size=256, amount=1.0, buffer=buffer)
    assert len(found) > 2, "every gap is low enough"
    assert all(text.count("number") >= 2 * buffer for text in found[1:-1])


def test_no_break_leaves_less_than_an_eighth_of_the_size() -> None:
    found = split(subjects(SHIP[:1], MILL, CODE[:1]), "semantic", size=128, amount=0.9, buffer=1)
    assert len(found) == 2, "the cap alone cuts it"
    assert split(subjects(SHIP[:1], MILL, CODE[:1]), "semantic", size=64, amount=0.9, buffer=1)[0] == SHIP[0]


def test_one_sentence_changes_few_chunks() -> None:
    rng = random.Random(5)
    text = [f"The mill number {n} has {'very ' * rng.randrange(14)}much." for n in range(300)]
    before, new = set(split(subjects(text), "semantic", drawn)), list[int]()
    for at in rng.sample(range(300), 60):
        for put in ([], [text[at], "A goat."], ["Nothing of the kind was ever seen by any of them."]):
            after = split(subjects(text[:at], put, text[at + 1 :]), "semantic", drawn)
            new.append(sum(one not in before for one in after))
    assert sorted(new)[int(0.95 * len(new))] <= 3
    assert max(new) <= 6


def test_cluster_puts_like_pieces_together() -> None:
    found = split(subjects(MILL, SHIP, CODE), "cluster", size=256, piece=16)
    assert [text.split(" number")[0] for text in found] == ["The mill", "The ship", "The program"]


@pytest.mark.parametrize("strategy", ["semantic", "cluster"])
@examples(80)
@given(parsed=documents())
def test_with_vectors_the_promises_of_every_strategy_hold(strategy: str, parsed: Parsed) -> None:
    tokens, lookup = Tokens(parsed.text, tokenizer()), Lookup()
    options = options_of(strategy, {"size": 32} | ({"piece": 16} if strategy == "cluster" else {}))
    SPLITTERS[strategy].split(Part.whole(parsed, tokens, lookup), options)
    asked = list(lookup.wanted)
    answered = Lookup(dict(zip(asked, counts(asked), strict=True)) if asked else {})
    spans = SPLITTERS[strategy].split(Part.whole(parsed, tokens, answered), options)
    assert spans == sorted(spans)
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    assert must_cover(parsed) <= {i for span in spans for i in range(*span)}
    assert all(len(tokenizer().encode(text, add_special_tokens=False)) <= 256 for text in asked)


@examples(100)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.integers(16, 60))
def test_the_grouping_is_the_best_of_all(count: int, seed: int, size: int) -> None:
    vectors = directions(np.random.default_rng(seed).normal(size=(count, 3)))
    parsed = Parsed("seven words of text are in here. " * count, ())
    width = len(parsed.text) // count
    pieces = [Piece(i * width, (i + 1) * width - 1, 0) for i in range(count)]
    room = Room(Tokens(parsed.text, tokenizer()), size)
    likeness = (vectors @ vectors.T).astype(float)
    mean = likeness[np.triu_indices(count, 1)].mean() if count > 1 else 0.0
    likeness -= mean
    np.fill_diagonal(likeness, 1)

    def worth(groups: Sequence[tuple[int, int]]) -> float:
        return float(sum(likeness[low:high, low:high].sum() for low, high in groups))

    def groupings(start: int) -> list[list[tuple[int, int]]]:
        if start == count:
            return [[]]
        ends = [
            e
            for e in range(start + 1, count + 1)
            if e == start + 1 or room.fits(pieces[start].start, pieces[e - 1].end)
        ]
        return [[(start, end), *rest] for end in ends for rest in groupings(end)]

    found = group(vectors, pieces, room)
    assert found in groupings(0)
    assert worth(found) == pytest.approx(max(map(worth, groupings(0))), abs=1e-5)
    assert mean_similarity(vectors) == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("strategy", ["semantic", "cluster"])
def test_a_long_text_with_vectors_takes_seconds(strategy: str) -> None:
    begin = time.process_time()
    assert split(Parsed("Words go here and there. " * 20_000, ()), strategy, counts)
    assert time.process_time() - begin < 15


@pytest.mark.parametrize("strategy", ["semantic", "cluster"])
def test_without_vectors_a_document_is_split_as_by_recursive(strategy: str) -> None:
    part = Part.whole(subjects(MILL, SHIP), Tokens(subjects(MILL, SHIP).text, tokenizer()))
    kind = options_of("recursive", {"size": 64})
    assert SPLITTERS[strategy].split(part, options_of(strategy, {"size": 64})) == SPLITTERS["recursive"].split(
        part, kind
    )
    assert not part.lookup.complete


def test_wrong_options_say_what_would_be_right() -> None:
    with pytest.raises(ConfigError, match="method must be one of threshold, percentile"):
        options_of("semantic", {"method": "magic"})
    with pytest.raises(ConfigError, match=r"amount must be in \[0, 100\], or -1, got 101"):
        options_of("semantic", {"method": "percentile", "amount": 101})
    with pytest.raises(ConfigError, match="piece must be at most size = 100, got 200"):
        options_of("cluster", {"size": 100, "piece": 200})
