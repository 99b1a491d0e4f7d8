"""Archives made for tests: ordinary ones, and such as nobody packs by accident."""

import gzip
import hashlib
import hmac
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

Files = Mapping[str, str | bytes]


def zipped(files: Files) -> bytes:
    """Return files as a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files: Files, mode: str = "w:gz") -> bytes:
    """Return files as a tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def special_tar(*kinds: bytes) -> bytes:
    """Return a tar archive of links and devices that all point out of it, and one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number, kind in enumerate(kinds):
            info = tarfile.TarInfo(f"special-{number}")
            info.type, info.linkname = kind, "../../etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("plain.md")
        info.size = 8
        archive.addfile(info, io.BytesIO(b"# Plain\n"))
    return buffer.getvalue()


def linked_zip() -> bytes:
    """Return a zip archive of a symbolic link and a file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("link.md")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
        archive.writestr("plain.md", "# Plain\n")
    return buffer.getvalue()


def overlapping_zip(copies: int) -> bytes:
    """Return a zip archive whose directory names the same bytes many times."""
    one = zipped({"a.md": b"a" * 100_000})
    begin = struct.unpack("<I", one[-6:-2])[0]
    entry = one[begin:-22]
    entries = b"".join(entry.replace(b"a.md", b"%04d" % number) for number in range(copies))
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, copies, copies, len(entries), begin, 0)
    return one[:begin] + entries + end


def zip_bomb(levels: int, width: int, megabytes: int) -> bytes:
    """Return archives in archives whose innermost members are zeros."""
    data = zipped({"zeros.txt": bytes(megabytes << 20)})
    for _ in range(levels):
        data = zipped({f"{number}.zip": data for number in range(width)})
    return data


def boastful_tar(size: int) -> bytes:
    """Return a tar archive whose one file is said to be of `size` bytes and is not there."""
    info = tarfile.TarInfo("huge.txt")
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT) + b"x" * 10_240


def lying_zip() -> bytes:
    """Return a zip archive whose member is far larger than stated."""
    data = bytearray(zipped({"a.txt": bytes(30 << 20)}))
    for at in (22, data.find(b"PK\1\2") + 24):
        data[at : at + 4] = struct.pack("<I", 10)
    return bytes(data)


def gzip_bomb(megabytes: int) -> bytes:
    """Return so many megabytes of zeros, compressed twice."""
    return gzip.compress(gzip.compress(bytes(megabytes << 20)))


def locked_zip(files: Files, password: bytes) -> bytes:
    """Return a zip archive encrypted in the way of old, which everything can open."""
    data = zipped(files)
    out, directory = bytearray(), bytearray()
    entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    for info in entries:
        begin = info.header_offset + 30 + len(info.filename.encode())
        body = data[begin : begin + info.compress_size]
        secret = _encrypt(bytes(11) + bytes([info.CRC >> 24]) + body, password)
        name = info.filename.encode()
        head = struct.pack(
            "<5H3I2H", 20, 1, info.compress_type, 0, 33, info.CRC, len(secret), info.file_size, len(name), 0
        )
        at = len(out)
        out += b"PK\3\4" + head + name + secret
        directory += b"PK\1\2" + struct.pack("<H", 20) + head + struct.pack("<3H2I", 0, 0, 0, 0, at) + name
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(entries), len(entries), len(directory), len(out), 0)
    return bytes(out + directory) + end


def _encrypt(data: bytes, password: bytes) -> bytes:
    """Return data in the cipher of PKWARE (APPNOTE.TXT 6.1)."""
    keys = [0x12345678, 0x23456789, 0x34567890]

    def step(crc: int, byte: int) -> int:
        return ~zlib.crc32(bytes([byte]), ~crc & 0xFFFFFFFF) & 0xFFFFFFFF

    def turn(byte: int) -> None:
        keys[0] = step(keys[0], byte)
        keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = step(keys[2], keys[1] >> 24)

    for byte in password:
        turn(byte)
    out = bytearray()
    for byte in data:
        word = keys[2] | 2
        out.append(byte ^ (((word * (word ^ 1)) >> 8) & 0xFF))
        turn(byte)
    return bytes(out)


def aes_zip(files: Files, password: bytes) -> bytes:
    """Return a zip archive encrypted with AES-256, as WinZip does it (AE-2)."""
    data = zipped(files)
    out, directory = bytearray(), bytearray()
    entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    for info in entries:
        begin = info.header_offset + 30 + len(info.filename.encode())
        salt = hashlib.sha256(info.filename.encode()).digest()[:16]
        keys = hashlib.pbkdf2_hmac("sha1", password, salt, 1000, 66)
        body = data[begin : begin + info.compress_size]
        counters = b"".join(number.to_bytes(16, "little") for number in range(1, len(body) // 16 + 2))
        stream = Cipher(algorithms.AES(keys[:32]), modes.ECB()).encryptor().update(counters)
        secret = bytes(one ^ other for one, other in zip(body, stream, strict=False))
        seal = hmac.digest(keys[32:64], secret, "sha1")[:10]
        whole, name = salt + keys[64:] + secret + seal, info.filename.encode()
        extra = struct.pack("<2HH2sBH", 0x9901, 7, 2, b"AE", 3, info.compress_type)
        head = struct.pack("<5H3I2H", 51, 1, 99, 0, 33, 0, len(whole), info.file_size, len(name), len(extra))
        at = len(out)
        out += b"PK\3\4" + head + name + extra + whole
        directory += b"PK\1\2" + struct.pack("<H", 51) + head + struct.pack("<3H2I", 0, 0, 0, 0, at) + name + extra
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(entries), len(entries), len(directory), len(out), 0)
    return bytes(out + directory) + end
