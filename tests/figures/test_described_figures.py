"""Figures that a language model describes, on a loopback server: asked once by content, found by what it says."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from docmill.storage.errors import ConfigError, Terminal
from docmill.storage.keys import hash_bytes
from docmill.storage.schema import REFUSED, KeptPicture
from docmill.storage.snapshots.clean.verify import verify
from docmill.tasks.model import completion
from docmill.tasks.model.completion import sent
from docmill.tasks.model.prompt import PICTURE_TOKENS
from tests.kit.model_server import ModelServer
from tests.kit.workbench import Workbench
from tests.kit.writers.figures import data_uri, drawn

ONE, TWO, THREE = drawn(1), drawn(2), drawn(3)
PRICES = {"input": 2.0, "output": 10.0}
SIGHTS = {
    hash_bytes(ONE): "a walrus on an ice floe",
    hash_bytes(TWO): "zeppelins over a harbour",
    hash_bytes(THREE): "an umbrella in the rain",
}
PAGE = f"""<h1>Lagoon</h1><p>The bloom of June.</p><img src="{data_uri(ONE)}" alt="Bars by month">
<p>The soundings of the buoys.</p><img src="{data_uri(TWO)}">"""


@pytest.fixture
def bench(tmp_path: Path, fake_model: str, server: ModelServer) -> Workbench:
    model = {"provider": "openai", "model": "loopback", "base_url": f"{server.url}/v1", "prices": PRICES}
    settings = {"embedding": {"model": fake_model}, "model": model, "chunk": {"describe_figures": True}}
    made = Workbench(tmp_path, settings | {"parse": {"ocr": False}})
    made.write({"lagoon.html": PAGE})
    server.sights = dict(SIGHTS)
    return made


def said(bench: Workbench) -> dict[str, str]:
    """Return what the contexts of the figures' chunks end with, and their states, by their texts."""
    rows = [row for row in bench.chunks() if row.role == "figure"]
    return {row.text[:9]: row.context_state or row.context.split("\n")[-1] for row in rows}


def test_a_picture_is_found_by_what_a_model_says_of_it(bench: Workbench, server: ModelServer) -> None:
    planned = bench.ingest(dry_run=True)
    assert server.asked() == 0
    report = bench.ingest()
    assert planned.model["calls"] == report.model["calls"] == server.asked() == 2
    assert planned.model["input"] > 2 * PICTURE_TOKENS
    assert said(bench) == {
        "![Bars by": "It shows a walrus on an ice floe.",
        "![](docmi": "It shows zeppelins over a harbour.",
    }
    with bench.store as store:
        assert "walrus" not in store.document("lagoon.html").text
        for words in ("walrus floe", "zeppelins harbour"):
            hit = store.search(words, 1)[0]
            assert (hit.role, words.split()[0] in hit.context) == ("figure", True)
        assert store.sql("SELECT purpose, calls FROM costs").to_pylist() == [{"purpose": "figures", "calls": 2}]
    assert verify(bench.root, deep=True) == []


def test_nothing_is_paid_for_twice(bench: Workbench, server: ModelServer) -> None:
    bench.ingest()
    assert server.asked() == 2
    assert bench.ingest().snapshot is None
    (bench.docs / "lagoon.html").rename(bench.docs / "laguna.html")
    assert bench.ingest().documents.moved == 1
    bench.write(
        {"laguna.html": PAGE.replace("bloom of June", "bloom of July"), "other.md": "# Other\n\n![](two.png)\n"}
    )
    bench.write({"two.png": TWO})
    bench.ingest()
    assert server.asked() == 0, "other documents show pictures that are known"
    bench.write({"three.png": THREE})
    bench.ingest()
    assert server.asked() == 1
    bench.settings["chunk"] = {}
    bench.ingest()
    assert said(bench) == {}
    bench.settings["chunk"] = {"describe_figures": True}
    bench.ingest()
    assert server.asked() == 0


def test_a_picture_without_a_word_is_a_chunk_by_its_description_alone(bench: Workbench, server: ModelServer) -> None:
    bench.write({"lagoon.html": None, "three.png": THREE})
    bench.ingest()
    (row,) = bench.chunks()
    assert (row.role, row.context) == ("figure", "It shows an umbrella in the rain.")
    assert [hit.uri for hit in bench.store.search("umbrella", 3)] == ["three.png"]
    bench.settings["chunk"] = {}
    bench.ingest()
    assert bench.chunks() == []
    assert server.asked() == 1


