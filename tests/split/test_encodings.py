"""Sizes can be counted by another tokenizer, among them tiktoken's, whose counts are the oracle."""

import base64
from hashlib import sha1
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import ConfigError
from docmill.tasks.counting.encodings import PATTERNS, byte_pairs, counting_folder
from docmill.tasks.counting.tokens import load_tokenizer
from tests.kit.documents import texts
from tests.kit.drawing import examples
from tests.kit.workbench import Workbench

PAIRS = [b"th", b"the", b" the", b"in", b"ing", b" m", b"ill", b" mill", b"\n\n", b"gr", b"12", b"\xc3\xa9", b"'s"]
RANKS = {bytes([byte]): byte for byte in range(256)} | {token: 256 + i for i, token in enumerate(PAIRS)}
FILE = b"".join(base64.b64encode(token) + f" {rank}\n".encode() for token, rank in RANKS.items())


@pytest.fixture
def cl100k(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    source = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    (tmp_path / "tiktoken").mkdir()
    (tmp_path / "tiktoken" / sha1(source.encode()).hexdigest()).write_bytes(FILE)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return "cl100k_base"


@pytest.mark.parametrize("name", PATTERNS)
@examples(60)
@given(text=texts() | st.text(max_size=40))
def test_counts_are_those_of_tiktoken(name: str, text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    oracle = tiktoken.Encoding(name, pat_str=PATTERNS[name], mergeable_ranks=RANKS, special_tokens={})
    ours = byte_pairs(FILE, PATTERNS[name])
    assert ours.encode(text, add_special_tokens=False).ids == oracle.encode_ordinary(text)


def test_an_encoding_is_found_where_tiktoken_keeps_it(cl100k: str) -> None:
    tokenizer = load_tokenizer(counting_folder(cl100k))
    assert tokenizer.encode("the mill", add_special_tokens=False).ids == [RANKS[b"the"], RANKS[b" mill"]]
    assert counting_folder(cl100k) == counting_folder(cl100k)


def test_what_is_not_here_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match="the file of o200k_base is not on this machine"):
        counting_folder("o200k_base")
    with pytest.raises(ConfigError, match=r"neither a tokenizer\.json nor one of r50k_base"):
        counting_folder("o300k")
    with pytest.raises(ConfigError, match="not a tiktoken file"):
        byte_pairs(b"?? 1\n", PATTERNS["r50k_base"])


def test_sizes_are_counted_by_it_and_the_limit_by_the_model(tmp_path: Path, fake_model: str, cl100k: str) -> None:
    assert fake_model
    text = "\n\n".join(f"Paragraph {i} says that the mill is grinding." for i in range(60))
    route = {"glob": "*", "strategy": "recursive", "options": {"size": 60}}
    sizes = {}
    for name in ("", cl100k):
        bench = Workbench(tmp_path / (name or "own"), {"chunk": {"tokenizer": name}, "routes": [route]})
        bench.write({"a.txt": text})
        bench.ingest()
        sizes[name] = bench.chunks()
    counter = load_tokenizer(counting_folder(cl100k))
    assert max(len(counter.encode(chunk.text).ids) for chunk in sizes[cl100k]) <= 60
    assert len(sizes[cl100k]) > 2 * len(sizes[""])
    assert "".join(text.split()) == "".join("".join(chunk.text.split()) for chunk in sizes[cl100k])
