"""PDF files: opened with passwords where they need one, and what they say of themselves."""

import ctypes
import re
import stringprep
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from docmill.storage.errors import Rejected
from docmill.tasks.parse.pdf.blocks.headings import squeeze
from docmill.tasks.parse.pdf.text.pdfium_calls import address, calls, text_from

_INFO = {"Author": "author", "Subject": "description", "Keywords": "keywords"}
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?")
# What programs write as a title when its author has written none.
_NO_TITLE = re.compile(
    r"untitled|microsoft |.*\.(?:docx?|pdf|tex|dvi|indd|qxd|pptx?|xlsx?|rtf|odt|txt|ps)$|[\W\d_]*$", re.I
)
_UNLIKE = re.compile(rb"/StrF\s*/Identity\b")  # pdfium wants strings and streams locked alike
_OUTLINE_PER_PAGE = 40
_MAX_PAGES = 100_000
_LANGUAGE_UNITS = 40


def open_pdf(data: bytes, passwords: tuple[str, ...]) -> Any:
    """Return pypdfium2's document, which its caller closes; raise Rejected `encrypted`, `corrupt` or `too_large`."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    # pdfium takes UTF-8; files of before PDF 2.0 were locked with Latin-1 bytes, which it converts to itself.
    prepared = (form for password in passwords for form in dict.fromkeys((password, _prepared(password))))
    for password in (None, *prepared):
        try:
            document = pypdfium2.PdfDocument(data, password=password)
            break
        except pypdfium2.PdfiumError as error:
            if error.err_code == pdfium.FPDF_ERR_SECURITY:
                raise Rejected("encrypted", "locked in a way that no password opens (an unknown filter)") from error
            if error.err_code != pdfium.FPDF_ERR_PASSWORD:
                raise Rejected("corrupt", f"cannot be read as pdf: {error}") from error
    else:
        if _UNLIKE.search(data):
            raise Rejected("encrypted", "its streams are locked and its strings are not, which pdfium cannot open")
        known = f"none of {len(passwords)} passwords opens it" if passwords else "no password is known"
        raise Rejected("encrypted", f"the pdf needs a password; {known} (parse.passwords)")
    if len(document) > _MAX_PAGES:
        pages = len(document)
        document.close()
        raise Rejected("too_large", f"{pages} pages, the limit is {_MAX_PAGES}")
    return document


@contextmanager
def opened_page(document: Any, number: int) -> Iterator[int | None]:
    """Yield the address of a page, counted from 1; None where it cannot be read."""
    ask = calls()
    page = ask["FPDF_LoadPage"](address(document), number - 1)
    try:
        yield page
    finally:
        if page is not None:
            ask["FPDF_ClosePage"](page)


def _prepared(password: str) -> str:
    """Return a password as PDF 2.0 has it hashed: by SASLprep (RFC 4013)."""
    mapped = (" " if stringprep.in_table_c12(c) else c for c in password if not stringprep.in_table_b1(c))
    return unicodedata.normalize("NFKC", "".join(mapped))


def outline(document: Any) -> dict[tuple[int, str], int]:
    """Return the level, from 1, of each outline entry by its page and squeezed title."""
    entries: dict[tuple[int, str], int] = {}
    with suppress(Exception):  # a broken outline leaves the text whole
        for count, mark in enumerate(document.get_toc(max_depth=6)):
            if count > _OUTLINE_PER_PAGE * (len(document) + 1):
                break
            target = mark.get_dest()
            index = target.get_index() if target is not None else None
            if index is not None:
                entries.setdefault((index + 1, squeeze(mark.get_title())), mark.level + 1)
    return {(page, title): level for (page, title), level in entries.items() if title}


def metadata(document: Any) -> dict[str, Any]:
    """Return what a document says of itself: title, author, keywords, description, dates, language."""
    info = {key: _meta(document, key) for key in (*_INFO, "CreationDate", "ModDate", "Title")}
    found: dict[str, Any] = {ours: info[theirs] for theirs, ours in _INFO.items() if info.get(theirs)}
    for theirs, ours in (("CreationDate", "created"), ("ModDate", "modified")):
        match = _DATE.match(info.get(theirs, ""))
        if match:
            date, time = [part for part in match.groups()[:3] if part], [part for part in match.groups()[3:] if part]
            found[ours] = "-".join(date) + ("T" + ":".join(time) if len(date) == len(time) == 3 else "")
    language = _language(document)
    if language:
        found["language"] = language
    title = info.get("Title", "")
    return found if not title or _NO_TITLE.match(title) else found | {"title": title}


def _meta(document: Any, key: str) -> str:
    """Return what a document's information says, on one line."""
    return " ".join(text_from("FPDF_GetMetaText", address(document), key.encode()).replace("\0", "").split())


def _language(document: Any) -> str:
    import pypdfium2.raw as pdfium

    units = (pdfium.FPDF_WCHAR * _LANGUAGE_UNITS)()
    size = ctypes.sizeof(units)
    written = pdfium.FPDFCatalog_GetLanguage(document, units, size)
    if not 2 < written <= size:
        return ""
    language = bytes(units)[: written - 2].decode("utf-16-le", "replace").strip()
    return language if re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*", language) else ""
