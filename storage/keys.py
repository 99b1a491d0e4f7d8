"""Content keys: the same content has the same key on every machine, and nothing else has it."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

KEY_BYTES = 16  # 128 bits: keys of equal hash are taken for equal content, so a collision must not happen
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
BUCKET_DIGITS = 8


def hash_bytes(data: bytes) -> str:
    """Return the 32 hex digits of BLAKE2b-128 of `data`."""
    return hashlib.blake2b(data, digest_size=KEY_BYTES).hexdigest()


def key_of(*parts: Any) -> str:
    """Return the key of a sequence of JSON values; equal sequences, and only they, are equal keys."""
    return hash_bytes(_ENCODER.encode(parts).encode("utf-8", "surrogatepass"))


def document_key(uri: str) -> str:
    """Return the id of the document at `uri`; it outlives every edit of the document."""
    return key_of("document", uri)


def chunk_keys(document_id: str, indexed_texts: Iterable[str]) -> list[str]:
    """Return the ids of a document's chunks, in order.

    Equal texts are told apart by how many equal ones came before, so an edit above moves no id.
    An id begins with its document's first digits, so that either id leads to the same bucket.
    """
    seen: dict[str, int] = {}
    keys = []
    for text in indexed_texts:
        occurrence = seen.get(text, 0)
        seen[text] = occurrence + 1
        keys.append(document_id[:BUCKET_DIGITS] + key_of("chunk", document_id, text, occurrence)[BUCKET_DIGITS:])
    return keys


def bucket_of(row_id: str, buckets: int) -> int:
    """Return the bucket, one of a power of two, of a document id or of the id of one of its chunks."""
    return int(row_id[:BUCKET_DIGITS], 16) % buckets


def embedding_key(indexed_text: str, space_id: str) -> str:
    """Return the key of the vector of `indexed_text` in an embedding space."""
    return key_of("embedding", space_id, indexed_text)


def late_key(window: str, start: int, end: int, space_id: str) -> str:
    """Return the key of the vector of `window[start:end]`, read in that window, in a late embedding space."""
    return key_of("late embedding", space_id, window, start, end)
