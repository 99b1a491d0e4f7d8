"""Figures: small documents of each format that show pictures, each with its caption, and a logo on every page."""

import base64
import io
import json
import zipfile
import zlib
from email.message import EmailMessage

from PIL import Image, ImageDraw

CAPTION = "Figure 1: Chlorophyll in the lagoon from May to August"
PROSE = "The bloom of June stands out in Figure 1, before the sluices were opened."
SECOND = "Figure 2: Depth of the sounding line at each buoy"


def drawn(seed: int, width: int = 160, height: int = 120, kind: str = "PNG") -> bytes:
    """Return a chart of bars as an image file; each seed draws another one."""
    image = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(image)
    for bar in range(8):
        tall = (seed * 37 + bar * 53) % max(height - 10, 1)
        pen.rectangle((8 + bar * 18, height - tall, 20 + bar * 18, height), fill=(40, (seed * 67) % 256, bar * 30))
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def data_uri(picture: bytes, media_type: str = "image/png") -> str:
    """Return a picture as an address that holds it."""
    return f"data:{media_type};base64,{base64.b64encode(picture).decode()}"


def html(picture: bytes, second: bytes) -> bytes:
    """Return a page with a figure, a picture with a caption below it, and three copies of a logo."""
    logo = f'<img src="{data_uri(drawn(99, 40, 40))}">'
    return f"""<html><head><title>Lagoon</title></head><body><h1>The lagoon</h1>{logo}<p>{PROSE}</p>
<figure><img src="{data_uri(picture)}" alt="Bars by month"><figcaption>{CAPTION}</figcaption></figure>
<p>Soundings were taken in the fog.{logo}</p><p><img src="{data_uri(second)}"></p><p>{SECOND}</p>
<p>End.{logo}<img src="{data_uri(drawn(1, 1, 1))}"></p></body></html>""".encode()


