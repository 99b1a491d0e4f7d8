"""The page on formats: what is read, by which parser, and the names and first bytes that tell it."""

from docmill.tasks.parse.formats import FORMATS, Format
from docmill.tasks.parse.programming_languages import LANGUAGES
from docmill.tasks.parse.signatures import INSTEAD
from tests.kit.making.reference.markdown import code, codes, page, prose, table

HEAD = """\
A file is read by the parser of its format. These signs decide the format, in this order: the first bytes; the names
inside a container; the name of the file, if the text confirms it; unmistakable signs in the text; a classifier
([magika](https://github.com/google/magika)), if name and text disagree or say nothing. `docmill explain FILE` shows
the format of a file.

[Settings](../guides/readers.md) can choose another reader for some files. A file that no parser reads becomes a row of
the table [`rejects`](tables.md#rejects) with a [reason](errors.md#reject-reasons)."""
UNREAD = """\
docmill recognises these kinds of files and does not read them. Each is rejected as `unsupported`, with a message that
names the formats to convert it to:"""
ARCHIVES = """\
zip and tar archives, and files packed with gzip, bzip2, xz or zstd, are
[opened](../guides/sources.md#archives-and-attachments) within [limits](settings.md#archives), and so are files attached
to mail and PDFs or embedded in docx, pptx and xlsx. Each file is a document with a uri of its own, such as
`plan.docx/Budget.xlsx`.

A data file of Outlook is one document; its attachments, calendars and contacts are others. `readpst` (Debian:
`pst-utils`, Homebrew: `libpst`) unpacks it. Such files are often larger than `max_file_bytes` in
[`[discover]`](settings.md#discover): raise it, and `memory_mb` in `[parse]`."""

SOURCE_CODE = """\
By suffix or name, or by the interpreter of a first line such as `#!/usr/bin/env python3`, docmill recognises"""


def made() -> str:
    """Return the page."""
    return page(
        "Formats",
        HEAD,
        _formats(),
        "## Archives and attachments",
        ARCHIVES,
        "## Source code",
        _languages(),
        "## Known, and not read",
        _unread(),
    )


def _formats() -> str:
    rows = [(code(form.name), prose(form.files), _suffixes(form), prose(form.by)) for form in FORMATS.values()]
    return table(("format", "files", "suffixes", "read by"), rows)


def _suffixes(form: Format) -> str:
    return "[below](#source-code)" if form.name == "code" else codes(sorted(form.suffixes))


def _languages() -> str:
    """Return the names of the languages."""
    return f"{SOURCE_CODE} {', '.join(LANGUAGES)}."


def _unread() -> str:
    return f"{UNREAD} {codes(INSTEAD)}."
