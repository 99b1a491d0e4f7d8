"""Token counts: how many tokens of a model texts have, by its tokenizer alone, without the model."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TOKENIZERS = 4
"""Tokenizers that a process keeps: the embedding model's, one to measure sizes by, and the same of another store."""


@lru_cache(maxsize=_TOKENIZERS)
def load_tokenizer(model_dir: str) -> "Tokenizer":
    """Return the tokenizer of a model's folder, without truncation and padding; raise ConfigError without one."""
    from tokenizers import Tokenizer

    path = Path(model_dir) / "tokenizer.json"
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; a model needs a fast tokenizer, saved as tokenizer.json")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def token_counts(texts: Sequence[str], model_dir: str) -> list[int]:
    """Return the number of tokens of each text, without special tokens, as a model counts them."""
    found = load_tokenizer(model_dir).encode_batch_fast(list(texts), add_special_tokens=False)
    return [len(one.ids) for one in found]
