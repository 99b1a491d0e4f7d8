"""Word: form fields, parts in custom XML, and main parts of other names."""

import io
import zipfile

from docx import Document
from docx.oxml import parse_xml

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def document(*blocks: str) -> bytes:
    made, buffer = Document(), io.BytesIO()
    for block in blocks:
        made.element.body.insert(-1, parse_xml(block.replace(">", f" {WORD}>", 1)))
    made.save(buffer)
    return buffer.getvalue()


def read(data: bytes) -> str:
    return parse(data, FileType("docx"), ParseOptions()).text


def field(settings: str, text: str) -> str:
    begin = f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{settings}</w:ffData></w:fldChar></w:r>'
    end = '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    return f'<w:p>{begin}{end}<w:r><w:t xml:space="preserve"> {text}</w:t></w:r></w:p>'


def test_boxes_are_ticked_or_not_and_lists_show_their_choice() -> None:
    grains = '<w:listEntry w:val="rye"/><w:listEntry w:val="oats"/>'
    fields = [
        ("<w:checkBox><w:checked/></w:checkBox>", "by day"),
        ('<w:checkBox><w:default w:val="1"/></w:checkBox>', "at night"),
        ('<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>', "in frost"),
        (f'<w:ddList><w:result w:val="1"/>{grains}</w:ddList>', "first"),
        (f"<w:ddList>{grains}</w:ddList>", "second"),
        (f'<w:ddList><w:result w:val="9"/>{grains}</w:ddList>', "third"),
    ]
    assert read(document(*(field(*one) for one in fields))) == (
        "☒ by day\n\n☒ at night\n\n☐ in frost\n\noats first\n\nrye second\n\nthird"
    )


def test_paragraphs_and_words_in_custom_xml_are_read() -> None:
    inner = '<w:customXmlPr><w:attr w:name="a" w:val="b"/></w:customXmlPr><w:p><w:r><w:t>In a block.</w:t></w:r></w:p>'
    words = '<w:p><w:smartTag w:element="place"><w:r><w:t>In Ulm.</w:t></w:r></w:smartTag></w:p>'
    assert read(document(f'<w:customXml w:element="x">{inner}</w:customXml>', words)) == "In a block.\n\nIn Ulm."


def test_a_document_whose_parts_have_other_names_is_read() -> None:
    data, moved = document("<w:p><w:r><w:t>The wheel turns.</w:t></w:r></w:p>"), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(moved, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            for old, new in (("document.xml", "document2.xml"), ("styles.xml", "styles7.xml")):
                name = name.replace(f"word/{old}", f"word/{new}").replace(f"word/_rels/{old}", f"word/_rels/{new}")
                if name.endswith(".rels") or name == "[Content_Types].xml":
                    content = content.replace(old.encode(), new.encode())
            target.writestr(name, content)
    assert read(moved.getvalue()) == "The wheel turns."
