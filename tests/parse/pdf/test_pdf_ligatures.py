"""Ligatures of PDFs whose fonts state only the last letter, as Ghostscript writes them."""

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.writers.pdf import ADVANCES, file_bytes

_LIGATURES = {1: ("i", "fi", 500), 2: ("l", "fl", 500), 3: ("i", "ffi", 778), 4: ("f", "ff", 500), 5: ("h", "Th", 1112)}
"""Of a font: for each code its letter as Ghostscript states it, its ligature and its width."""


def _distilled(*lines: str, widths: dict[int, int] | None = None) -> bytes:
    """Return a page in a font whose ligatures are stated as their last letter."""
    for code, (_, ligature, _) in _LIGATURES.items():
        lines = tuple(line.replace(f"[{ligature}]", f"\\{code:03o}") for line in lines)
    wide = {code: width for code, (_, _, width) in _LIGATURES.items()} | (widths or {})
    advances = " ".join(str(wide.get(code, 0) if code < 32 else ADVANCES[code - 32]) for code in range(1, 127))
    stated = "\n".join(f"<{code:02x}> <{ord(letter):04x}>" for code, (letter, _, _) in _LIGATURES.items())
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /A def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange\n{len(_LIGATURES)} beginbfchar\n{stated}\nendbfchar\n"
        "1 beginbfrange <20> <7e> <0020> endbfrange\nendcmap end end"
    )
    font = f"/Type /Font /Subtype /Type1 /BaseFont /Helvetica /FirstChar 1 /LastChar 126 /Widths [{advances}]"
    text = "\n".join(f"BT /F0 10 Tf 60 {700 - 13 * row} Td ({line}) Tj ET" for row, line in enumerate(lines))
    page = "/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F0 5 0 R >> >> /Contents 6 0 R"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [4 0 R] /Count 1 >>", "<< >>"]
    objects += [f"<< {page} >>", f"<< {font} /ToUnicode 7 0 R >>"]
    return file_bytes([*objects, *(f"<< /Length {len(one)} >>\nstream\n{one}\nendstream" for one in (text, cmap))])


def _read(data: bytes) -> str:
    return parse(data, FileType("pdf"), ParseOptions()).text


def test_ligatures_are_recognised_by_their_width() -> None:
    told = "[Th]e o[ffi]ce [fi]nds the [fl]ow of the mill di[ff]erent"
    assert _read(_distilled(told)) == "The office finds the flow of the mill different"
    small_capitals = {1: 260, 2: 445, 3: 260, 4: 380, 5: 667}  # an i is hardly wider
    assert _read(_distilled(told, widths=small_capitals)) == "he oice inds the low of the mill diferent"
    others = "[Th]e o[ffi]ce [fi]nds the [fl]ow of the mill fi"  # a font with ligatures has no f before i
    assert _read(_distilled(others)) == "he oice inds the low of the mill fi"
