"""Encodings: tokenizers that measure chunk sizes instead of the embedding model's own.

An encoding is a `tokenizer.json`, or a tiktoken encoding whose file is on this machine: nothing is downloaded. A
tiktoken encoding is converted to a `tokenizer.json` once, in the user's cache, from which worker processes read it.
"""

import base64
import os
import tempfile
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from docmill.storage.errors import ConfigError
from docmill.storage.files import hash_file

_SOURCE = "https://openaipublic.blob.core.windows.net/encodings/"
_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {
    "r50k_base": _GPT2,
    "p50k_base": _GPT2,
    "cl100k_base": rf"{_SHORT}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_REST}",
    "o200k_base": rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SHORT}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SHORT}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_REST}",
}
"""How each encoding splits a text before looking up tokens; source: tiktoken's openai_public."""


def counting_folder(name: str) -> str:
    """Return the folder of the `tokenizer.json` for a setting: an encoding, such a file, or its folder."""
    if name in PATTERNS:
        return str(_converted(name, _ranks_file(name)))
    path = Path(name)
    folder = path.parent if path.name == "tokenizer.json" else path
    if not (folder / "tokenizer.json").is_file():
        raise ConfigError(f"tokenizer {name!r} is neither a tokenizer.json nor one of {', '.join(PATTERNS)}")
    return str(folder.resolve())


def _ranks_file(name: str) -> Path:
    """Return the path of tiktoken's copy of an encoding, which is named by the hash of its URL."""
    chosen = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    folder = Path(chosen) if chosen else Path(tempfile.gettempdir()) / "data-gym-cache"
    path = folder / sha1(f"{_SOURCE}{name}.tiktoken".encode(), usedforsecurity=False).hexdigest()
    if not path.is_file():
        raise ConfigError(
            f"the file of {name} is not on this machine: {path}; put it there, from a machine where"
            f" tiktoken.get_encoding({name!r}) has run, and name its folder in TIKTOKEN_CACHE_DIR"
        )
    return path


def _converted(name: str, ranks: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "docmill" / "tokenizers"
    folder = cache / f"{name}-{hash_file(ranks)}"
    if not (folder / "tokenizer.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{os.getpid()}.json"
        byte_pairs(ranks.read_bytes(), PATTERNS[name]).save(str(draft))
        draft.replace(folder / "tokenizer.json")
    return folder


def byte_pairs(ranks: bytes, pattern: str) -> Tokenizer:
    """Return the tokenizer of a tiktoken file: lines of a base64 token and its rank; raise ConfigError if invalid."""
    try:
        rows = (line.split() for line in ranks.splitlines() if line.strip())
        order = {base64.b64decode(token, validate=True): int(rank) for token, rank in rows}
    except ValueError as error:
        raise ConfigError(f"not a tiktoken file: {error}") from error
    letters = _letters()
    spelled = {token: "".join(letters[byte] for byte in token) for token in order}
    merges = [(spelled[left], spelled[right]) for left, right in _merges(order)]
    tokenizer = Tokenizer(models.BPE({spelled[t]: rank for t, rank in order.items()}, merges, ignore_merges=True))
    parts = pre_tokenizers.Split(Regex(pattern), "isolated")
    bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([parts, bytewise])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _merges(order: dict[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the pairs that make tokens: by the token's rank, then by the ranks of the pair."""
    for token in sorted(order, key=order.__getitem__):
        pairs = [(token[:at], token[at:]) for at in range(1, len(token))]
        known = [pair for pair in pairs if pair[0] in order and pair[1] in order]
        yield from sorted(known, key=lambda pair: (order[pair[0]], order[pair[1]]))


_BYTES = 0x100  # values of a byte
_SEEN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, _BYTES)]
"""Bytes that are visible in Latin-1: no control characters, spaces or soft hyphens."""


def _letters() -> dict[int, str]:
    """Return the letter by which byte-level tokenizers write each byte: itself if visible, else one above 255."""
    unseen = [byte for byte in range(_BYTES) if byte not in _SEEN]
    return {byte: chr(byte) for byte in _SEEN} | {byte: chr(_BYTES + i) for i, byte in enumerate(unseen)}
