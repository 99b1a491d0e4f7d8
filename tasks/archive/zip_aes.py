"""Zip members under AES, as WinZip specifies it: https://www.winzip.com/en/support/aes-encryption/ (AE-1 and AE-2)."""

import hashlib
import hmac
import struct
import zipfile
import zlib
from collections.abc import Iterator

import numpy as np

from docmill.storage.errors import Rejected

METHOD = 99
_EXTRA = 0x9901
_ROUNDS = 1000
_CHECK_BYTES = 2
_SEAL_BYTES = 10
_BLOCK = 16
_PIECE = 1 << 20
_LOCAL_HEADER = 30


def read_aes(archive: zipfile.ZipFile, info: zipfile.ZipInfo, passwords: tuple[str, ...]) -> Iterator[bytes]:
    """Yield the content of a member; raise Rejected: `encrypted` where no password opens it, `corrupt`."""
    strength, method = _how(info)
    sealed = _raw(archive, info)
    salt, body, seal = sealed[: 4 + 4 * strength], sealed[4 + 4 * strength : -_SEAL_BYTES], sealed[-_SEAL_BYTES:]
    size = 8 + 8 * strength
    for password in passwords:
        keys = hashlib.pbkdf2_hmac("sha1", password.encode(), salt, _ROUNDS, 2 * size + _CHECK_BYTES)
        if keys[-_CHECK_BYTES:] != body[:_CHECK_BYTES]:
            continue
        secret = body[_CHECK_BYTES:]
        if hmac.digest(keys[size : 2 * size], secret, "sha1")[:_SEAL_BYTES] == seal:
            yield from _inflated(_deciphered(secret, keys[:size]), method)
            return
    raise Rejected("encrypted", "give its password in [parse.passwords]; none that is there opens it")


def _how(info: zipfile.ZipInfo) -> tuple[int, int]:
    """Return the strength (1 to 3: keys of 16, 24, 32 bytes) and the compression method under the encryption."""
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<2H", extra)
        if kind == _EXTRA and size >= 7:
            strength, method = struct.unpack_from("<BH", extra, 8)
            if strength in (1, 2, 3) and method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                return strength, method
        extra = extra[4 + size :]
    raise Rejected("unsupported", "encrypted in a way that cannot be read")


def _raw(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    file = archive.fp
    assert file is not None
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER:
        raise Rejected("corrupt", "the archive ends before the member begins")
    file.seek(sum(struct.unpack_from("<2H", header, 26)), 1)
    return file.read(info.compress_size)


def _deciphered(secret: bytes, key: bytes) -> bytes:
    """Return the text of counter mode with a counter that begins at 1, its low byte first."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    blocks = -(-len(secret) // _BLOCK)
    counters = np.zeros((blocks, 2), dtype="<u8")
    counters[:, 0] = np.arange(1, blocks + 1)
    stream = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(counters.tobytes())
    text = np.frombuffer(secret, np.uint8) ^ np.frombuffer(stream, np.uint8)[: len(secret)]
    return text.tobytes()


def _inflated(data: bytes, method: int) -> Iterator[bytes]:
    if method == zipfile.ZIP_STORED:
        yield data
        return
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    while piece := inflater.decompress(data, _PIECE):
        yield piece
        data = inflater.unconsumed_tail
    if not inflater.eof:
        raise Rejected("corrupt", "the member ends too early")
