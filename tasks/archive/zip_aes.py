"""Zip members under AES, as WinZip specifies it: https://www.winzip.com/en/support/aes-encryption/ (AE-1 and AE-2)."""

import hashlib
import hmac
import struct
import zipfile
import zlib
from collections.abc import Iterator

import numpy as np

from docmill.storage.errors import Rejected

METHOD = 99  # the compression method of a zip member that means AES
_EXTRA = 0x9901  # the id of the extra field with the strength and the actual compression method
_EXTRA_HEAD = struct.Struct("<2H")  # of any extra field: its id, its size
_EXTRA_BODY = struct.Struct("<4xBH")  # version (2 bytes), vendor (2 bytes), strength, compression method
_KEY_BYTES = {1: 16, 2: 24, 3: 32}  # by strength; a salt is half as long
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ROUNDS = 1000  # of PBKDF2, as specified
_CHECK_BYTES = 2  # after the salt; they reveal most wrong passwords
_SEAL_BYTES = 10  # at the end, of an HMAC over the encrypted data
_BLOCK = 16  # bytes of an AES block
_PIECE = 1 << 20  # bytes inflated at once, and so the most by which a limit can be exceeded
_LOCAL_HEADER = 30  # bytes of a member's header before its name and its extra fields
_LENGTHS = 26  # the offset in it of the lengths of these two


def read_aes(archive: zipfile.ZipFile, info: zipfile.ZipInfo, passwords: tuple[str, ...]) -> Iterator[bytes]:
    """Yield the content of a member; raise Rejected `encrypted` if no password opens it, `corrupt` if damaged."""
    strength, method = _how(info)
    sealed = _raw(archive, info)
    key_bytes = _KEY_BYTES[strength]
    salt_bytes = key_bytes // 2
    salt, body, seal = sealed[:salt_bytes], sealed[salt_bytes:-_SEAL_BYTES], sealed[-_SEAL_BYTES:]
    check, secret = body[:_CHECK_BYTES], body[_CHECK_BYTES:]
    for password in passwords:
        keys = hashlib.pbkdf2_hmac("sha1", password.encode(), salt, _ROUNDS, 2 * key_bytes + _CHECK_BYTES)
        key, seal_key = keys[:key_bytes], keys[key_bytes : 2 * key_bytes]
        if keys[-_CHECK_BYTES:] == check and hmac.digest(seal_key, secret, "sha1")[:_SEAL_BYTES] == seal:
            yield from _inflated(_deciphered(secret, key), method)
            return
    raise Rejected("encrypted", "no password in [parse.passwords] opens it")


def _how(info: zipfile.ZipInfo) -> tuple[int, int]:
    """Return the strength (1 to 3) and the compression method under the encryption."""
    extra = info.extra
    while len(extra) >= _EXTRA_HEAD.size:
        kind, size = _EXTRA_HEAD.unpack_from(extra)
        if kind == _EXTRA and size >= _EXTRA_BODY.size:
            strength, method = _EXTRA_BODY.unpack_from(extra, _EXTRA_HEAD.size)
            if strength in _KEY_BYTES and method in _METHODS:
                return strength, method
        extra = extra[_EXTRA_HEAD.size + size :]
    raise Rejected("unsupported", "unsupported encryption")


def _raw(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    file = archive.fp
    assert file is not None
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER:
        raise Rejected("corrupt", "the archive ends before the member begins")
    file.seek(sum(struct.unpack_from("<2H", header, _LENGTHS)), 1)
    return file.read(info.compress_size)


def _deciphered(secret: bytes, key: bytes) -> bytes:
    """Return the plain text, decrypted in counter mode with a little-endian counter from 1.

    Libraries only have big-endian counters, so the key stream is made here block by block.
    """
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
