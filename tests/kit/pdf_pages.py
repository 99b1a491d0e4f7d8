"""Pages of PDFs for tests: two columns of text, and what is read of a page."""

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.writers.pdf import Pdf

LEFT = [
    "The left column tells of a river that rises in the",
    "hills and runs through three towns before it turns",
    "to the sea. Nobody has ever walked along all of it.",
    "Its water is brown in spring and green in autumn,",
    "and the millers say that it has a mind of its own.",
]
RIGHT = [
    "The right column tells of the road beside it, which",
    "was built by soldiers and paid for by nobody at all.",
    "It floods each March. Carts then take the long way",
    "over the pass, and the inn there does well out of it",
    "until the end of May.",
]


def read(pdf: Pdf) -> Parsed:
    return parse(pdf.to_bytes(), FileType("pdf"), ParseOptions())


def parts(parsed: Parsed, *kinds: str) -> list[str]:
    return [parsed.text[one.start_char : one.end_char] for one in parsed.elements if not kinds or one.kind in kinds]


def page() -> Pdf:
    pdf = Pdf({})
    pdf.add_page()
    return pdf


def two_pages() -> bytes:
    """Return two pages, each of two paragraphs that become chunks of their own."""
    pdf = page()
    for number in (1, 2):
        for top in (760, 400):
            lines = [
                f"Page {number} undoes what line {line} of paragraph {top} has said of the mill." for line in range(18)
            ]
            pdf.lines(60, top, lines)
        if number == 1:
            pdf.add_page()
    return pdf.to_bytes()
