"""Word fallback: a second reader, by `unstructured`, for documents that pandoc rejects."""

import io

from docmill.storage.errors import Rejected
from docmill.storage.process.extras import command
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.partition.elements import draw_all
from docmill.tasks.parse.partition.partitioned import partition


def draw_elements(data: bytes, canvas: Canvas) -> None:
    """Draw a Word document as Markdown; raise Rejected if `unstructured`, or python-docx below it, is not installed."""
    try:
        elements = partition("docx", file=io.BytesIO(data), include_page_breaks=False)
    except ModuleNotFoundError:
        said = f"pandoc cannot read it; a second reader may: {command('unstructured')}"
        raise Rejected("not_installed", said) from None
    draw_all(elements, canvas)
