"""PDF files: open them, with a password if needed, and read their metadata."""

import ctypes
import re
import stringprep
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from docmill.storage.errors import Rejected
from docmill.tasks.parse.pdf.text.characters import squeeze
from docmill.tasks.parse.pdf.text.pdfium_calls import address, text_from
from docmill.tasks.parse.titles.own_title import names_nothing

_INFO = {"Author": "author", "Subject": "description", "Keywords": "keywords"}
_DATES = {"CreationDate": "created", "ModDate": "modified"}
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?")
_DAY = 3  # groups of a date: year, month, day; then as many for the time
_UNLIKE = re.compile(rb"/StrF\s*/Identity\b")  # pdfium requires one encryption for strings and streams
_OUTLINE_PER_PAGE = 40  # entries: no page has so many headings; a broken outline may loop for ever
_OUTLINE_DEPTH = 6  # the depth of Markdown's headings
_MAX_PAGES = 100_000  # the longest works have some ten thousand; a forged file of a few bytes may state any number
_LANGUAGE_UNITS = 40  # of UTF-16, including the zero at the end: more than any language tag in use has
_END = 2  # bytes of that zero


def open_pdf(data: bytes, passwords: tuple[str, ...]) -> Any:
    """Return pypdfium2's document, which the caller closes; raise Rejected `encrypted`, `corrupt` or `too_large`."""
    # pdfium takes UTF-8; files older than PDF 2.0 use Latin-1 bytes, to which it converts by itself.
    prepared = (form for password in passwords for form in dict.fromkeys((password, _prepared(password))))
    for password in (None, *prepared):
        document = _opened(data, password)
        if document is not None:
            return _of_bounded_length(document)
    if _UNLIKE.search(data):
        raise Rejected("encrypted", "its streams are encrypted and its strings are not, which pdfium cannot open")
    known = f"none of {len(passwords)} passwords opens it" if passwords else "no password is known"
    raise Rejected("encrypted", f"the pdf needs a password; {known} (parse.passwords)")


def _opened(data: bytes, password: str | None) -> Any:
    """Return pypdfium2's document, or None if it needs another password."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    try:
        return pypdfium2.PdfDocument(data, password=password)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            return None
        if error.err_code == pdfium.FPDF_ERR_SECURITY:
            raise Rejected("encrypted", "unsupported encryption (an unknown filter)") from error
        raise Rejected("corrupt", f"cannot be read as pdf: {error}") from error


def _of_bounded_length(document: Any) -> Any:
    pages = len(document)
    if pages > _MAX_PAGES:
        document.close()
        raise Rejected("too_large", f"{pages} pages, the limit is {_MAX_PAGES}")
    return document


@contextmanager
def opened_page(document: Any, number: int) -> Iterator[Any]:
    """Yield pypdfium2's page, counted from 1; None if it cannot be read."""
    import pypdfium2

    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        yield None
    else:
        with closing(page):
            yield page


def _prepared(password: str) -> str:
    """Return a password in the form that PDF 2.0 hashes: SASLprep (RFC 4013)."""
    mapped = (" " if stringprep.in_table_c12(c) else c for c in password if not stringprep.in_table_b1(c))
    return unicodedata.normalize("NFKC", "".join(mapped))


def outline(document: Any) -> dict[tuple[int, str], int]:
    """Return the level of each outline entry, from 1, by its page and squeezed title."""
    entries: dict[tuple[int, str], int] = {}
    with suppress(Exception):  # a broken outline does not affect the text
        for count, mark in enumerate(document.get_toc(max_depth=_OUTLINE_DEPTH)):
            if count > _OUTLINE_PER_PAGE * (len(document) + 1):
                break
            target = mark.get_dest()
            index = target.get_index() if target is not None else None
            if index is not None:
                entries.setdefault((index + 1, squeeze(mark.get_title())), mark.level + 1)
    return {(page, title): level for (page, title), level in entries.items() if title}


def metadata(document: Any) -> dict[str, Any]:
    """Return a document's metadata: title, author, keywords, description, dates, language."""
    title = _meta(document, "Title")
    stated = {ours: _meta(document, theirs) for theirs, ours in _INFO.items()}
    stated |= {ours: _date(_meta(document, theirs)) for theirs, ours in _DATES.items()}
    stated |= {"language": _language(document), "title": "" if names_nothing(title) else title}
    return {name: text for name, text in stated.items() if text}


def _date(stated: str) -> str:
    """Return a PDF date in ISO 8601, with its time if that is complete; "" if it is no date."""
    match = _DATE.match(stated)
    if not match:
        return ""
    parts = match.groups()
    day, time = ([part for part in some if part] for some in (parts[:_DAY], parts[_DAY:]))
    complete = len(day) == len(time) == _DAY
    return "-".join(day) + ("T" + ":".join(time) if complete else "")


def _meta(document: Any, key: str) -> str:
    """Return an entry of a document's information, on one line."""
    return " ".join(text_from("FPDF_GetMetaText", address(document), key.encode()).replace("\0", "").split())


def _language(document: Any) -> str:
    import pypdfium2.raw as pdfium

    units = (pdfium.FPDF_WCHAR * _LANGUAGE_UNITS)()
    size = ctypes.sizeof(units)
    written = pdfium.FPDFCatalog_GetLanguage(document, units, size)
    if not _END < written <= size:
        return ""
    language = bytes(units)[: written - _END].decode("utf-16-le", "replace").strip()
    return language if re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*", language) else ""
