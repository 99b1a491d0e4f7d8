"""Write PDFs whose pages are quick to read and take for ever, or too much, to draw."""

from collections.abc import Sequence

from tests.kit.writers.pdf import file_bytes

_A4 = "0 0 595 842"
_GIANT = "0 0 2000000 2000000"  # points: a page of 700 metres
_FONT = "/Font << /F0 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
_PAGES_AT = 4  # the number of the first page among the objects


def pages(boxes: Sequence[str], more: Sequence[str] = (), resources: str = "", draws: str = "") -> bytes:
    """Return a PDF with a sentence on each page; the first page draws more, with resources of its own."""
    kids = " ".join(f"{_PAGES_AT + 2 * place} 0 R" for place in range(len(boxes)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(boxes)} >>",
        "<< >>",
    ]
    for place, box in enumerate(boxes):
        own = (resources, draws) if place == 0 else ("", "")
        text = f"BT /F0 10 Tf 60 700 Td (Page {place + 1} tells of the mill at the river.) Tj ET\n{own[1]}"
        head = f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Resources << {_FONT} {own[0]} >>"
        objects.append(f"{head} /Contents {_PAGES_AT + 2 * place + 1} 0 R >>")
        objects.append(_stream("", text))
    return file_bytes([*objects, *more])


def giant() -> bytes:
    """Return a giant page and one of A4."""
    return pages([_GIANT, _A4])


def tiled() -> bytes:
    """Return a page filled with a tile of a point that is set again each thousandth of a point, and a plain page."""
    tile = "/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1] /XStep 0.001 /YStep 0.001"
    objects = [_stream(f"{tile} /Resources << >>", "0 0 1 1 re f")]
    fills = "/Pattern cs /P scn 0 0 595 842 re f\n"
    return pages([_A4, _A4], objects, f"/Pattern << /P {_PAGES_AT + 4} 0 R >>", fills)


def nested(depth: int = 26) -> bytes:
    """Return a page that draws a form, which draws the next one twice, and so on."""
    form = f"/Type /XObject /Subtype /Form /BBox [{_A4}]"
    at = _PAGES_AT + 2
    inner = [
        _stream(f"{form} /Resources << /XObject << /X {at + level + 1} 0 R >> >>", "/X Do /X Do")
        for level in range(depth)
    ]
    return pages([_A4], [*inner, _stream(form, "0 0 9 9 re f")], f"/XObject << /X {at} 0 R >>", "/X Do\n")


def _stream(head: str, content: str) -> str:
    return f"<< {head} /Length {len(content)} >>\nstream\n{content}\nendstream"
