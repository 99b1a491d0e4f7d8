"""Formats: a record for each, with its names, signs and reader; adding a format takes a reader and a record here."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from docmill.storage.schema import Parsed
from docmill.tasks.parse.programming_languages import LANGUAGES, PATCH

FILE_TYPE_VERSION = 12  # raise it when the detected type of any file changes
Signature = tuple[int, bytes]
"""Bytes, and the offset at which a file has them."""


@dataclass(frozen=True, slots=True)
class FileType:
    """The type of a file: a key of `FORMATS` and, for source code, its language, such as "python"."""

    format: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How to parse: passwords to try, and limits in characters of text, elements and unpacked bytes.

    `language` is the programming language of source code; `parse` sets it from the file type. With `ocr`, text in
    pictures is read by `ocr_engine`, whose name may be followed by a version; `ocr_languages` are tesseract's names,
    such as "eng+deu". With `comments`, the comments of Word documents and OpenDocument texts are read. `pictures` are
    the picture files that a page shows, by path relative to the page.
    """

    language: str = ""
    passwords: tuple[str, ...] = field(default=(), repr=False, metadata={"secret": True})
    ocr: bool = False
    ocr_engine: str = "tesseract"
    ocr_languages: str = "eng"
    comments: bool = False
    max_characters: int = 50_000_000
    max_elements: int = 1_000_000
    max_unpacked_bytes: int = 500_000_000
    pictures: Mapping[str, bytes] = field(default_factory=dict, repr=False, hash=False)


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file; raise `version` whenever `parse` returns a different text or different elements.

    `files` and `by` are columns of the docs page on formats: which files these are, and how they are read. The other
    fields are signs of the format and their consequences:

    - `signatures`: bytes at an offset; `members` and `streams`: prefixes of the first name in a zip archive or a
      compound file; `opendocument`: the kind of document that its `mimetype` states.
    - `begins`: a beginning that proves the format, whatever the name. `holds`: content with which a text's suffix is
      believed; without it, the text needs other signs.
    - `akin`: formats and languages that only the name distinguishes. `labels`: the classifier's names of the format.
    - `content_type`: that of all documents of the format, and why (`because`).
    """

    name: str
    version: int
    parse: Callable[[bytes, ParseOptions], Parsed]
    suffixes: frozenset[str]
    files: str
    by: str
    signatures: tuple[Signature, ...] = ()
    members: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    opendocument: str = ""
    begins: re.Pattern[str] | None = None
    holds: re.Pattern[str] | None = None
    akin: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    content_type: str = ""
    because: str = ""


MAIL_HEADER = r"(?:From .*\r?\n)?(?:>?[A-Za-z][\w-]*:(?:[ \t].*)?(?:\r?\n[ \t].*)*(?:\r?\n|\Z)){3,}"
MAIL_NAMES = r"^(?:From|To|Subject|Date|MIME-Version|Message-ID|Received|Return-Path|Content-Type|Delivered-To):"
TAGGED = (
    r"</?(?:p|div|span|a|table|tr|td|th|ul|ol|li|h[1-6]|br|title|body|b|i|em|strong|script|img|meta|center|font)\b"
    r"[^<>]*>"
)
JSON = r"\A(?:\s|//[^\n]*\n|/\*(?:(?!\*/)[\s\S]){0,2000}\*/)*[\[{]"  # settings of programs may begin with comments
_DECLARATION = r"\s*(?:<\?xml[^>]*>\s*)?"
FICTION_BOOK = rf"{_DECLARATION}(?:<!--(?:(?!-->)[\s\S]){{0,2000}}-->\s*)*<FictionBook\b"
MAILBOX = rf"(?!{PATCH})From \S+ +[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d (?:19|20)\d\d\r?\n"
APPLE_MAIL = rf"\s*\d{{1,10}}\s*\n(?=(?:.*\n){{0,40}}?(?:From|Message-Id):){MAIL_HEADER}"
MANUAL = r"\.[ \t]*(?:TH[ \t]+\S+[ \t]+\"?\d|Dd\b|Dt[ \t]+\S+[ \t]+\d)"
EXCEL_2003 = (
    rf"{_DECLARATION}(?:<\?mso-application[^>]*Excel\.Sheet"
    r"|<(?:\w+:)?Workbook\b[^>]*urn:schemas-microsoft-com:office:spreadsheet)"
)
WIKI_DUMP = rf"{_DECLARATION}<mediawiki\b[^>]*http://www\.mediawiki\.org/xml/export-"
"""Beginnings or contents of texts of a format, for its record: matched line by line, ignoring case."""


def _by(function: str) -> Callable[[bytes, ParseOptions], Parsed]:
    """Return the parser named `room.module.function`; its libraries are imported on its first call."""
    module, name = function.rsplit(".", 1)

    def parse(data: bytes, options: ParseOptions) -> Parsed:
        parsed: Parsed = getattr(import_module(f"docmill.tasks.parse.{module}"), name)(data, options)
        return parsed

    return parse


def _titled(function: str) -> Callable[[bytes, ParseOptions], Parsed]:
    """Return the parser of that name; it also finds tables of contents, and titles by looks if none have markup."""
    parse = _by(function)

    def titled(data: bytes, options: ParseOptions) -> Parsed:
        from docmill.tasks.parse.titles.contents_list import with_contents
        from docmill.tasks.parse.titles.inferred_headings import with_titles

        return with_titles(with_contents(parse(data, options)))

    return titled


def _form(name: str, version: int, reader: str, suffixes: str, files: str, by: str, **signs: Any) -> Format:
    """Return the record of a format; `reader` is the name of its function, and `suffixes` are separated by spaces."""
    parse = _titled(reader) if signs.pop("titled", False) else _by(reader)
    for pattern in ("begins", "holds"):
        if pattern in signs:
            signs[pattern] = re.compile(signs[pattern], re.IGNORECASE | re.MULTILINE)
    for words in ("akin", "labels"):
        signs[words] = frozenset(signs.get(words, "").split())
    return Format(name, version, parse, frozenset(suffixes.split()), files, by, **signs)


_CODE = " ".join(suffix for language in LANGUAGES.values() for suffix in language.suffixes)

_ALL = (
    _form("text", 11, "plain_text.parse_text", ".asc .me .text .txt",
        "plain text, and markup without a parser of its own",
        "as it is; paragraphs, and titles by their looks", titled=True, holds="", akin="chat log"),
    _form("markdown", 15, "markup.md.markdown_file.parse_markdown", ".markdown .md .mdown .mdx .mkd .qmd .rmd",
        "Markdown and MDX", "markdown-it-py: headings, lists, tables, code, front matter", titled=True, holds="",
        akin="asciidoc mediawiki org rst textile typst", labels="markdown"),
    _form("html", 17, "markup.html.hypertext.parse_html", ".htm .html .shtml .xhtml", "HTML and XHTML",
        "a walk over lxml's tree: headings, nested lists, tables, code", titled=True, holds=TAGGED, akin="vue",
        labels="html"),
    _form("pdf", 34, "pdf.reader.parse_pdf", ".pdf", "PDF",
        "pypdfium2: columns, headings, lists, tables, code, footnotes, links, filled forms; pages and boxes",
        signatures=((0, b"%PDF-"),)),
    _form("image", 8, "pdf.reader.parse_image", ".bmp .gif .jpeg .jpg .png .tif .tiff .webp",
        "PNG, JPEG, TIFF, BMP, GIF and WebP", "a figure, its text by OCR: rapidocr or tesseract; each page of a TIFF",
        signatures=((0, b"\x89PNG\r\n"), (0, b"\xff\xd8\xff"), (0, b"GIF8"), (0, b"II*\x00"), (0, b"MM\x00*"),
            (8, b"WEBP"))),
    _form("docx", 16, "pandoc.word.word.parse_docx", ".docm .docx .dotx", "Word",
        "pandoc: headings, lists, tables, notes; automatic numbers, pages, text boxes and charts by our own",
        titled=True, members=("word/",)),
    _form("odt", 15, "pandoc.formats.odt.parse_odt", ".fodt .odt .ott", "OpenDocument text", "pandoc", titled=True,
        opendocument="text"),
    _form("rtf", 14, "pandoc.formats.rtf.parse_rtf", ".rtf", "rich text", "pandoc", titled=True,
        signatures=((0, b"{\\rtf"),), labels="rtf"),
    _form("epub", 11, "pandoc.formats.book.parse_epub", ".epub", "electronic books",
        "pandoc, in reading order; chapters by their headings or the table of contents"),
    _form("rst", 12, "pandoc.formats.rst_org_latex.parse_rst", ".rest .rst", "reStructuredText",
        "pandoc: headings, lists, tables, code, directives", holds="",
        akin="asciidoc markdown mediawiki org textile typst", labels="rst"),
    _form("org", 9, "pandoc.formats.rst_org_latex.parse_org", ".org", "Org", "pandoc", holds="",
        akin="asciidoc markdown mediawiki rst textile typst"),
    _form("latex", 12, "pandoc.formats.rst_org_latex.parse_latex", ".latex .ltx .tex", "LaTeX",
        "pandoc; environments that it does not know are unwrapped, macros keep arguments; frames are slides",
        holds=r"\\", labels="latex"),
    _form("doc", 13, "pandoc.word.old_word.parse_doc", ".doc .dot", "Word until 2003",
        "LibreOffice, where it is installed, to `docx`; else headings, items and tables of its own pieces",
        titled=True, streams=("WordDocument",)),
    _form("ppt", 3, "office.slides.old_slides.parse_ppt", ".pot .pps .ppt", "PowerPoint until 2003",
        "a walk over its records: titles, nested lists, tables, notes, by their places",
        streams=("PowerPoint Document",), content_type="slides", because="the file is a presentation"),
    _form("pptx", 10, "office.slides.powerpoint.parse_pptx", ".potx .ppsm .ppsx .pptm .pptx", "PowerPoint",
        "a walk over its XML: titles, nested lists, tables, charts, diagrams, notes, by their places",
        members=("ppt/",), content_type="slides", because="the file is a presentation"),
    _form("xlsx", 10, "office.sheets.spreadsheet.parse_xlsx", ".xlsb .xlsm .xlsx .xltm .xltx", "Excel",
        "a walk over its XML, XLSB by calamine: sheets, tables, dates and percentages as shown, notes",
        members=("xl/",), content_type="table", because="the file is a spreadsheet"),
    _form("xls", 6, "office.sheets.spreadsheet.parse_xls", ".xls .xlt", "Excel until 2003",
        "xlrd: sheets, tables, dates and percentages as shown", streams=("Workbook", "Book"), begins=EXCEL_2003,
        content_type="table", because="the file is a spreadsheet"),
    _form("ods", 9, "office.sheets.spreadsheet.parse_ods", ".fods .ods .ots", "OpenDocument spreadsheets",
        "a walk over its XML: sheets, tables, values as shown, notes", opendocument="spreadsheet",
        content_type="table", because="the file is a spreadsheet"),
    _form("eml", 15, "mail.messages.parse_mail", ".eml .p7s", "mail",
        "the standard library: head, plain text or HTML, quoted history and signature apart", holds=MAIL_NAMES,
        akin="mbox mht", labels="eml mht", content_type="email", because="the file is a mail"),
    _form("msg", 15, "mail.messages.parse_outlook", ".msg", "Outlook's mail", "olefile, then as other mail",
        streams=("__properties_version1.0", "__substg1.0_"), content_type="email", because="the file is a mail"),
    _form("mbox", 15, "mail.messages.parse_mbox", ".mbox", "mailboxes", "as mail; each message a section",
        begins=MAILBOX, akin="eml", content_type="email", because="the file is a box of mails"),
    _form("emlx", 9, "mail.messages.parse_apple_mail", ".emlx", "Apple Mail", "as other mail", begins=APPLE_MAIL,
        content_type="email", because="the file is a mail"),
    _form("pst", 9, "mail.messages.parse_outlook_store", ".ost .pst", "Outlook's data files",
        "readpst, where it is installed: folders, in them mails; calendars and contacts as files of their own",
        signatures=((0, b"!BDN"),), content_type="email", because="the file is a box of mails"),
    _form("xml", 16, "markup.xml.generic_xml.parse_xml", ".atom .dbk .dita .nxml .opml .rss .tei .xml",
        "XML of any kind, feeds",
        "a walk over lxml's tree: titles, paragraphs, tables, records of lines with element paths", holds=r"\A\s*<",
        labels="rdf svg xml"),
    _form("json", 12, "records.json_values.parse_json", ".geojson .json",
        "JSON, chats exported as JSON or printed as Python objects",
        "records as lines of key and value; turns with speaker and time", holds=JSON, akin="jsonl", labels="json"),
    _form("jsonl", 12, "records.json_values.parse_json_lines", ".jsonl .ndjson", "JSON lines", "one record a line",
        holds=JSON, akin="json", labels="jsonl"),
    _form("ipynb", 16, "records.notebook.parse_notebook", ".ipynb", "Jupyter notebooks",
        "cells in order, code in its language, printed output", holds=JSON, labels="ipynb"),
    _form("subtitles", 4, "records.subtitles.parse_subtitles", ".ass .srt .ssa .vtt",
        "subtitles: SubRip, WebVTT and SubStation Alpha",
        "cues joined to turns with speaker and times", holds="", labels="srt vtt", content_type="transcript",
        because="the file holds subtitles"),
    _form("chat", 5, "records.chat_log.parse_chat", ".irc .weechatlog",
        "chat logs: IRC, WhatsApp, Discord; messages with lines such as `role: user`",
        "as it is; a turn with speaker and time for each message", holds="", akin="log text", content_type="chat",
        because="the file is a dialogue"),
    _form("log", 5, "records.log_lines.parse_log", ".log", "log files",
        "as it is; entries with time and level, stack traces in one piece", holds="", akin="chat text",
        content_type="log", because="the file is a log"),
    _form("csv", 10, "records.delimited.parse_delimited", ".csv .tab .tsv", "CSV and TSV", "rows of a pipe table",
        labels="csv tsv", content_type="table", because="the file is a table"),
    _form("fb2", 5, "pandoc.formats.light_markup.parse_fiction_book", ".fb2", "FictionBook",
        "pandoc; its tables as those of HTML", begins=FICTION_BOOK),
    _form("asciidoc", 5, "pandoc.formats.light_markup.parse_asciidoc", ".adoc .asciidoc", "AsciiDoc",
        "pandoc: headings, lists, tables, code; attributes by our own", holds="",
        akin="markdown mediawiki org rst textile typst"),
    _form("mediawiki", 6, "pandoc.formats.light_markup.parse_mediawiki", ".mediawiki .wiki .wikitext", "MediaWiki",
        "pandoc; values of templates as words", begins=WIKI_DUMP, holds="",
        akin="asciidoc markdown org rst textile typst"),
    _form("textile", 4, "pandoc.formats.light_markup.parse_textile", ".textile", "Textile", "pandoc", holds="",
        akin="asciidoc markdown mediawiki org rst typst"),
    _form("typst", 3, "pandoc.formats.light_markup.parse_typst", ".typ", "Typst",
        "pandoc; rules of layout are left out", holds="", akin="asciidoc markdown mediawiki org rst textile"),
    _form("man", 1, "pandoc.formats.light_markup.parse_man",
        ".1 .2 .3 .4 .5 .6 .7 .8 .9 .man .mdoc", "manual pages, in man and mdoc",
        "pandoc: sections, options as terms, code, tables", holds=rf"^{MANUAL}",
        begins=rf"(?:(?:[.']?[ \t]*\\\".*|[.']?[ \t]*)\n)*{MANUAL}"),
    _form("odp", 5, "office.slides.open_slides.parse_odp", ".fodp .odp .otp", "OpenDocument presentations",
        "a walk over its XML: titles, nested lists, tables, notes, by their places", opendocument="presentation",
        content_type="slides", because="the file is a presentation"),
    _form("odg", 4, "office.slides.open_slides.parse_odp", ".fodg .odg .otg", "OpenDocument drawings",
        "a walk over its XML: the texts of each page, by their places", opendocument="graphics"),
    _form("vsdx", 1, "office.visio.parse_vsdx", ".vsdm .vsdx .vstx", "Visio",
        "a walk over its XML: the texts of each page by their places, and what lines connect", members=("visio/",)),
    _form("iwork", 10, "pdf.reader.parse_iwork", ".key .numbers .pages", "Pages, Keynote and Numbers",
        "the preview PDF inside, if there is one",
        members=("Index/Document.iwa", "Metadata/BuildVersionHistory.plist", "buildVersionHistory.plist",
            "index.apxl", "QuickLook/")),
    _form("boxnote", 4, "records.rich_text.parse_box_note", ".boxnote", "Box Notes, and other documents of ProseMirror",
        "a walk over its JSON: headings, lists, tables, code"),
    _form("mht", 7, "mail.mhtml.parse_web_page", ".mht .mhtml", "web pages saved as one file",
        "the standard library, then as HTML", holds=MAIL_NAMES, akin="eml"),
    _form("ics", 1, "records.agenda.parse_calendar", ".ical .ics .ifb", "calendars",
        "events, tasks and journals, each a section with its time, place and people", begins=r"\s*BEGIN:VCALENDAR\s",
        content_type="data", because="the file is a calendar"),
    _form("vcf", 1, "records.agenda.parse_cards", ".vcard .vcf", "address books", "each card a section",
        begins=r"\s*BEGIN:VCARD\s", content_type="data", because="the file is an address book"),
    _form("sqlite", 3, "records.data_files.parse_sqlite", ".db .gpkg .sqlite .sqlite3", "SQLite databases",
        "columns and the first 10,000 rows of each table and view", signatures=((0, b"SQLite format 3\x00"),),
        content_type="table", because="the file is a database"),
    _form("parquet", 3, "records.data_files.parse_parquet", ".parquet", "Parquet",
        "pyarrow: columns, the first 10,000 rows", signatures=((0, b"PAR1"),), content_type="table",
        because="the file is a table"),
    _form("arrow", 3, "records.data_files.parse_arrow", ".arrow .arrows .feather", "Arrow and Feather",
        "pyarrow: columns, the first 10,000 rows", signatures=((0, b"ARROW1"), (0, b"\xff\xff\xff\xff")),
        content_type="table", because="the file is a table"),
    _form("dbf", 3, "records.data_files.parse_dbf", ".dbf", "dBase and FoxPro", "fields, the first 10,000 records",
        content_type="table", because="the file is a table"),
    _form("code", 5, "plain_text.parse_code", _CODE, f"source code in {len(LANGUAGES)} languages",
        "the text itself", content_type="code", because="the file is source code"),
)  # fmt: skip
"""Each format: name, version, reader, suffixes, which files these are, how they are read; then the signs of `Format`,
and whether titles are found by their looks. If the signs of several formats fit a file, the first counts."""

FORMATS: dict[str, Format] = {form.name: form for form in _ALL}
