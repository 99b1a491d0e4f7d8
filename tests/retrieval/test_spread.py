"""Spread: whose neighbour a chunk of running text is, and whose it is not."""

from pathlib import Path

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
    assert {found[key].uri for key in places} == {"mill.md"}
    by_section: dict[int, set[tuple[str, ...]]] = {}
    for key, place in places.items():
        assert place.ordinal == found[key].ordinal
        by_section.setdefault(place.section, set()).add(found[key].headings)
    assert sorted(map(list, by_section.values())) == [[("Brook",)], [("Weir",)]]
    hits = bench.store.search("sluice weir", 30, spread=0.3, distinct=False)
    spread = {hit.uri for hit in hits for note in hit.steps if note.step == "spread"}
    assert spread == {"mill.md"}


def test_a_store_without_running_text_takes_a_spread(tmp_path: Path, fake_model: str) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"rows.csv": "name,place\nsluice,weir\n"})
    bench.ingest()
    assert len(bench.store.search("sluice", 3, spread=0.3)) == 1
