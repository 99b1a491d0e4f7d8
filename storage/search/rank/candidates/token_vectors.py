"""Token vectors: cache the vectors of the tokens of texts, because many queries find the same texts."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from docmill.storage.search.encode.text_encoder import TokenVectors

KEPT_BYTES = 128 * 2**20
"""Bytes of cached token vectors: about 87,000 tokens at 384 dimensions."""


class TokenMemory:
    """The results of `encode_tokens`; each text is encoded once while the cache has room. Thread-safe."""

    def __init__(self, encode: Callable[[Sequence[str]], list[TokenVectors]], room: int = KEPT_BYTES) -> None:
        self._encode = encode
        self._room = room
        self._kept: OrderedDict[str, TokenVectors] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the vectors of each text's tokens, in the order of `texts`. Raises `StoreError` as `encode_tokens`."""
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        found |= zip(missing, self._encode(missing) if missing else (), strict=True)
        with self._lock:
            self._keep(found)
        return [found[text] for text in texts]

    def _keep(self, found: dict[str, TokenVectors]) -> None:
        """Cache texts as the most recently used, and drop the least recently used."""
        for text, vectors in found.items():
            if self._kept.pop(text, None) is None:
                self._room -= vectors.vectors.nbytes
            self._kept[text] = vectors
        while self._room < 0:
            _, forgotten = self._kept.popitem(last=False)
            self._room += forgotten.vectors.nbytes
