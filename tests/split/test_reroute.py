"""Routes by region in a real store: what another route touches, and what it leaves as it was."""

import json
from pathlib import Path
from typing import Any

import pytest

from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.snapshots import newest
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")

PROSE = "The mill stands by the river, and the wheel turns while there is water enough to carry it round.\n\n"
TABLE = "| part | weight |\n|---|---|\n" + "".join(f"| millstone {i} of the row | {i} kilograms |\n" for i in range(60))
FILES: dict[str, str | bytes] = {
    "mixed.md": "# Mill\n\n" + PROSE * 8 + "## Weights\n\n" + TABLE + "\n## After\n\n" + PROSE * 8,
    "prose.md": "# River\n\n" + PROSE * 12,
    "weights.csv": "part,weight\n" + "".join(f"stone {i},{i}\n" for i in range(80)),
    "faq.md": "# FAQ\n\n" + "".join(f"## What is stone {i}?\n\nA stone of {i} kilograms.\n\n" for i in range(6)),
}
SMALL_TABLES = {"type": "table", "strategy": "recursive", "options": {"size": 40}}


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("laid"))
    made.write(FILES)
    made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path)


def chunks_of(bench: Workbench, *uris: str) -> set[tuple[Any, ...]]:
    return {(c.chunk_id, c.start_char, c.text, c.strategy, c.embedding_key) for c in bench.chunks() if c.uri in uris}


def vectors(bench: Workbench, keys: list[str]) -> list[Any]:
    snapshot = newest(bench.root)
    assert snapshot is not None
    packs = Packs(tuple(bench.root / piece.file.path for piece in snapshot.artifacts["embeddings"]))
    found: list[Any] = packs.take(keys).to_pylist()
    return found


def test_each_region_goes_to_the_strategy_of_its_type(bench: Workbench) -> None:
    bench.settings = {"routes": [SMALL_TABLES]}
    bench.ingest()
    found = [(c.content_type, c.strategy) for c in bench.chunks() if c.uri == "mixed.md"]
    kinds = list(dict.fromkeys(found))
    assert [kind for kind in kinds if kind[0] == "table"] == [("table", "recursive")]
    assert [strategy for kind, strategy in kinds if kind != "table"] == ["structure"]


def test_no_chunk_reaches_across_a_region(bench: Workbench) -> None:
    bounds = bench.store.sql("SELECT start_char FROM routing WHERE uri = 'mixed.md'").column(0).to_pylist()
    assert len(bounds) == 3
    for chunk in bench.chunks():
        if chunk.uri == "mixed.md":
            assert not any(chunk.start_char < bound < chunk.end_char for bound in bounds)


def test_headings_above_a_region_stand_in_its_context(bench: Workbench) -> None:
    tables = [c for c in bench.chunks() if c.uri == "mixed.md" and c.content_type == "table"]
    assert len(tables) > 1
    assert {c.headings for c in tables} == {("Mill", "Weights")}
    assert all(c.context.startswith("Mill") and "part | weight" in c.context for c in tables[1:])


def test_another_route_of_one_type_touches_the_documents_that_have_it_and_no_other(bench: Workbench) -> None:
    others = chunks_of(bench, "prose.md", "faq.md")
    kept = vectors(bench, sorted(one[-1] for one in others))
    prose = {one for one in chunks_of(bench, "mixed.md") if PROSE.strip() in one[2]}
    bench.settings = {"routes": [SMALL_TABLES]}
    planned = bench.ingest(dry_run=True)
    assert planned.rechunked == ["mixed.md", "weights.csv"]
    assert "re-chunk   mixed.md, weights.csv" in planned.as_text()
    done = bench.ingest()
    assert summary(done).items() >= {"changed": 2, "unchanged": 2}.items()
    assert (done.parsed, done.rechunked) == (0, planned.rechunked)
    assert chunks_of(bench, "prose.md", "faq.md") == others
    assert vectors(bench, sorted(one[-1] for one in others)) == kept
    assert prose <= chunks_of(bench, "mixed.md")
    assert summary(bench.ingest()) == {"unchanged": 4}
    assert verify(bench.root, deep=True) == []


