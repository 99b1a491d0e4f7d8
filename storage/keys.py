"""Keys: hashes of content, so that the same content has the same key on every machine."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

KEY_BYTES = 16  # 128 bits: equal keys count as equal content, so collisions must be practically impossible
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
BUCKET_DIGITS = 8


def hash_bytes(data: bytes) -> str:
    """Return the 32 hex digits of BLAKE2b-128 of `data`."""
    return hashlib.blake2b(data, digest_size=KEY_BYTES).hexdigest()


def key_of(*parts: Any) -> str:
    """Return the key of a sequence of JSON values; only equal sequences have equal keys."""
    return hash_bytes(_ENCODER.encode(parts).encode("utf-8", "surrogatepass"))


def document_key(uri: str) -> str:
    """Return the id of the document at `uri`; edits of the document do not change it."""
    return key_of("document", uri)


def chunk_keys(document_id: str, indexed_texts: Iterable[str]) -> list[str]:
    """Return the ids of a document's chunks, in order.

    Chunks with equal texts are numbered in order, so an edit above them changes no id.
    An id begins with the first digits of its document's id, so that both have the same bucket.
    """
    seen: dict[str, int] = {}
    keys = []
    for text in indexed_texts:
        occurrence = seen.get(text, 0)
        seen[text] = occurrence + 1
        keys.append(document_id[:BUCKET_DIGITS] + key_of("chunk", document_id, text, occurrence)[BUCKET_DIGITS:])
    return keys


def bucket_of(row_id: str, buckets: int) -> int:
    """Return the bucket of a document's or a chunk's id; `buckets` is a power of two."""
    return int(row_id[:BUCKET_DIGITS], 16) % buckets


def embedding_key(indexed_text: str, space_id: str) -> str:
    """Return the key of the vector of `indexed_text` in an embedding space."""
    return key_of("embedding", space_id, indexed_text)


def late_key(window: str, start: int, end: int, space_id: str) -> str:
    """Return the key of the late vector of `window[start:end]`, which the model reads within `window`."""
    return key_of("late embedding", space_id, window, start, end)
