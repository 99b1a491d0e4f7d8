"""Chunk quality: each measure against cases that can be counted by hand, and the command over a real store."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.measure.chunk_quality import needles, plant
from docmill.storage.schema import ChunkRow, Element, Parsed
from docmill.tasks.evaluate import chunk_measures as measures
from docmill.tasks.evaluate.chunk_measures import Written
from tests.kit.workbench import Workbench


def chunk(text: str, start: int, end: int, context: str = "Guide") -> ChunkRow:
    return ChunkRow(f"c{start}", "d", "a.md", 0, start, end, text[start:end], context, (), 0, 1, "", "", 0, "")


def written(text: str, *spans: tuple[int, int]) -> Written:
    parsed = Parsed(text, (Element("paragraph", 0, len(text)),))
    return Written("a.md", parsed, tuple(chunk(text, *span) for span in spans))


def test_sizes_count_what_is_small_and_what_the_model_would_cut() -> None:
    found = measures.sizes([replace(chunk("", 0, 0), tokens=count) for count in (10, 100, 200, 300)], 50, 256)
    assert (found["chunks"], found["tokens mean"], found["below 50 tokens"], found["truncated"]) == (4, 152.5, 0.25, 1)


def test_characters_are_counted_that_several_chunks_hold_or_none() -> None:
    found = measures.spread(written("0123456789 0123456789", (0, 10), (5, 15)))
    assert found == {"characters in several chunks": 0.25, "characters in none": 0.3}


def test_a_chunk_that_cuts_a_sentence_is_told_from_one_that_does_not() -> None:
    text = "The first sentence ends here. The second one is a little longer than that."
    found = dict(measures.boundaries(written(text, (0, 29), (30, 50))))
    assert found["c0"] == {"begins inside a sentence": 0, "ends inside a sentence": 0}
    assert found["c30"] == {"begins inside a sentence": 0, "ends inside a sentence": 1}


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("However, it does not.", "begins with a reference"),
        ("and then some", "begins in lower case"),
        ("See (page 4", "fence or bracket left open"),
    ],
)
def test_a_chunk_that_leans_on_others_shows_signs(text: str, sign: str) -> None:
    found = measures.dependence(chunk(text, 0, len(text)))
    assert [name for name, value in found.items() if value] == [sign]
    assert set(measures.dependence(chunk("Boots last three winters.", 0, 25)).values()) == {0}


def test_duplicates_and_boilerplate_are_shares() -> None:
    text = "Same words\nsame WORDS\nother words"
    assert measures.duplicates([chunk(text, 0, 10), chunk(text, 11, 21), chunk(text, 22, 33)])["duplicates"] == (
        pytest.approx(1 / 3)
    )
    pages = [written(f"Copyright Acme\nPage about {name}s", (0, 14), (15, 28)) for name in ("fig", "nut", "oak")]
    assert measures.boilerplate(pages)["characters in boilerplate"] == pytest.approx(14 / 28, abs=0.02)
    vectors = np.eye(3, dtype=np.float32)[[0, 1, 0]]
    assert next(iter(measures.near_duplicates(vectors).values())) == pytest.approx(1 / 3)


def test_coherence_is_the_mean_cosine_of_pairs() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    assert measures.coherence(vectors) == pytest.approx(1 / 3)


def test_topics_whose_words_go_together_score_higher() -> None:
    apart = [
        "snow winter ice",
        "winter snow ice",
        "ice snow winter",
        "bread flour oven",
        "oven bread flour",
        "flour oven bread",
    ]
    found = measures.topics(apart, count=2, words=3)
    assert found["topics NPMI"] == pytest.approx(1.0)
    assert found["topics UMass"] == pytest.approx(math.log(4 / 3))
    assert measures.topics(["one", "two"]) == {}
    assert measures.topics(["knob one", "knob two"]) == {}


def test_needles_differ_and_stand_where_they_should() -> None:
    made = list(needles())
    assert len({needle.sentence for needle in made}) == len({needle.question for needle in made}) == len(made) == 15
    hay = "A sentence of hay. " * 200
    for needle in made[:5]:
        text = plant(hay, needle)
        place = text.index(needle.sentence) / (len(text) - len(needle.sentence))
        assert place == pytest.approx(needle.depth / 100, abs=0.02)


def test_the_command_measures_a_store_and_keeps_rows(tmp_path: Path, fake_model: str) -> None:
    assert fake_model
    bench = Workbench(tmp_path)
    prose = " ".join(f"Sentence number {n} of the guide tells of boots, ropes and ladders." for n in range(40))
    bench.write({f"{name}.md": f"# {name}\n\n{prose}\n" for name in ("one", "two")})
    bench.ingest()
    where = ["--store", str(bench.root), "--embedding-model", fake_model]
    done = CliRunner().invoke(app, ["evaluate", "chunks", *where, "--json"])
    assert done.exit_code == 0, done.output
    found = {row["measure"]: row["value"] for row in json.loads(done.stdout)}
    assert found["truncated"] == 0
    assert found["duplicates"] > 0.3
    assert 0 <= found["coherence"] <= 1
    assert found["needles found, 2,000 characters"] >= 0
    kept = bench.store.sql("SELECT measure FROM evaluations WHERE kind = 'chunks'").column(0).to_pylist()
    assert set(kept) == set(found)