def test_a_route_that_no_document_takes_changes_nothing(bench: Workbench) -> None:
    bench.settings = {"routes": [{"type": "legal", "strategy": "recursive", "options": {"size": 40}}]}
    assert summary(bench.ingest()) == {"unchanged": 4}


def test_the_same_route_in_other_words_changes_nothing(bench: Workbench) -> None:
    bench.settings = {"routes": [{"type": "table", "strategy": "table", "options": {"size": 200}}]}
    assert summary(bench.ingest()) == {"unchanged": 4}


def test_a_glob_decides_for_all_regions_of_its_documents(bench: Workbench) -> None:
    bench.settings = {"routes": [SMALL_TABLES, {"glob": "mixed.*", "strategy": "recursive", "options": {"size": 50}}]}
    assert bench.ingest(dry_run=True).rechunked == ["mixed.md", "weights.csv"]
    bench.ingest()
    assert {c.strategy for c in bench.chunks() if c.uri == "mixed.md"} == {"recursive"}


def test_front_matter_decides_for_its_document(bench: Workbench) -> None:
    own = "---\ndocmill: {strategy: recursive, size: 30}\n---\n"
    bench.write({"prose.md": own + str(FILES["prose.md"])})
    bench.settings = {"routes": [{"glob": "*.md", "strategy": "structure", "options": {"size": 100}}]}
    bench.ingest()
    assert {c.strategy for c in bench.chunks() if c.uri == "prose.md"} == {"recursive"}
    (row,) = bench.store.sql("SELECT DISTINCT strategy, options FROM routing WHERE uri = 'prose.md'").to_pylist()
    assert (row["strategy"], json.loads(row["options"])["size"]) == ("recursive", 30)
    assert summary(bench.ingest()) == {"unchanged": 4}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            "{strategy: recursiv}",
            "front matter, docmill: strategy 'recursiv' does not exist; the nearest is 'recursive'",
        ),
        ("{strategy: recursive, sise: 3}", "recursive has no option 'sise'; the nearest is 'size'"),
        ("{strategy: recursive, size: 3}", "size must be an integer in [16, 32768], got 3"),
        ("recursive", "must be a table such as {strategy: structure, size: 120}, got 'recursive'"),
    ],
)
def test_wrong_front_matter_is_a_reject_that_says_what_is_right(bench: Workbench, said: str, message: str) -> None:
    before = chunks_of(bench, "prose.md")
    bench.write({"prose.md": f"---\ndocmill: {said}\n---\n" + str(FILES["prose.md"])})
    report = bench.ingest()
    (row,) = bench.store.sql("SELECT reason, message FROM rejects").to_pylist()
    assert (row["reason"], report.documents.stale) == ("misrouted", 1)
    assert message in row["message"]
    assert chunks_of(bench, "prose.md") == before


def test_routing_says_what_each_region_is_and_why(bench: Workbench) -> None:
    rows = bench.store.sql("SELECT * FROM routing WHERE uri = 'mixed.md' ORDER BY start_char").to_pylist()
    text = bench.store.document("mixed.md").text
    assert [row["start_char"] for row in rows[1:]] == [row["end_char"] for row in rows[:-1]]
    assert (rows[0]["start_char"], rows[-1]["end_char"]) == (0, len(text))
    table = rows[1]
    assert text[table["start_char"] :].startswith("## Weights")
    assert (table["content_type"], table["score"], table["strategy"]) == ("table", 1.0, "table")
    assert table["evidence"] == [f"a table of {len(TABLE) - 1:,} characters stands inside other text"]
    assert table["runner_up"] in ("structured", "technical", "narrative", "data")
    assert json.loads(table["options"])["size"] == 200


def test_documents_say_which_types_they_have(bench: Workbench) -> None:
    found = bench.store.sql("SELECT uri FROM documents WHERE list_contains(content_types, 'table') ORDER BY 1")
    assert found.column(0).to_pylist() == ["mixed.md", "weights.csv"]
