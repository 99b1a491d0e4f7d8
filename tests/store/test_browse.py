"""What a store tells of its documents: lists, outlines, sections, neighbours and similar chunks."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

import pytest

import docmill
from docmill.storage.errors import QueryError, SourceError
from docmill.storage.schema import Element
from docmill.storage.snapshots.read.outline import outline
from docmill.storage.snapshots.read.store import Store
from tests.kit.workbench import Workbench

MANUAL = """Read this first.

# Manual

Words before the parts.

## Parts

The rotor turns.

### Rotor

It has three blades.

## Care

Clean it in spring.

## Parts

Ordered by telephone.
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Iterator[Store]:
    assert fake_model
    routes = [{"glob": "a/essay.txt", "strategy": "recursive", "options": {"size": 24}}]
    bench = Workbench(tmp_path_factory.mktemp("browsed"), {"routes": routes})
    essay = "\n\n".join(f"Paragraph {n} speaks of the {word} mill.\n" * 3 for n, word in enumerate("abcdefgh"))
    bench.write({"manual.md": MANUAL, "a/essay.txt": essay, "a/b.md": "# B\n\nShort.\n", "z.csv": "x,y\n1,2\n"})
    bench.ingest()
    with bench.store as own:
        yield own


def test_documents_are_listed_in_pages_and_filtered(store: Store) -> None:
    uris = [row.uri for row in store.documents()]
    assert uris == sorted(uris)
    assert uris == ["a/b.md", "a/essay.txt", "manual.md", "z.csv"]
    first = store.documents(limit=3)
    assert [row.uri for row in (*first, *store.documents(after=first[-1].uri))] == uris
    assert [row.uri for row in store.documents(prefix="a/")] == uris[:2]
    assert [row.uri for row in store.documents("format = 'markdown' -- a comment", prefix="m")] == ["manual.md"]
    assert store.documents("characters < 0") == []
    assert store.documents(limit=0) == []


@pytest.mark.parametrize("where", ["no_column = 1", "1 = 1) OR (1 = 1", "", "uri = '\ud800'"])
def test_a_wrong_filter_of_documents_is_refused(store: Store, where: str) -> None:
    with pytest.raises(QueryError):
        store.documents(where)


@pytest.mark.parametrize("limit", [-1, "2", 1.5])
def test_a_wrong_limit_is_refused(store: Store, limit: Any) -> None:
    with pytest.raises(QueryError, match=f"^limit must be a whole number.*, got {limit!r}$"):
        store.documents(limit=limit)


def test_an_outline_covers_the_document(store: Store) -> None:
    found = store.outline("manual.md")
    text = store.document("manual.md").text
    assert [(one.number, one.heading, one.level) for one in found] == [
        ("0", "", 0),
        ("1", "Manual", 1),
        ("1.1", "Parts", 2),
        ("1.1.1", "Rotor", 3),
        ("1.2", "Care", 2),
        ("1.3", "Parts", 2),
    ]
    assert found[3].headings == ("Manual", "Parts", "Rotor")
    assert found[0].end_char == found[1].start_char
    assert {one.characters == one.end_char - one.start_char for one in found} == {True}
    assert all(text[one.start_char :].startswith("#" * one.level) for one in found[1:])
    assert (found[1].end_char, found[-1].end_char) == (len(text), len(text))
    assert {one.text for one in found} == {""}
    assert [one.line for one in found] == [1, 3, 7, 11, 15, 19]
    assert {one.page for one in found} == {None}


def test_the_sections_of_one_level_follow_each_other(store: Store) -> None:
    level = [one for one in store.outline("manual.md") if one.level == 2]
    assert all(left.end_char == right.start_char for left, right in pairwise(level))


def test_a_section_is_found_by_its_number_and_by_its_heading(store: Store) -> None:
    by_number, by_heading = store.section("manual.md", "1.1.1"), store.section("manual.md", "rotor")
    assert by_number == by_heading == store.section("manual.md", " Manual › Parts  › Rotor ")
    assert by_number.text == "### Rotor\n\nIt has three blades.\n\n"
    assert store.section("manual.md", "0").text == "Read this first.\n\n"
    assert "### Rotor" in store.section("manual.md", "1.1").text


