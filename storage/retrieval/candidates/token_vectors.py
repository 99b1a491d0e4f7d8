"""Tokens: the vectors of the tokens of texts, those read last remembered, as many queries find the same texts."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from docmill.storage.embedding.encoder import Encoder, TokenVectors

KEPT_BYTES = 128 * 2**20
"""Of vectors of tokens; with 384 dimensions those of 87,000 tokens."""


class TokenMemory:
    """What an encoder says of the tokens of texts, each text read once while there is room. Thread-safe."""

    def __init__(self, encoder: Encoder, room: int = KEPT_BYTES) -> None:
        self._encoder = encoder
        self._room = room
        self._kept: OrderedDict[str, TokenVectors] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the vectors of each text's tokens, in the order of `texts`. Raises `StoreError` as an encoder does."""
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        found |= zip(missing, self._encoder.encode_tokens(missing) if missing else (), strict=True)
        with self._lock:
            self._keep(found)
        return [found[text] for text in texts]

    def _keep(self, found: dict[str, TokenVectors]) -> None:
        """Remember texts as the last that were asked for, and forget the first."""
        for text, vectors in found.items():
            if self._kept.pop(text, None) is None:
                self._room -= vectors.vectors.nbytes
            self._kept[text] = vectors
        while self._room < 0:
            _, forgotten = self._kept.popitem(last=False)
            self._room += forgotten.vectors.nbytes
