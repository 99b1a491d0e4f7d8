"""Unlock: decrypt Office documents with their password, by `msoffcrypto`, before any parser sees them."""

import io
from functools import cache

from docmill.storage.errors import Rejected
from docmill.tasks.parse.signatures import binary_kind

_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAX_ERROR = 100  # characters of a library's message: some quote the damaged bytes
_PAD = b"\x36"  # what MS-OFFCRYPTO fills a key with
_BITS_A_BYTE = 8  # key sizes are stated in bits
_BY_DEFAULT = "VelvetSweatshop"  # Excel's own password for workbooks that are encrypted without one (MS-OFFCRYPTO)


def unlocked(data: bytes, passwords: tuple[str, ...]) -> bytes:
    """Return a document unchanged, or decrypted with the first password that fits; raise Rejected `encrypted`."""
    if not data.startswith(_COMPOUND):
        return data
    from msoffcrypto import OfficeFile

    try:
        locked = OfficeFile(io.BytesIO(data)).is_encrypted()
    except Exception as error:  # no Office document, or a damaged one: its parser says which
        if binary_kind(data) == "encrypted":
            raise Rejected("encrypted", f"an encrypted Office document with a damaged header ({error})") from error
        return data
    if not locked:
        return data
    return _with_any(passwords, data)


def _with_any(passwords: tuple[str, ...], data: bytes) -> bytes:
    """Return an encrypted document decrypted with the first password that fits; raise Rejected `encrypted`."""
    fill_keys()
    strange = ""
    for password in (*passwords, _BY_DEFAULT):
        opened, why = _opened(data, password)
        if opened:
            return opened
        strange = why or strange
    if strange:
        raise Rejected("encrypted", f"an Office document with unsupported encryption ({strange})")
    tried = (
        f"none of the {len(passwords)} in [parse.passwords] opens it" if passwords else "give it in [parse.passwords]"
    )
    raise Rejected("encrypted", f"an Office document that needs a password; {tried}")


@cache
def fill_keys() -> None:
    """Let `msoffcrypto` pad a key that is longer than its hash, as MS-OFFCRYPTO 2.3.4.11 requires."""
    from msoffcrypto.method.ecma376_agile import ECMA376Agile

    derive = ECMA376Agile._derive_encryption_key

    def filled(digest: bytes, block: bytes, algorithm: str, bits: int) -> bytes:
        key: bytes = derive(digest, block, algorithm, bits)
        return key.ljust(bits // _BITS_A_BYTE, _PAD)

    ECMA376Agile._derive_encryption_key = staticmethod(filled)


def _opened(data: bytes, password: str) -> tuple[bytes, str]:
    """Return the document if the password fits, else b""; then the error, unless it is a wrong password."""
    from msoffcrypto import OfficeFile
    from msoffcrypto.exceptions import InvalidKeyError

    opened = io.BytesIO()
    try:
        file = OfficeFile(io.BytesIO(data))
        file.load_key(password=password)
        file.decrypt(opened)
    except InvalidKeyError:
        return b"", ""
    except Exception as error:  # whatever a damaged head of encryption leads to
        return b"", str(error)[:_MAX_ERROR]
    return opened.getvalue(), ""
