"""Pictures that a model behind an API embeds: sent once by content, planned, paid for within bounds, found by words."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from docmill.flows.config.settings import EmbeddingSettings
from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.search.encode.api import api_address
from docmill.storage.search.pictures.picture_encoder import PICTURE_TOKENS
from docmill.storage.snapshots.clean.verify import verify
from tests.figures.test_pictured_figures import BLUE, PAGE, RED, found, held
from tests.kit.model_server import UNKNOWN, ModelServer
from tests.kit.workbench import Workbench
from tests.kit.writers.figures import data_uri


@pytest.fixture
def bench(tmp_path: Path, fake_model: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pictures = {"pictures": f"openai:clip?base_url={server.url}/v1", "pictures_price": 2.0}
    own = Workbench(tmp_path / "bench", {"embedding": {"model": fake_model} | pictures, "parse": {"ocr": False}})
    own.write({"lagoon.html": PAGE, "blue.png": BLUE, "notes.md": "# Notes\n\nNothing is shown here.\n"})
    return own


@pytest.fixture
def sent(server: ModelServer) -> Callable[[], int]:
    """Return the number of pictures that were sent since the last time, besides the blank one."""

    def count() -> int:
        bodies = [body for _, _, body in server.requests]
        server.requests.clear()
        return sum("messages" in body and server.seen(body["messages"][0]) != "white" for body in bodies)

    return count


def test_words_find_a_picture_that_a_server_has_seen(bench: Workbench, sent: Callable[[], int]) -> None:
    planned = bench.ingest(dry_run=True)
    most = 3 * PICTURE_TOKENS
    assert (planned.pictures.embedded, planned.pictures.input, sent()) == (3, most, 0)
    assert planned.pictures.money == most * 2 / 1e6
    assert f"3 would be embedded by openai:clip ({most} input, {most * 2 / 1e6:g} money)" in planned.as_text()
    report = bench.ingest()
    assert (report.pictures.embedded, sent()) == (3, 3)
    assert 0 < report.pictures.input < most
    assert found(bench, "red")[0].startswith("lagoon.html ![](d")
    assert found(bench, "blue")[0].startswith("blue.png ![](d")
    with bench.store as store:
        (cost,) = store.sql("SELECT model, purpose, calls, money FROM costs").to_pylist()
        assert (cost["model"], cost["purpose"], cost["calls"]) == ("openai/clip", "pictures", 4), "and a blank one"
        assert cost["money"] > 0
    assert verify(bench.root, deep=True) == []
    assert bench.ingest().snapshot is None


def test_no_picture_and_no_query_is_sent_twice(bench: Workbench, server: ModelServer, sent: Callable[[], int]) -> None:
    bench.ingest()
    assert sent() == 3
    bench.write({"again.md": f"# Again\n\n![]({data_uri(RED)})\n"})
    bench.ingest()
    assert sent() == 0
    for _ in range(2):
        found(bench, "green")
    assert [body["input"] for _, _, body in server.requests] == [["green"]]
    bench.write({"white.png": _plain((0, 0, 250))})
    bench.ingest()
    assert sent() == 2, "the new one, and one that says whether the model is the same"


def _plain(colour: tuple[int, int, int]) -> bytes:
    Image.new("RGB", (60, 40), colour).save(buffer := BytesIO(), "PNG")
    return buffer.getvalue()


def test_a_server_with_another_model_is_noticed(bench: Workbench, server: ModelServer) -> None:
    bench.ingest()
    server.drift = 1.0
    bench.write({"more.png": _plain((0, 0, 250))})
    with pytest.raises(StoreError, match="has changed"):
        bench.ingest()


def test_what_a_run_may_not_pay_for_comes_with_the_next(bench: Workbench, sent: Callable[[], int]) -> None:
    bench.settings["model"] = {"max_cost": PICTURE_TOKENS * 1.0 / 1e6}
    report = bench.ingest()
    assert any("3 pictures have no vectors because --max-cost was reached" in one for one in report.problems)
    assert (report.pictures.embedded, sent(), held(bench)) == (0, 0, set())
    bench.settings["model"] = {}
    assert bench.ingest().pictures.embedded == 3
    assert len(held(bench)) == 3


def test_a_refused_picture_rejects_nothing_but_itself(bench: Workbench, server: ModelServer) -> None:
    server.refused = {"green"}
    report = bench.ingest()
    assert (report.documents.rejected, report.pictures.embedded, len(held(bench))) == (0, 3, 3)
    assert found(bench, "red")[0].startswith("lagoon.html ![](d")
    server.refused = {"white"}
    bench.settings["embedding"]["pictures"] += "&revision=2"
    with pytest.raises(ConfigError, match="gives no vectors of pictures"):
        bench.ingest()


def test_a_limit_needs_a_price_and_a_model_has_to_take_pictures(bench: Workbench, server: ModelServer) -> None:
    bench.settings["model"] = {"max_cost": 1.0}
    del bench.settings["embedding"]["pictures_price"]
    with pytest.raises(ConfigError, match="pictures_price"):
        bench.ingest()
    bench.settings["model"] = {}
    bench.settings["embedding"]["pictures"] = f"openai:{UNKNOWN}?base_url={server.url}/v1"
    with pytest.raises(ConfigError, match=f"has no model '{UNKNOWN}'"):
        bench.ingest()


def test_the_server_is_that_of_the_section_unless_the_name_says_another() -> None:
    own = EmbeddingSettings(base_url="http://localhost:1/v1", pictures="openai:clip")
    assert own.pictures_where() == "openai:clip?base_url=http://localhost:1/v1"
    other = EmbeddingSettings(pictures="openai:clip?base_url=http://localhost:2/v1")
    assert other.pictures_where().endswith("localhost:2/v1")


def test_a_store_of_somebody_else_sends_no_question_to_its_server(
    bench: Workbench, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.ingest()
    server.requests.clear()
    monkeypatch.setattr(api_address, "_NAMED", {})
    monkeypatch.setattr(api_address, "is_loopback", lambda _: False)
    with bench.store as store:
        pictures = store._sources.pictures
        assert pictures
        assert pictures.missing.startswith("pictures are not searched: the store names the server")
        assert store.search("red", 3)
    assert server.requests == []
