"""Reading: parse a file of any format, and check the result."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from docmill.storage.errors import Rejected
from docmill.storage.keys import key_of
from docmill.storage.schema import Parsed
from docmill.tasks.parse.format import FileType, Format, ParseOptions
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.office.unlock import unlocked
from docmill.tasks.parse.signatures import binary_kind
from docmill.tasks.parse.span_checks import faults

_MAX_MESSAGE = 400
"""Characters of a library's error to keep: some libraries quote the whole file in theirs."""
_BLANK = b"\0 \t\r\n"
_BEGINNING = 1_000  # bytes searched first for a non-blank one: enough for nearly all large files
_SCANNED = ("pdf", "image")  # formats whose text may depend on OCR


def parse(data: bytes, file_type: FileType, options: ParseOptions) -> Parsed:
    """Return a document's canonical text and elements; raise Rejected with the reason for any failure."""
    if not data[:_BEGINNING].strip(_BLANK) and not data.strip(_BLANK):  # `strip` copies the whole
        raise Rejected("empty", f"{len(data)} bytes, none of them text" if data else "0 bytes")
    form = FORMATS.get(file_type.format)
    if form is None:
        raise Rejected("unsupported", f"format {file_type.format!r} must be one of {', '.join(FORMATS)}")
    opened = unlocked(data, options.passwords)
    if opened is not data:
        form = FORMATS.get(binary_kind(opened), form)
    parsed = _guarded(form, opened, replace(options, language=file_type.language))
    return _checked(form, parsed, options)


def parser_key(file_type: FileType, options: ParseOptions) -> str:
    """Return the key of everything but a file's content that determines its canonical text.

    Passwords and limits decide whether there is a text, but not which, so they are not part of the key.
    """
    form = FORMATS.get(file_type.format)
    ocr = (options.ocr_languages,) if options.ocr and file_type.format in _SCANNED else ()
    return key_of("parser", file_type.format, form.version if form else 0, file_type.language, *ocr)


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


def _guarded(form: Format, data: bytes, options: ParseOptions) -> Parsed:
    try:
        with _no_collection():
            return form.parse(data, options)
    except Rejected:
        raise
    except MemoryError as error:
        raise Rejected("memory", f"{len(data)} bytes of {form.name} need more memory than allowed") from error
    except RecursionError as error:
        raise Rejected("corrupt", f"nested too deeply for {form.name}") from error
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_MESSAGE].removesuffix(":")
        raise Rejected("corrupt", f"cannot be read as {form.name}: {message}") from error


def _checked(form: Format, parsed: Parsed, options: ParseOptions) -> Parsed:
    if not parsed.text.strip():
        raise Rejected("no_text", f"the {form.name} file holds no text")
    if len(parsed.text) > options.max_characters:
        raise Rejected("too_large", f"{len(parsed.text)} characters, the limit is {options.max_characters}")
    if len(parsed.elements) > options.max_elements:
        raise Rejected("too_large", f"{len(parsed.elements)} elements, the limit is {options.max_elements}")
    found = faults(parsed)
    if found:
        raise Rejected("crashed", f"the {form.name} parser returned invalid elements: {found[0]}")
    try:
        parsed.text.encode()
    except UnicodeEncodeError:  # lone surrogates, which no file can contain
        return replace(parsed, text=parsed.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return parsed
