"""Reading: parse a file of any format, after decrypting it with its password, and check the result."""

import gc
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import islice
from zipfile import ZipFile

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.parser import Parser, faults
from docmill.tasks.parse.dispatch.readers import ChosenReader, parser_for
from docmill.tasks.parse.formats import FORMATS, FileType, ParseOptions
from docmill.tasks.parse.signatures import binary_kind
from docmill.tasks.parse.titles.own_title import with_own_title

_MAX_MESSAGE = 400
"""Characters of a library's error to keep: some libraries quote the whole file."""
_BLANK = b"\0 \t\r\n"
_BEGINNING = 1_000  # bytes searched first for a non-blank one: enough for nearly all large files
_ZIP = b"PK\x03\x04"
_MAX_MEMBERS = 1_000  # of a container whose names are corrected: each takes a pass over the file
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_POINTER, _MOST_OF_POINTER = b"version https://git-lfs.github.com/spec/", 1_024
"""The beginning of a Git LFS pointer, which a checkout may have instead of a large file, and its maximum size."""
_MAX_ERROR = 100  # characters of a library's message: some quote the damaged bytes
_PAD = b"\x36"  # MS-OFFCRYPTO pads keys with it
_BITS_A_BYTE = 8  # key sizes are given in bits
_BY_DEFAULT = "VelvetSweatshop"  # Excel's own password for workbooks encrypted without one (MS-OFFCRYPTO)


def parse(data: bytes, file_type: FileType, options: ParseOptions, reader: ChosenReader | None = None) -> Parsed:
    """Return a document's canonical text and elements, by `reader` or the default parser of its format.

    Raise Rejected with the reason for any failure.
    """
    if not data[:_BEGINNING].strip(_BLANK) and not data.strip(_BLANK):  # `strip` copies everything
        raise Rejected("empty", f"{len(data)} bytes, none of them text" if data else "0 bytes")
    if len(data) < _MOST_OF_POINTER and data.startswith(_POINTER):
        raise Rejected("unreadable", "a pointer of Git LFS; its content is not here: `git lfs pull` fetches it")
    parser_for(file_type, reader)  # checked first, because a password does not help a file that nothing reads
    opened = _slashed(unlocked(data, options.passwords))
    if opened is not data and (inner := binary_kind(opened)) in FORMATS:
        file_type = replace(file_type, format=inner)
    parser, chosen = parser_for(file_type, reader)
    limits = replace(options, language=file_type.language)
    parsed = _guarded(parser, opened, file_type, lambda content: parser.parse(content, file_type, limits, chosen))
    return _checked(file_type.format, with_own_title(parsed), options)


def _slashed(data: bytes) -> bytes:
    """Return a container with slashes in its member names if a program has written backslashes."""
    if not data.startswith(_ZIP):
        return data
    try:
        with ZipFile(io.BytesIO(data)) as container:
            names = [info.orig_filename for info in islice(container.infolist(), _MAX_MEMBERS)]
    except Exception:  # a damaged container: its parser says more
        return data
    for name in (name.encode() for name in names if "\\" in name):
        data = data.replace(name, name.replace(b"\\", b"/"))
    return data


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable the garbage collector, which would scan the many objects of a large document again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _guarded(parser: Parser, data: bytes, file_type: FileType, parse: Callable[[bytes], Parsed]) -> Parsed:
    name = file_type.format + ("" if parser.name == file_type.format else f" by {parser.name}")
    try:
        with _no_collection():
            return parse(data)
    except Rejected:
        raise
    except MemoryError as error:
        raise Rejected("memory", f"{len(data)} bytes of {name} need more memory than allowed") from error
    except RecursionError as error:
        raise Rejected("corrupt", f"nested too deeply for {name}") from error
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_MESSAGE].removesuffix(":")
        raise Rejected("corrupt", f"cannot be read as {name}: {message}") from error


def _checked(form: str, parsed: Parsed, options: ParseOptions) -> Parsed:
    if not parsed.text.strip():
        raise Rejected("no_text", f"the {form} file holds no text")
    if len(parsed.text) > options.max_characters:
        raise Rejected("too_large", f"{len(parsed.text)} characters, the limit is {options.max_characters}")
    if len(parsed.elements) > options.max_elements:
        raise Rejected("too_large", f"{len(parsed.elements)} elements, the limit is {options.max_elements}")
    found = faults(parsed)
    if found:
        raise Rejected("crashed", f"the {form} parser returned invalid elements: {found[0]}")
    try:
        parsed.text.encode()
    except UnicodeEncodeError:  # lone surrogates, which no file can contain
        return replace(parsed, text=parsed.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return parsed


def unlocked(data: bytes, passwords: tuple[str, ...]) -> bytes:
    """Return a document unchanged, or decrypted with the first password that fits; raise Rejected `encrypted`."""
    if not data.startswith(_COMPOUND):
        return data
    from msoffcrypto import OfficeFile

    try:
        locked = OfficeFile(io.BytesIO(data)).is_encrypted()
    except Exception as error:  # not an Office document, or a damaged one: its parser says which
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
    """Let `msoffcrypto` pad keys that are longer than their hash, as MS-OFFCRYPTO 2.3.4.11 requires."""
    from msoffcrypto.method.ecma376_agile import ECMA376Agile

    derive = ECMA376Agile._derive_encryption_key

    def filled(digest: bytes, block: bytes, algorithm: str, bits: int) -> bytes:
        key: bytes = derive(digest, block, algorithm, bits)
        return key.ljust(bits // _BITS_A_BYTE, _PAD)

    ECMA376Agile._derive_encryption_key = staticmethod(filled)


def _opened(data: bytes, password: str) -> tuple[bytes, str]:
    """Return the document if the password fits, else b""; and the error, unless it is only a wrong password."""
    from msoffcrypto import OfficeFile
    from msoffcrypto.exceptions import InvalidKeyError

    opened = io.BytesIO()
    try:
        file = OfficeFile(io.BytesIO(data))
        file.load_key(password=password)
        file.decrypt(opened)
    except InvalidKeyError:
        return b"", ""
    except Exception as error:  # a damaged encryption header can lead to anything
        return b"", str(error)[:_MAX_ERROR]
    return opened.getvalue(), ""
