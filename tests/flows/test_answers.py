"""Strategies that ask for vectors, in the whole pipeline: asked once by content, the same with every engine."""

from pathlib import Path

import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.explain import explain
from tests.kit.workbench import Workbench, summary

SUBJECTS = ["mill grinds the grain", "ship sails the sea", "program reads the file"]
SENTENCES = [f"The {subject} and here is number {i} of what it does." for subject in SUBJECTS for i in range(12)]


@pytest.fixture(params=["semantic", "cluster"])
def bench(request: pytest.FixtureRequest, tmp_path: Path, fake_model: str) -> Workbench:
    options = {"size": 64} | ({"piece": 16} if request.param == "cluster" else {})
    routes = [{"glob": "**", "strategy": request.param, "options": options}]
    made = Workbench(tmp_path, {"embedding": {"model": fake_model}, "routes": routes})
    made.write({"a.md": "# Things\n\n" + " ".join(SENTENCES), "b.txt": "Short."})
    return made


def test_sentences_are_embedded_once_and_a_second_run_asks_nothing(bench: Workbench) -> None:
    first = bench.ingest()
    assert first.embedded > len(bench.chunks()) > 3
    assert first.tokens_embedded > first.embedded
    assert {row.strategy for row in bench.chunks()} <= {"semantic", "cluster"}
    assert summary(bench.ingest()) == {"unchanged": 2}


def test_an_edit_embeds_only_what_is_new(bench: Workbench) -> None:
    first = bench.ingest()
    before = {row.text for row in bench.chunks()}
    bench.write(
        {"a.md": "# Things\n\n" + " ".join([*SENTENCES[:5], "A wholly new sentence stands here.", *SENTENCES[5:]])}
    )
    second = bench.ingest()
    new = {row.text for row in bench.chunks()} - before
    assert summary(second)["parsed"] == 1
    assert len(new) <= second.embedded <= 2 * len(new) + 3 < first.embedded


def test_without_the_vectors_pack_it_is_made_again_and_the_chunks_are_the_same(
    bench: Workbench, tmp_path: Path
) -> None:
    bench.ingest()
    other = Workbench(tmp_path / "other", bench.settings)
    other.write({"a.md": "# Things\n\n" + " ".join(SENTENCES), "b.txt": "Short."})
    other.ingest()
    assert [row.text for row in other.chunks()] == [row.text for row in bench.chunks()]


def test_a_dry_run_says_what_a_run_does(bench: Workbench) -> None:
    planned = bench.ingest(dry_run=True)
    done = bench.ingest()
    assert (planned.embedded, planned.chunks.added) == (done.embedded, done.chunks.added)


def test_chunks_by_vectors_are_not_those_of_recursive(bench: Workbench, tmp_path: Path) -> None:
    bench.ingest()
    plain = Workbench(
        tmp_path / "plain",
        {**bench.settings, "routes": [{"glob": "**", "strategy": "recursive", "options": {"size": 64}}]},
    )
    plain.write({"a.md": "# Things\n\n" + " ".join(SENTENCES), "b.txt": "Short."})
    plain.ingest()
    assert [row.text for row in bench.chunks()] != [row.text for row in plain.chunks()]


def test_explain_splits_by_vectors_as_the_pipeline_does(bench: Workbench) -> None:
    bench.ingest()
    settings = Settings.model_validate(bench.settings)
    explained = explain(settings, bench.docs / "a.md", {})
    own = [row.text for row in sorted(bench.chunks(), key=lambda row: row.ordinal) if row.uri == "a.md"]
    assert [draft.text for draft in explained.splits[0].chunks] == own