def _zipped(parts: dict[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as container:
        for name, content in parts.items():
            container.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def docx(picture: bytes) -> bytes:
    """Return a Word document with a picture between two paragraphs and its caption below."""
    import docx

    document = docx.Document()
    document.add_heading("The lagoon", 1)
    document.add_paragraph(PROSE)
    document.add_picture(io.BytesIO(picture))
    document.inline_shapes[0]._inline.docPr.set("descr", "Bars by month")
    document.add_paragraph(CAPTION, style="Caption")
    document.add_paragraph("Soundings were taken in the fog.")
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def pptx(picture: bytes) -> bytes:
    """Return two slides, a picture with a caption on the second."""
    import pptx
    from pptx.util import Inches

    deck = pptx.Presentation()
    for title in ("The lagoon", "Chlorophyll"):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
    shape = slide.shapes.add_picture(io.BytesIO(picture), Inches(1), Inches(2), Inches(4), Inches(3))
    shape._element.nvPicPr.cNvPr.set("descr", "Bars by month")
    box = slide.shapes.add_textbox(Inches(1), Inches(5.2), Inches(5), Inches(0.5))
    box.text_frame.text = CAPTION
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


_ODF = """xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" \
xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" \
xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" \
xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink\""""


def odt(picture: bytes) -> bytes:
    """Return an OpenDocument text with a picture and its caption."""
    body = f"""<office:document-content {_ODF}><office:body><office:text>
<text:h text:outline-level="1">The lagoon</text:h>
<text:p>{PROSE}</text:p><text:p><draw:frame svg:width="8cm" svg:height="6cm"><draw:image xlink:href="Pictures/a.png"/>
<svg:desc>Bars by month</svg:desc></draw:frame></text:p><text:p>{CAPTION}</text:p>
<text:p>Soundings were taken in the fog.</text:p></office:text></office:body></office:document-content>"""
    return _zipped({
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f'<?xml version="1.0" encoding="UTF-8"?>{body}',
        "styles.xml": f"<office:document-styles {_ODF}><office:styles/></office:document-styles>",
        "META-INF/manifest.xml": "<manifest/>",
        "Pictures/a.png": picture,
    })  # fmt: skip


def epub(picture: bytes) -> bytes:
    """Return a book of one chapter with a figure, whose file is in another folder."""
    chapter = f"""<html xmlns="http://www.w3.org/1999/xhtml"><head><title>One</title></head><body><h1>The lagoon</h1>
<p>{PROSE}</p><figure><img src="../images/bars%20by%20month.png" alt="Bars by month"/><figcaption>{CAPTION}</figcaption>
</figure><p>Soundings were taken in the fog.</p></body></html>"""
    package = """<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata
xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Waters</dc:title></metadata><manifest>
<item id="a" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="b" href="images/bars%20by%20month.png" media-type="image/png"/></manifest>
<spine><itemref idref="a"/></spine></package>"""
    return _zipped({
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        "OEBPS/book.opf": package,
        "OEBPS/text/one.xhtml": chapter,
        "OEBPS/images/bars by month.png": picture,
    })  # fmt: skip


def ipynb(picture: bytes) -> bytes:
    """Return a notebook whose code shows a picture, above a cell with its caption."""
    shown = {"image/png": base64.b64encode(picture).decode(), "text/plain": ["<Figure size 640x480 with 1 Axes>"]}
    cells = [
        {"cell_type": "markdown", "source": f"# The lagoon\n\n{PROSE}"},
        {"cell_type": "code", "source": "plot(bloom)", "outputs": [{"output_type": "display_data", "data": shown}]},
        {"cell_type": "markdown", "source": CAPTION},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def eml(picture: bytes, attached: bytes) -> bytes:
    """Return a mail with a picture in its text, named by its content id, and one attached to it."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@example.org", "b@example.org", "The lagoon"
    mail["Date"] = "Mon, 01 Jun 2026 10:00:00 +0000"
    mail.set_content(PROSE)
    mail.add_alternative(
        f'<p>{PROSE}</p><p><img src="cid:bars@example.org" alt="Bars by month"></p><p>{CAPTION}</p>', subtype="html"
    )
    page = mail.get_body(("html",))
    assert isinstance(page, EmailMessage)
    page.add_related(picture, "image", "png", cid="<bars@example.org>")
    mail.add_attachment(attached, "image", "png", filename="soundings.png")
    return mail.as_bytes()


def mht(picture: bytes) -> bytes:
    """Return a saved page whose picture is a part beside it."""
    page = EmailMessage()
    page["From"], page["Subject"], page["Snapshot-Content-Location"] = "<Saved by Blink>", "The lagoon", "file:///a"
    shown = '<img src="https://example.org/bars.png" alt="Bars by month">'
    page.set_content(f"<h1>The lagoon</h1><p>{PROSE}</p>{shown}<p>{CAPTION}</p>", subtype="html")
    page.add_related(picture, "image", "png")
    part = list(page.iter_parts())[1]
    part["Content-Location"] = "https://example.org/bars.png"
    return page.as_bytes()


def pdf(*pages: bytes, logo: bytes = b"", packed: bool = False) -> bytes:
    """Return a PDF whose pages show a picture each between two paragraphs, its caption below, and a logo at their top.

    JPEGs are in it as they are, or `packed`; of other pictures their greys are.
    """
    files = [*pages, *([logo] if logo else [])]
    first = 3 + 2 * len(pages)  # the number of the first picture
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    for number in range(len(pages)):
        names = f"/P {first + number} 0 R" + (f" /L {first + len(pages)} 0 R" if logo else "")
        font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 600] /Contents {4 + 2 * number} 0 R"
            f" /Resources << /XObject << {names} >> /Font << /F {font} >> >> >>"
        )
        lines = [(540, PROSE), (310, f"Figure {number + 1}: {CAPTION[10:]}"), (270, "Soundings were taken in the fog.")]
        shown = [f"BT /F 10 Tf 40 {y} Td ({text}) Tj ET" for y, text in lines]
        drawn = ["q 200 0 0 150 60 340 cm /P Do Q"] + ["q 60 0 0 30 300 560 cm /L Do Q"] * bool(logo)
        content = "\n".join(shown + drawn)
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(len(pages)))
    objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"
    objects += [_picture(one, packed) for one in files]
    whole, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(whole))
        whole += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(whole)}\n%%EOF\n"
    return whole + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


def _picture(one: bytes, packed: bool) -> str:
    """Return the object of a PDF that holds a picture."""
    image = Image.open(io.BytesIO(one))
    colours, filters, data = "RGB", ["/DCTDecode"], one
    if image.format != "JPEG":
        colours, filters, data, packed = "Gray", [], image.convert("L").tobytes(), True
    if packed:
        filters, data = ["/FlateDecode", *filters], zlib.compress(data)
    return (
        f"<< /Type /XObject /Subtype /Image /Width {image.width} /Height {image.height} /ColorSpace /Device{colours}"
        f" /BitsPerComponent 8 /Filter [{' '.join(filters)}] /Length {len(data)} >>\n"
        f"stream\n{data.decode('latin-1')}\nendstream"
    )
