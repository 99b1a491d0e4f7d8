"""Formats: the registry of parsers; a new format is a function and an entry here."""

from collections.abc import Callable
from importlib import import_module
from itertools import starmap

from docmill.storage.schema import Parsed
from docmill.tasks.parse.format import Format, ParseOptions
from docmill.tasks.parse.languages import LANGUAGES
from docmill.tasks.parse.titles.contents_list import with_contents
from docmill.tasks.parse.titles.untitled import with_titles


def _by(function: str) -> Callable[[bytes, ParseOptions], Parsed]:
    """Return the parser named `room.module.function`; its libraries are imported on its first call."""
    module, name = function.rsplit(".", 1)

    def parse(data: bytes, options: ParseOptions) -> Parsed:
        parsed: Parsed = getattr(import_module(f"docmill.tasks.parse.{module}"), name)(data, options)
        return parsed

    return parse


def _titled(function: str) -> Callable[[bytes, ParseOptions], Parsed]:
    """Return the parser of that name, and find lists of contents, and titles by their looks where none have markup."""
    parse = _by(function)
    return lambda data, options: with_titles(with_contents(parse(data, options)))


def _form(name: str, parse: str, suffixes: str, files: str, by: str) -> Format:
    """Return a format; `parse` is the name of its parser, `suffixes` are parted by spaces."""
    return Format(name, _LATER.get(name, 1), _by(parse), frozenset(suffixes.split()), files, by)


_CODE = frozenset(suffix for language in LANGUAGES.values() for suffix in language.suffixes)
_TEXT = frozenset({".txt", ".text", ".asc", ".me"})

_LATER = {"asciidoc": 2, "boxnote": 2, "mediawiki": 2}  # versions of formats below that are no more the first
_MORE = (
    ("asciidoc", "pandoc.formats.light_markup.parse_asciidoc", ".adoc .asciidoc", "AsciiDoc",
     "pandoc: headings, lists, tables, code; attributes by our own"),
    ("mediawiki", "pandoc.formats.light_markup.parse_mediawiki", ".mediawiki .wiki .wikitext", "MediaWiki",
     "pandoc; templates are left out"),
    ("textile", "pandoc.formats.light_markup.parse_textile", ".textile", "Textile", "pandoc"),
    ("typst", "pandoc.formats.light_markup.parse_typst", ".typ", "Typst", "pandoc; rules of layout are left out"),
    ("odp", "office.slides.open_slides.parse_odp", ".odp .otp .fodp", "OpenDocument presentations",
     "a walk over its XML: titles, nested lists, tables, notes, by their places"),
    ("odg", "office.slides.open_slides.parse_odp", ".odg .otg .fodg", "OpenDocument drawings",
     "a walk over its XML: the texts of each page, by their places"),
    ("vsdx", "office.visio.parse_vsdx", ".vsdx .vsdm .vstx", "Visio",
     "a walk over its XML: the texts of each page by their places, and what lines connect"),
    ("iwork", "pdf.iwork.parse_iwork", ".pages .key .numbers", "Pages, Keynote and Numbers",
     "the PDF that they hold to be looked at, where they hold one"),
    ("boxnote", "notes.box_note.parse_box_note", ".boxnote", "Box Notes, and other documents of ProseMirror",
     "a walk over its JSON: headings, lists, tables, code"),
    ("mht", "mail.web_page.parse_web_page", ".mht .mhtml", "web pages saved as one file",
     "the standard library, then as HTML"),
    ("ics", "agenda.events.parse_calendar", ".ics .ical .ifb", "calendars",
     "events, tasks and journals, each a section with its time, place and people"),
    ("vcf", "agenda.cards.parse_cards", ".vcf .vcard", "address books", "each card a section"),
    ("sqlite", "datasets.sqlite_file.parse_sqlite", ".sqlite .sqlite3 .db .gpkg", "SQLite databases",
     "columns and the first 10,000 rows of each table and view"),
    ("parquet", "datasets.columns_file.parse_parquet", ".parquet", "Parquet",
     "pyarrow: columns, the first 10,000 rows"),
    ("arrow", "datasets.columns_file.parse_arrow", ".arrow .arrows .feather", "Arrow and Feather",
     "pyarrow: columns, the first 10,000 rows"),
    ("dbf", "datasets.dbase.parse_dbf", ".dbf", "dBase and FoxPro", "fields, the first 10,000 records"),
)  # fmt: skip
"""Formats in their first version: name, parser, suffixes, which files these are, how they are read."""


FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format(
            name="text",
            version=6,
            parse=_titled("plain.parse_text"),
            suffixes=_TEXT,
            files="plain text, and markup without a parser of its own",
            by="as it is; paragraphs, and titles by their looks",
        ),
        Format(
            name="markdown",
            version=10,
            parse=_titled("markup.md.markdown_file.parse_markdown"),
            suffixes=frozenset({".md", ".mdx", ".markdown", ".mkd", ".mdown"}),
            files="Markdown and MDX",
            by="markdown-it-py: headings, lists, tables, code, front matter",
        ),
        Format(
            name="html",
            version=9,
            parse=_titled("markup.html.hypertext.parse_html"),
            suffixes=frozenset({".html", ".htm", ".xhtml", ".shtml"}),
            files="HTML and XHTML",
            by="a walk over lxml's tree: headings, nested lists, tables, code",
        ),
        Format(
            name="pdf",
            version=14,
            parse=_by("pdf.reader.parse_pdf"),
            suffixes=frozenset({".pdf"}),
            files="PDF",
            by="pypdfium2: columns, headings, lists, tables, code, footnotes, links, filled forms; pages and boxes",
        ),
        Format(
            name="image",
            version=3,
            parse=_by("pdf.image_file.parse_image"),
            suffixes=frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp"}),
            files="PNG, JPEG, TIFF, BMP, GIF and WebP",
            by="tesseract, where `[parse] ocr = true`; each page of a TIFF",
        ),
        Format(
            name="docx",
            version=10,
            parse=_titled("pandoc.word.word.parse_docx"),
            suffixes=frozenset({".docx", ".docm", ".dotx"}),
            files="Word",
            by="pandoc: headings, lists, tables, notes; automatic numbers, pages, text boxes and charts by our own",
        ),
        Format(
            name="odt",
            version=10,
            parse=_titled("pandoc.formats.odt_rtf.parse_odt"),
            suffixes=frozenset({".odt", ".ott", ".fodt"}),
            files="OpenDocument text",
            by="pandoc",
        ),
        Format(
            name="rtf",
            version=11,
            parse=_titled("pandoc.formats.odt_rtf.parse_rtf"),
            suffixes=frozenset({".rtf"}),
            files="rich text",
            by="pandoc",
        ),
        Format(
            name="epub",
            version=7,
            parse=_by("pandoc.formats.book.parse_epub"),
            suffixes=frozenset({".epub"}),
            files="electronic books",
            by="pandoc, in reading order; chapters by their headings or the table of contents",
        ),
        Format(
            name="rst",
            version=7,
            parse=_by("pandoc.formats.rst_org_latex.parse_rst"),
            suffixes=frozenset({".rst", ".rest"}),
            files="reStructuredText",
            by="pandoc: headings, lists, tables, code, directives",
        ),
        Format(
            name="org",
            version=7,
            parse=_by("pandoc.formats.rst_org_latex.parse_org"),
            suffixes=frozenset({".org"}),
            files="Org",
            by="pandoc",
        ),
        Format(
            name="latex",
            version=7,
            parse=_by("pandoc.formats.rst_org_latex.parse_latex"),
            suffixes=frozenset({".tex", ".latex", ".ltx"}),
            files="LaTeX",
            by="pandoc; environments that it does not know are unwrapped, macros keep arguments; frames are slides",
        ),
        Format(
            name="doc",
            version=9,
            parse=_titled("pandoc.word.libreoffice.parse_doc"),
            suffixes=frozenset({".doc", ".dot"}),
            files="Word until 2003",
            by="LibreOffice, where it is installed, to `docx`; else headings, items and tables of its own pieces",
        ),
        Format(
            name="ppt",
            version=2,
            parse=_by("office.slides.old_slides.parse_ppt"),
            suffixes=frozenset({".ppt", ".pps", ".pot"}),
            files="PowerPoint until 2003",
            by="a walk over its records: titles, nested lists, tables, notes, by their places",
        ),
        Format(
            name="pptx",
            version=6,
            parse=_by("office.slides.powerpoint.parse_pptx"),
            suffixes=frozenset({".pptx", ".pptm", ".potx", ".ppsx", ".ppsm"}),
            files="PowerPoint",
            by="a walk over its XML: titles, nested lists, tables, charts, diagrams, notes, by their places",
        ),
        Format(
            name="xlsx",
            version=5,
            parse=_by("office.sheets.spreadsheet.parse_xlsx"),
            suffixes=frozenset({".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb"}),
            files="Excel",
            by="a walk over its XML, XLSB by calamine: sheets, tables, dates and percentages as shown, notes",
        ),
        Format(
            name="xls",
            version=3,
            parse=_by("office.sheets.spreadsheet.parse_xls"),
            suffixes=frozenset({".xls", ".xlt"}),
            files="Excel until 2003",
            by="xlrd: sheets, tables, dates and percentages as shown",
        ),
        Format(
            name="ods",
            version=5,
            parse=_by("office.sheets.spreadsheet.parse_ods"),
            suffixes=frozenset({".ods", ".ots", ".fods"}),
            files="OpenDocument spreadsheets",
            by="a walk over its XML: sheets, tables, values as shown, notes",
        ),
        Format(
            name="eml",
            version=9,
            parse=_by("mail.messages.parse_mail"),
            suffixes=frozenset({".eml", ".p7s"}),
            files="mail",
            by="the standard library: head, plain text or HTML, quoted history and signature apart",
        ),
        Format(
            name="msg",
            version=9,
            parse=_by("mail.messages.parse_outlook"),
            suffixes=frozenset({".msg"}),
            files="Outlook's mail",
            by="olefile, then as other mail",
        ),
        Format(
            name="mbox",
            version=9,
            parse=_by("mail.messages.parse_mbox"),
            suffixes=frozenset({".mbox"}),
            files="mailboxes",
            by="as mail; each message a section",
        ),
        Format(
            name="emlx",
            version=3,
            parse=_by("mail.messages.parse_apple_mail"),
            suffixes=frozenset({".emlx"}),
            files="Apple Mail",
            by="as other mail",
        ),
        Format(
            name="pst",
            version=3,
            parse=_by("mail.messages.parse_outlook_store"),
            suffixes=frozenset({".pst", ".ost"}),
            files="Outlook's data files",
            by="readpst, where it is installed: folders, in them mails; calendars and contacts as files of their own",
        ),
        Format(
            name="xml",
            version=8,
            parse=_by("markup.xml.generic_xml.parse_xml"),
            suffixes=frozenset({".xml", ".nxml", ".rss", ".atom", ".tei", ".dbk", ".dita"}),
            files="XML of any kind, feeds",
            by="a walk over lxml's tree: titles, paragraphs, tables, records of lines with element paths",
        ),
        Format(
            name="json",
            version=6,
            parse=_by("records.json_values.parse_json"),
            suffixes=frozenset({".json", ".geojson"}),
            files="JSON, chats exported as JSON or printed as Python objects",
            by="records as lines of key and value; turns with speaker and time",
        ),
        Format(
            name="jsonl",
            version=6,
            parse=_by("records.json_values.parse_json_lines"),
            suffixes=frozenset({".jsonl", ".ndjson"}),
            files="JSON lines",
            by="one record a line",
        ),
        Format(
            name="ipynb",
            version=9,
            parse=_by("records.notebook.parse_notebook"),
            suffixes=frozenset({".ipynb"}),
            files="Jupyter notebooks",
            by="cells in order, code in its language, printed output",
        ),
        Format(
            name="subtitles",
            version=2,
            parse=_by("records.subtitles.parse_subtitles"),
            suffixes=frozenset({".srt", ".vtt"}),
            files="SubRip and WebVTT subtitles",
            by="cues joined to turns with speaker and times",
        ),
        Format(
            name="chat",
            version=4,
            parse=_by("records.chat_log.parse_chat"),
            suffixes=frozenset({".irc", ".weechatlog"}),
            files="chat logs: IRC, WhatsApp, Discord; messages with lines such as `role: user`",
            by="as it is; a turn with speaker and time for each message",
        ),
        Format(
            name="log",
            version=3,
            parse=_by("records.log_lines.parse_log"),
            suffixes=frozenset({".log"}),
            files="log files",
            by="as it is; entries with time and level, stack traces in one piece",
        ),
        Format(
            name="csv",
            version=3,
            parse=_by("records.delimited.parse_delimited"),
            suffixes=frozenset({".csv", ".tsv", ".tab"}),
            files="CSV and TSV",
            by="rows of a pipe table",
        ),
        Format(
            name="fb2",
            version=4,
            parse=_by("pandoc.formats.light_markup.parse_fiction_book"),
            suffixes=frozenset({".fb2"}),
            files="FictionBook",
            by="pandoc; its tables as those of HTML",
        ),
        *starmap(_form, _MORE),
        Format(
            name="code",
            version=3,
            parse=_by("records.source_code.parse_code"),
            suffixes=_CODE,
            files=f"source code in {len(LANGUAGES)} languages",
            by="the text itself",
        ),
    )
}
