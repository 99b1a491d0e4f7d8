"""`[chunk] size = "model"`: chunks as long as the embedding model reads, where nothing else names a size."""

from pathlib import Path

import pytest

from docmill.flows.config.from_settings import routes_of
from docmill.flows.config.settings import Settings
from docmill.storage.search.encode import encoder, space
from docmill.storage.snapshots.clean.verify import verify
from tests.kit.fake_encoder import TokenCounts, write_model
from tests.kit.workbench import Workbench, summary

PROSE = " ".join(f"The wheel number {n} of the mill turns in the river." for n in range(180))  # 2,000 tokens
PAGES = {
    "long.md": f"# Mill\n\n{PROSE}\n",
    "own.md": f"---\ndocmill: {{strategy: sentence}}\n---\n\n{PROSE}\n",
    "short.md": f"---\ndocmill: {{strategy: sentence, size: 60}}\n---\n\n{PROSE}\n",
}


@pytest.mark.parametrize("limit", [512, 32_768])
def test_chunks_are_as_long_as_the_model_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    folder = write_model(tmp_path / "model", tokens=limit)
    monkeypatch.setitem(space.FOLDERS, "reads", lambda: folder)
    monkeypatch.setitem(encoder.LOADERS, "reads", TokenCounts)
    monkeypatch.setattr(encoder, "_LOADED", {})
    bench = Workbench(tmp_path / "bench", {"embedding": {"model": "reads"}})
    bench.write({**PAGES})

    def longest(uri: str) -> int:
        return max(chunk.tokens for chunk in bench.chunks() if chunk.uri == uri)

    bench.ingest()
    assert {longest("long.md") <= 250, longest("own.md") <= 250} == {True}
    short = longest("short.md")
    bench.settings["chunk"] = {"size": "model"}
    assert summary(bench.ingest())["changed"] == 2, "what names its size keeps it"
    room = min(limit, 2_100)  # tokens, which the texts have
    for uri in ("long.md", "own.md"):
        assert 0.8 * room - 48 < longest(uri) <= limit, uri
    assert longest("short.md") == short
    assert verify(bench.root, deep=True) == []


def test_a_size_in_the_settings_stays() -> None:
    chosen = {
        "chunk": {"size": "model"},
        "split": {"structure": {"size": 300}},
        "routes": [
            {"glob": "*.txt", "strategy": "recursive"},
            {"glob": "*.rst", "strategy": "fixed", "options": {"size": 1000, "unit": "characters"}},
            {"type": "faq", "strategy": "qa", "also": [{"strategy": "sentence"}]},
        ],
    }
    table = routes_of(Settings.model_validate(chosen), 9000)
    text, characters = (route for _, route in table.by_glob)
    assert table.default.options == {"size": 300}
    assert (text.options, characters.options["size"]) == ({"size": 9000}, 1000)
    assert [one.options for one in table.by_type["faq"].ensemble] == [{"size": 9000}] * 2
    assert table.by_type["table"].options == {"size": 9000}
    assert routes_of(Settings.model_validate(chosen | {"chunk": {}}), 9000).by_glob[0][1].options == {}
    windows = routes_of(Settings.model_validate({**chosen, "routes": [{"glob": "*", "strategy": "fixed"}]}), 9000)
    assert windows.by_glob[0][1].options == {"size": 8192}, "as much as this strategy takes"
