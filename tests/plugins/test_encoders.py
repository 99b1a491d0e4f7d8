"""An embedding model of a plugin: its identity, its tokens, and what is wrong with it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from docmill.storage.errors import ConfigError, QueryError, StoreError, Terminal, Transient
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.model_spaces import describe_model, late_space, tokenizer_dir
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.encode.token_counts import cautious_folder
from docmill.tasks.counting.tokens import Tokens, load_tokenizer
from tests.kit.documents import tokenizer
from tests.kit.house import ROOT
from tests.plugins.distributions import write_distribution

CODE = """
from docmill.plugins import Transient

class Model:
    version = 1
    revision = "one"
    dimension = 2
    token_limit = 20
    tokenizer = ""

    def encode(self, texts):
        return [[3.0, 4.0]] * len(texts)

    def encode_queries(self, texts):
        return self.encode(texts)
"""
Given = Callable[..., EmbeddingSpace]


@pytest.fixture
def given_model(tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch) -> Given:
    """Return a function that installs the model `acme` with some of its code replaced, and returns its space."""

    def install(*changes: tuple[str, str]) -> EmbeddingSpace:
        code, module = CODE, f"acme_{tmp_path.name.replace('-', '_')}"
        for old, new in changes:
            assert old in code
            code = code.replace(old, new)
        write_distribution(tmp_path, "acme", {"encoders/acme": f"{module}:Model"}, {module: code})
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        return describe_model("acme")

    assert fresh is None
    return install


def test_a_model_gives_unit_vectors_of_its_space(given_model: Given) -> None:
    space = given_model()
    encoder = load_encoder("acme", space.revision)
    assert (space.model, space.dimension, space.token_limit) == ("acme", 2, 20)
    assert np.allclose(encoder.encode(["a", "b"]), [[0.6, 0.8]] * 2)
    assert np.allclose(encoder.encode_query("a"), [0.6, 0.8])
    assert encoder.encode([]).shape == (0, 2)
    with pytest.raises(StoreError, match=r"embedding model 'acme' of acme 1.0 has the revision .*, not 0{32}; set the"):
        describe_model("acme", "0" * 32)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (("version = 1", "version = 2"), True),
        (('revision = "one"', 'revision = "two"'), False),
        (("dimension = 2", "dimension = 3"), False),
        (("token_limit = 20", "token_limit = 21"), False),
    ],
)
def test_what_decides_a_vector_decides_the_space(given_model: Given, change: tuple[str, str], same: bool) -> None:
    assert (given_model(change).id == "a92d0dabe797f764d1ee4d647103de55") is same


@pytest.mark.parametrize(
    ("vectors", "problem"),
    [
        ("[[1.0, 2.0]]", r"ValueError: vectors must be finite and of the shape \(2, 2\), got \(1, 2\)"),
        ("[[1.0]] * 2", r"ValueError: vectors must be finite and of the shape \(2, 2\), got \(2, 1\)"),
        ("[[1.0, float('nan')]] * 2", "ValueError: vectors must be finite"),
        ("None", "ValueError: vectors must be"),
        ("open('/no/such/file')", "FileNotFoundError: "),
    ],
)
def test_a_model_that_fails_is_named(given_model: Given, vectors: str, problem: str) -> None:
    given_model(("[[3.0, 4.0]] * len(texts)", vectors))
    with pytest.raises(Terminal, match=f"^embedding model 'acme' of acme 1.0 failed: {problem}"):
        load_encoder("acme").encode(["a", "b"])


def test_a_model_can_say_that_the_same_call_may_work_later(given_model: Given) -> None:
    given_model(("return [[3.0, 4.0]] * len(texts)", "raise Transient('busy')"))
    with pytest.raises(Transient, match="busy"):
        load_encoder("acme").encode(["a"])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("dimension = 2", "dimension = 0"), "its dimension must be an integer of at least 1, got 0"),
        (("token_limit = 20", "token_limit = 'many'"), "its token_limit must be an integer of at least 1, got 'many'"),
        (('tokenizer = ""', 'tokenizer = "/no/tokenizer.json"'), "its tokenizer must be the path of a tokenizer.json"),
    ],
)
def test_a_model_with_a_wrong_identity_is_refused(given_model: Given, change: tuple[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"embedding model 'acme' of acme 1.0 cannot be used: \w+: {problem}"):
        given_model(change)


def test_a_text_beyond_the_limit_is_refused_before_the_model_is_asked(given_model: Given) -> None:
    space = given_model(("[[3.0, 4.0]] * len(texts)", "1 / 0"))
    with pytest.raises(StoreError, match="a text of 21 tokens is beyond the 20 of acme; split it smaller: 'ab"):
        load_encoder("acme").encode(["ab" * 21])
    with pytest.raises(QueryError, match="the query has 21 tokens, acme takes 20; shorten it"):
        load_encoder("acme").encode_query("ab" * 21)
    with pytest.raises(ConfigError, match="gives no vectors of tokens, which"):
        late_space(space)


def test_a_model_counts_by_its_own_tokenizer(given_model: Given, token_counts_folder: Path) -> None:
    given_model(('tokenizer = ""', f'tokenizer = "{token_counts_folder}/tokenizer.json"'))
    assert tokenizer_dir("acme") == token_counts_folder


@pytest.fixture
def cautious(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return load_tokenizer(str(cautious_folder()))


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("the mill", 4), ("the  mill", 5), ("x1.", 3), ("\n", 1), ("ü", 2), ("水车", 6), ("👍", 4)],
)
def test_cautious_counts(cautious: Tokenizer, text: str, count: int) -> None:
    assert len(cautious.encode(text)) == Tokens(text, cautious).count(0, len(text)) == count


def test_cautious_counts_are_never_below_those_of_the_packaged_model(cautious: Tokenizer) -> None:
    paths = [*(ROOT / "tests" / "corpus").rglob("*.md"), *(ROOT / "storage").rglob("*.py")]
    content = [path.read_text(encoding="utf-8") for path in paths]
    passages = [text[at : at + 800] for text in content for at in range(0, len(text), 800)]
    ours, real = (
        [len(one) for one in each.encode_batch(passages, add_special_tokens=False)] for each in (cautious, tokenizer())
    )
    assert all(mine >= its for mine, its in zip(ours, real, strict=True))
    assert sum(ours) < 2 * sum(real)