def test_a_section_that_is_not_there_or_not_the_only_one_is_told_by_number(store: Store) -> None:
    with pytest.raises(QueryError, match=r"several sections are called 'Parts'.*1.1 Parts, 1.3 Parts$"):
        store.section("manual.md", "Parts")
    with pytest.raises(QueryError, match=r"no section '7'.*: 0, 1 Manual, 1.1 Parts"):
        store.section("manual.md", "7")
    with pytest.raises(QueryError, match=r"no document 'no\.md' in snapshot 1"):
        store.outline("no.md")
    with pytest.raises(QueryError, match=r"no document 'Essay' in snapshot 1; alike: 'a/essay\.txt'$"):
        store.document("Essay")


def test_a_document_without_headings_is_one_section(store: Store) -> None:
    (only,) = store.outline("a/essay.txt")
    assert (only.number, only.start_char, only.end_char) == ("0", 0, len(store.document("a/essay.txt").text))


def test_an_outline_tells_pages() -> None:
    text = "One\n\nfirst words\n\nTwo\n\nsecond words, third words"
    elements = [
        Element("title", 0, 3, level=1, page=1),
        Element("paragraph", 5, 16, page=1),
        Element("title", 18, 21, level=1, page=2),
        Element("paragraph", 23, 36, page=2),
        Element("paragraph", 37, len(text), page=3),
    ]
    assert [(one.number, one.page, one.last_page) for one in outline(text, elements)] == [("1", 1, 1), ("2", 2, 3)]
    assert [one.number for one in outline("", [])] == []


def test_neighbours_are_the_chunks_around_a_chunk(store: Store) -> None:
    rows = store.sql("SELECT chunk_id FROM chunks WHERE uri = 'a/essay.txt' ORDER BY ordinal").to_pylist()
    ids = [row["chunk_id"] for row in rows]
    assert len(ids) > 4
    assert [row.chunk_id for row in store.neighbours(ids[2], 1, 2)] == ids[1:5]
    assert [row.chunk_id for row in store.neighbours(ids[0])] == ids[:2]
    assert [row.chunk_id for row in store.neighbours(ids[1], before=0, after=0)] == ids[1:2]
    assert [row.chunk_id for row in store.neighbours(ids[-1], 99, 99)] == ids
    with pytest.raises(QueryError, match="before must be a whole number of at least 0, got -1"):
        store.neighbours(ids[0], -1)
    for wrong in ("f" * 32, "no id", ""):
        with pytest.raises(QueryError, match="no chunk"):
            store.neighbours(wrong)


def test_similar_chunks_are_the_nearest_by_their_vectors(store: Store) -> None:
    hit = store.search("the mill", k=1)[0]
    nearest = store.sql(f"SELECT chunk_id, similarity FROM neighbours('{hit.chunk_id}', 3)").to_pylist()
    found = store.similar(hit.chunk_id, k=3)
    assert [one.rank for one in found] == [1, 2, 3]
    scores = [one.vector_score for one in found]
    assert scores == pytest.approx([row["similarity"] for row in nearest], abs=1e-5)
    assert hit.chunk_id not in {one.chunk_id for one in found}
    assert {one.uri for one in store.similar(hit.chunk_id, 9, "uri = 'manual.md'")} == {"manual.md"}
    assert store.similar(hit.chunk_id, where="uri = 'none'") == []
    with pytest.raises(QueryError, match="k must be a whole number of at least 1"):
        store.similar(hit.chunk_id, 0)
    with pytest.raises(QueryError, match="no chunk"):
        store.similar("f" * 32)


def test_a_statement_returns_its_first_rows(store: Store) -> None:
    assert store.sql("SELECT * FROM range(100000) AS n(i)", rows=3).column("i").to_pylist() == [0, 1, 2]
    assert store.sql("SELECT 1 AS one WHERE false", rows=3).num_rows == 0
    assert store.sql("SELECT 1 AS one", rows=0).column_names == ["one"]
    with pytest.raises(QueryError, match=r"ran for more than 0\.2 s"):
        store.sql("SELECT count(*) FROM range(10000000000) AS n(i) WHERE i % 7 = 3", seconds=0.2)


def test_what_is_no_id_and_no_source_is_told_in_words(store: Store) -> None:
    for wrong in (3, None):
        with pytest.raises(QueryError, match=f"^chunk_id must be a string, got {wrong}$"):
            store.similar(cast("Any", wrong))
        with pytest.raises(SourceError, match=f"^sources must be a path, an address or a list of them, got {wrong}$"):
            docmill.plan(cast("Any", wrong))
