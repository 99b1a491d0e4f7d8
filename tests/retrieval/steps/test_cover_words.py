"""Cover words: of documents that say the same, the one whose cover the query names comes first."""

from pathlib import Path

import pytest

from docmill.storage.search.rank.candidates.search_options import Fusion
from tests.kit.workbench import Workbench

COVERS = {name: f"{name} Optics\n\n3 May 2025\n\nto all shareholders" for name in ("Tarnley", "Harrow", "Wexcombe")}
SAID = "The dividend of the year is paid in June, and the board thanks everybody who made it possible. "
QUERY = "dividend of Harrow Optics"


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    routes = [{"glob": "**", "strategy": "structure", "options": {"size": 48}}]
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}, "routes": routes})
    plain = "\n\n".join(SAID + f"Note {number}." for number in range(6))
    reports: dict[str, str | bytes] = {
        f"{number}.txt": f"{cover}\n\n{plain}" for number, cover in enumerate(COVERS.values())
    }
    bench.write(reports | {"named.md": f"# Harrow Optics\n\n{plain}"})
    bench.ingest()
    return bench


def test_what_the_cover_says_counts_where_the_document_has_no_title(bench: Workbench) -> None:
    titles = bench.store.sql("SELECT uri, title FROM documents ORDER BY uri").to_pylist()
    assert [(row["uri"], row["title"]) for row in titles if row["title"]] == [("named.md", "Harrow Optics")]
    hits = bench.store.search(QUERY, 40, cover=1.0, distinct=False)
    noted = {hit.uri for hit in hits for note in hit.steps if note.step == "cover" and "has" in note.said}
    assert noted == {"0.txt", "1.txt", "2.txt"}  # all are of an Optics
    said = [note.said for hit in hits if hit.uri == "1.txt" for note in hit.steps if note.step == "cover"]
    assert said[0].startswith("the cover of the document has ")
    harrow = min(hit.rank for hit in hits if hit.uri == "1.txt")
    others = min(hit.rank for hit in hits if hit.uri in {"0.txt", "2.txt"})
    assert harrow < others
    assert all(0 <= hit.relevance <= 1 for hit in hits)


def test_without_the_share_or_the_words_nothing_changes(bench: Workbench) -> None:
    def ranked(query: str, cover: float) -> list[tuple[str, float]]:
        return [(hit.chunk_id, hit.score) for hit in bench.store.search(query, 40, cover=cover, distinct=False)]

    assert ranked("who is paid in June", 0.0) == ranked("who is paid in June", 1.0)
    assert ranked(QUERY, 0.0) != ranked(QUERY, 1.0)
    scores = [score for _, score in ranked(QUERY, 1.0)]
    assert max(scores) <= 1.0


@pytest.mark.parametrize("fusion", ["rrf", "weighted_rrf"])
def test_a_cover_counts_in_proportion_to_the_scores_of_the_fusion(bench: Workbench, fusion: Fusion) -> None:
    plain = bench.store.search(QUERY, 1, fusion=fusion, cover=0.0)[0]
    covered = bench.store.search(QUERY, 1, fusion=fusion, cover=1.0)[0]
    assert covered.uri in {"1.txt", "named.md"}
    assert covered.score <= 2 * plain.score
