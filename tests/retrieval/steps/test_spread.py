"""Spread: whose neighbour a chunk of running text is, and whose it is not."""

from pathlib import Path

import pytest

from tests.kit.workbench import Workbench

PROSE = "The miller told his wife that the brook had risen, and she went to look at the {} by the weir. "
TEXT = "\n\n".join(PROSE.format(name) * 3 for name in ("geese", "sluice", "eel trap", "willow"))


def test_only_running_text_of_one_section_has_neighbours(tmp_path: Path, fake_model: str) -> None:
    rows = "name,place\n" + "".join(f"sluice {i},weir {i}\n" for i in range(8))
    routes = [{"glob": "**", "strategy": "structure", "options": {"size": 64}}]
    settings = {"embedding": {"model": fake_model}, "routes": routes, "split": {"table": {"rows": 1}}}
    bench = Workbench(tmp_path, settings)
    bench.write({"mill.md": f"# Brook\n\n{TEXT}\n\n# Weir\n\n{TEXT}", "rows.csv": rows})
    bench.ingest()
    found = {row.chunk_id: row for row in bench.chunks()}
    places = bench.store._sources.places.of(list(found))
    assert set(places) == set(found)
    assert {found[key].uri for key, place in places.items() if place.running} == {"mill.md"}
    by_section: dict[int, set[tuple[str, ...]]] = {}
    for key, place in places.items():
        assert place.ordinal == found[key].ordinal
        if not place.running:
            continue
        by_section.setdefault(place.section, set()).add(found[key].headings)
    assert sorted(map(list, by_section.values())) == [[("Brook",)], [("Weir",)]]
    hits = bench.store.search("sluice weir", 30, spread=0.3, distinct=False)
    spread = {hit.uri for hit in hits for note in hit.steps if note.step == "spread"}
    assert spread == {"mill.md"}


def test_sections_and_documents_rank_among_each_other_as_without_spread_and_lift(
    tmp_path: Path, fake_model: str
) -> None:
    routes = [{"glob": "**", "strategy": "structure", "options": {"size": 64}}]
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}, "routes": routes})
    longer = f"== Brook ==\n\n{TEXT}\n\n== Weir ==\n\n{TEXT.replace('geese', 'heron')}"
    bench.write({"long.txt": longer, "short.md": "# Pond\n\nThe willow stands by the pond.", "rows.csv": "a\nwillow\n"})
    bench.ingest()

    def best(spread: float, lift: float) -> tuple[dict[tuple[str, tuple[str, ...]], float], dict[str, float]]:
        hits = bench.store.search("the willow and the eel trap", 50, spread=spread, lift=lift, distinct=False)
        hits.sort(key=lambda hit: hit.score)
        return {(hit.uri, hit.headings): hit.score for hit in hits}, {hit.uri: hit.score for hit in hits}

    sections, documents = best(0.0, 0.0)
    assert len(sections) == 4
    assert best(0.5, 0.0)[0] == pytest.approx(sections)
    assert best(0.5, 0.5)[1] == pytest.approx(documents)
    assert best(0.0, 0.0)[0] != pytest.approx(best(0.0, 0.5)[0])


def test_only_chunks_of_running_text_are_lifted(tmp_path: Path, fake_model: str) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}, "split": {"table": {"rows": 1}}})
    bench.write({"rows.csv": "name,place\nsluice,weir\nmill,brook\n", "mill.md": TEXT * 3})
    bench.ingest()
    hits = bench.store.search("sluice weir", 30, lift=0.5, distinct=False)
    assert {hit.uri for hit in hits} == {"rows.csv", "mill.md"}
    assert {hit.uri for hit in hits for note in hit.steps if note.step == "lift"} == {"mill.md"}


def test_chunks_that_name_the_title_of_their_document_are_not_lifted(tmp_path: Path, fake_model: str) -> None:
    routes = [{"glob": "**", "strategy": "structure", "options": {"size": 64}}]
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}, "routes": routes})
    bench.write({"named.md": f"# The weir\n\n{TEXT}", "bare.md": TEXT.replace("geese", "heron")})
    bench.ingest()
    titles = bench.store.sql("SELECT uri, title FROM documents ORDER BY uri").to_pylist()
    assert [(row["uri"], row["title"]) for row in titles] == [("bare.md", ""), ("named.md", "The weir")]
    hits = bench.store.search("the willow and the eel trap", 50, lift=0.5, distinct=False)
    assert {hit.uri for hit in hits} == {"named.md", "bare.md"}
    assert {hit.uri for hit in hits for note in hit.steps if note.step == "lift"} == {"bare.md"}


def test_a_store_without_running_text_takes_a_spread(tmp_path: Path, fake_model: str) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"rows.csv": "name,place\nsluice,weir\n"})
    bench.ingest()
    assert len(bench.store.search("sluice", 3, spread=0.3)) == 1