def test_a_stored_document_is_described_from_the_pictures_that_the_store_has(
    bench: Workbench, server: ModelServer
) -> None:
    bench.settings["chunk"] = {}
    bench.ingest()
    assert server.asked() == 0
    bench.settings["chunk"] = {"describe_figures": True}
    report = bench.ingest()
    assert (report.parsed, server.asked()) == (0, 2)
    assert len(said(bench)) == 2


@pytest.mark.parametrize("mood", ["429", "500"])
def test_an_outage_leaves_figures_undescribed_until_the_next_run(
    bench: Workbench, server: ModelServer, mood: str
) -> None:
    server.behave(mood)
    report = bench.ingest()
    assert (report.model["failed"], report.exit_status) == (2, 3)
    assert any("calls to the language model failed" in problem for problem in report.problems)
    assert said(bench) == {"![Bars by": "missing"}, "a picture without words would be found by anything"
    server.behave("well")
    again = bench.ingest()
    assert (again.exit_status, again.parsed, len(said(bench))) == (0, 0, 2)


def test_a_refused_picture_is_marked_and_asked_for_again_on_request(bench: Workbench, server: ModelServer) -> None:
    server.behave("refusal")
    report = bench.ingest()
    assert (report.model["refused"], report.model["failed"], report.exit_status) == (2, 0, 3)
    assert said(bench) == {"![Bars by": REFUSED, "![](docmi": REFUSED}
    server.behave("well")
    server.asked()
    bench.ingest()
    assert server.asked() == 0
    assert bench.ingest(refresh_contexts=True).exit_status == 0
    assert (server.asked(), "walrus" in said(bench)["![Bars by"]) == (2, True)


def test_a_bound_of_cost_holds(bench: Workbench, server: ModelServer) -> None:
    bench.settings["model"] |= {"max_cost": PICTURE_TOKENS * PRICES["input"] / 1e6}
    report = bench.ingest()
    assert (report.model, report.exit_status, server.asked()) == ({"left": 2}, 3, 0)
    assert any("--max-cost was reached" in problem for problem in report.problems)


def test_what_a_picture_makes_a_model_say_is_one_line(bench: Workbench, server: ModelServer) -> None:
    server.words = "\x1b[2JBUY\u202e now\n[[routes]]\n" + "and again " * 3000
    server.behave("obedient")
    bench.ingest()
    assert all(line.startswith("[2JBUY now [[routes]] and again") for line in said(bench).values())


def test_anthropic_gets_the_picture_first(
    bench: Workbench, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-a-real-key")
    bench.settings["model"] |= {"provider": "anthropic", "base_url": server.url}
    bench.ingest()
    for _, _, body in server.requests:
        shown, told = body["messages"][0]["content"]
        assert (shown["type"], shown["source"]["media_type"], told["type"]) == ("image", "image/png", "text")
    assert "zeppelins" in said(bench)["![](docmi"]


def test_without_a_model_it_says_what_to_set(bench: Workbench) -> None:
    bench.settings["model"] = {}
    with pytest.raises(ConfigError, match="describe_figures = false"):
        bench.ingest()


def kept(data: bytes, width: int, height: int) -> KeptPicture:
    return KeptPicture(hash_bytes(data), "image/png", width, height, data)


def test_a_large_picture_is_sent_smaller_and_a_damaged_one_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    from base64 import b64decode

    wide = drawn(1, 3 * completion.LONGEST_SIDE, 100)
    smaller = sent(kept(wide, 3 * completion.LONGEST_SIDE, 100))
    with Image.open(BytesIO(b64decode(smaller.encoded))) as image:
        assert (smaller.media_type, image.size, image.format) == ("image/jpeg", (1024, 33), "JPEG")
    assert b64decode(sent(kept(ONE, 160, 120)).encoded) == ONE
    monkeypatch.setattr(completion, "_MOST_BYTES", len(ONE) - 1)
    assert sent(kept(ONE, 160, 120)).media_type == "image/jpeg"
    with pytest.raises(Terminal, match="cannot be read"):
        sent(kept(wide[: len(wide) // 2], 2000, 2000))
    with pytest.raises(Terminal, match="not in the store"):
        sent(None)
