"""Hierarchical rows know their parents and children, and a search can give the parents of what it finds."""

from pathlib import Path

import pytest

from docmill.storage.schema import ChunkRow
from docmill.storage.snapshots.clean.verify import verify
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")

MILL = "The mill grinds wheat in autumn. The miller rests at noon. Sparrows steal what is spilled."
DAM = "The dam holds the water back. A sluice lets it go. Eels pass by night."
TEXT = f"# Works\n\nWhat stands at the river.\n\n## Mill\n\n{MILL}\n\nThe stones are old.\n\n## Dam\n\n{DAM}\n"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path, {"routes": [{"glob": "*.md", "strategy": "hierarchical"}]})
    made.write({"works.md": TEXT})
    made.ingest()
    return made


def test_links_lead_both_ways_and_parents_hold_their_children(bench: Workbench) -> None:
    rows = {row.chunk_id: row for row in bench.chunks()}
    assert {row.role for row in rows.values()} == {"section", "paragraph", "sentence"}
    for row in rows.values():
        assert all(rows[child].parent_id == row.chunk_id for child in row.children)
        assert bool(row.parent_id) == bool(row.depth) == bool(row.above)
        if row.parent_id:
            parent = rows[row.parent_id]
            assert row.chunk_id in parent.children
            assert parent.ordinal == row.ordinal - row.above
            assert parent.start_char <= row.start_char < row.end_char <= parent.end_char
    assert verify(bench.root, deep=True) == []


def test_links_stay_right_in_a_copy_and_after_another_document_has_changed(bench: Workbench) -> None:
    def links(rows: list[ChunkRow]) -> list[tuple[str, str]]:
        texts = {row.chunk_id: row.text for row in rows}
        return sorted((row.text, texts[row.parent_id]) for row in rows if row.parent_id)

    before = links(bench.chunks())
    bench.write({"copy.md": TEXT, "other.txt": "Other words.\n"})
    assert summary(bench.ingest())["added"] == 2
    for uri in ("works.md", "copy.md"):
        assert links([row for row in bench.chunks() if row.uri == uri]) == before


def test_a_search_gives_each_parent_once(bench: Workbench) -> None:
    options = {"mode": "keyword", "where": "role = 'sentence'"}
    sentences = bench.store.search("miller sparrows eels", 5, **options)  # type: ignore[arg-type]
    assert {hit.role for hit in sentences} == {"sentence"}
    parents = bench.store.search("miller sparrows eels", 5, parents=True, **options)  # type: ignore[arg-type]
    assert {hit.text for hit in parents} == {f"## Dam\n\n{DAM}", f"## Mill\n\n{MILL}"}
    assert {hit.matched for hit in parents} <= {hit.chunk_id for hit in sentences}
    places = {
        hit.chunk_id: f"represents {hit.uri} {hit.start_char}-{hit.end_char}, which was found" for hit in sentences
    }
    assert all(places[hit.matched] in [note.said for note in hit.steps] for hit in parents)
    assert [hit.rank for hit in parents] == [1, 2]
    assert len(bench.store.search("miller sparrows eels", 1, parents=True, **options)) == 1  # type: ignore[arg-type]


def test_chunks_without_parents_stand_for_themselves(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({"works.md": TEXT})
    bench.ingest()
    plain, asked = (bench.store.search("sparrows", 3, "keyword", parents=parents) for parents in (False, True))
    assert plain == asked
    assert plain[0].matched == ""
