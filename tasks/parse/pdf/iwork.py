"""iWork: Pages, Numbers and Keynote documents, by the PDF that they hold to be looked at."""

import zipfile

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.pdf.reader import parse_pdf
from docmill.tasks.parse.zip_limits import check_container

_PREVIEWS = ("QuickLook/Preview.pdf", "preview.pdf")


def parse_iwork(data: bytes, options: ParseOptions) -> Parsed:
    """Return the preview of a document; raise Rejected `unsupported` for one that was saved without a PDF of it."""
    with check_container(data, options.max_unpacked_bytes) as container:
        preview = _preview(container)
    if not preview:
        raise Rejected(
            "unsupported",
            "this Pages, Numbers or Keynote document holds no PDF preview, and its own format is not read;"
            " exported to docx, xlsx, pptx or PDF it is",
        )
    return parse_pdf(preview, options)


def _preview(container: zipfile.ZipFile) -> bytes:
    for name in container.namelist():
        if name.endswith(_PREVIEWS):
            with container.open(name) as member:
                return member.read()
    return b""
