"""Ensembles: one text split by several strategies, whose chunks stand side by side in one store."""

import pytest

from docmill.storage.errors import ConfigError
from docmill.storage.schema import Parsed
from docmill.storage.snapshots.clean.verify import verify
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from tests.kit.documents import tokenizer
from tests.kit.workbench import Workbench, summary
from tests.retrieval.vectors.test_parts import prose

FINE = Route("sentence", {"size": 30})


def chunks(text: str, *also: Route) -> list[tuple[str, str]]:
    route = Route("structure", {"size": 120}, also=also)
    found = chunk(Parsed(text, ()), "narrative", route, tokenizer(), ChunkOptions(256))
    return [(draft.strategy, draft.text) for draft in found]


def test_an_ensemble_has_the_chunks_of_each_of_its_strategies() -> None:
    text = prose(60, 1)
    both, coarse = chunks(text, FINE), chunks(text)
    own = chunk(Parsed(text, ()), "narrative", FINE, tokenizer(), ChunkOptions(256))
    assert [one for one in both if one[0] == "structure"] == coarse
    assert [text for name, text in both if name == "sentence"] == [draft.text for draft in own]
    places = [text.index(said) for _, said in both]
    assert places == sorted(places)


def test_what_two_strategies_make_alike_is_one_chunk() -> None:
    assert chunks("The pump leaks.", FINE) == [("structure", "The pump leaks.")]


def test_levels_and_fine_chunks_stand_side_by_side() -> None:
    route = Route("hierarchical", {"size": 120}, also=(FINE,))
    found = chunk(Parsed(prose(60, 2), ()), "narrative", route, tokenizer(), ChunkOptions(256))
    for row, draft in enumerate(found):
        if draft.above:
            parent = found[row - draft.above]
            assert parent.start_char <= draft.start_char < draft.end_char <= parent.end_char
            assert parent.strategy == draft.strategy == "hierarchical"


def test_a_route_under_also_says_how_to_split_and_nothing_else() -> None:
    with pytest.raises(ConfigError, match="also"):
        Route("structure", also=(Route("sentence", contextualizer="none"),))
    with pytest.raises(ConfigError, match="sentense"):
        Route("structure", also=(Route("sentense"),))


def test_a_search_gives_no_stretch_twice(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> None:
    assert fake_model
    also = [{"strategy": "sentence", "options": {"size": 30}}]
    routes = [{"glob": "**", "strategy": "structure", "options": {"size": 120}, "also": also}]
    bench = Workbench(tmp_path_factory.mktemp("ensemble"), settings={"routes": routes})
    bench.write({"page.md": "# Page\n\n" + prose(60, 3)})
    bench.ingest()
    assert {row.strategy for row in bench.chunks()} == {"structure", "sentence"}
    assert verify(bench.root, deep=True) == []
    hits = bench.store.search("pump valve seal", k=10)
    assert {hit.strategy for hit in hits} == {"structure", "sentence"}
    for place, hit in enumerate(hits):
        for better in hits[:place]:
            shared = min(hit.end_char, better.end_char) - max(hit.start_char, better.start_char)
            assert shared <= (hit.end_char - hit.start_char) / 2
    assert summary(bench.ingest()) == {"unchanged": 1}
    bench.settings["routes"] = [{**routes[0], "also": []}]
    assert summary(bench.ingest()) == {"changed": 1}
    assert {row.strategy for row in bench.chunks()} == {"structure"}
