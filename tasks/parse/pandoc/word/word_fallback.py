"""Word fallback: a second reader, by `unstructured`, for documents that pandoc rejects."""

import io
import zipfile

from docmill.storage.errors import Rejected
from docmill.storage.process.extras import command
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.office.open_xml import rewritten
from docmill.tasks.parse.pandoc.inlines import DEEPER_MARK, NUMBER_END, NUMBER_MARK, PAGE_MARK
from docmill.tasks.parse.partition.elements import draw_all
from docmill.tasks.parse.partition.partitioned import partition

_SHOWN = {PAGE_MARK: "", DEEPER_MARK: "", NUMBER_MARK: "", NUMBER_END: " "}


def draw_elements(data: bytes, canvas: Canvas) -> None:
    """Draw a Word document that is prepared for pandoc as Markdown.

    Raise Rejected if `unstructured`, or python-docx below it, is not installed.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        plain = rewritten(container, lambda _, content: _without_marks(content))
    try:
        elements = partition("docx", file=io.BytesIO(plain), include_page_breaks=False)
    except ModuleNotFoundError:
        said = f"pandoc cannot read it; a second reader may: {command('unstructured')}"
        raise Rejected("not_installed", said) from None
    draw_all(elements, canvas)


def _without_marks(content: bytes) -> bytes:
    for mark, text in _SHOWN.items():
        content = content.replace(mark.encode(), text.encode())
    return content
