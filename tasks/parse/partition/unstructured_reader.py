"""Unstructured reader: files partitioned by `unstructured` with its fast strategy, without a model or a network.

It uses spaCy, whose model it would download, for sentences, words and verbs, which only decide what is narrative text,
a title, or neither. The functions here replace it.
"""

import io
import logging
import re
import sys
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.html_table import table_rows
from docmill.tasks.parse.office.open_xml import check_container
from docmill.tasks.parse.pandoc.markdown_writer import reads_as_heading
from docmill.tasks.parse.partition.unstructured_formats import UnstructuredOptions, why_not

_MODULES = {"markdown": "md", "eml": "email", "xls": "xlsx", "jsonl": "ndjson"}
"""Modules of `unstructured.partition` whose names differ from the format's."""
_CONTAINERS = ("docx", "odt", "pptx", "xlsx", "epub")
_AS_TEXT = ("text", "markdown", "html", "json", "jsonl")  # take text instead of a file
_AS_UTF8 = ("csv", "rst", "org")  # take a file and read no other encoding well
_OPTIONAL = ("Header", "Footer", "PageNumber")
_MARKER = re.compile(r"(\(?(?:\d{1,3}|[A-Za-z]|[ivxlcIVXLC]{1,5})[.)])\s+(?=\S)")
_FURNITURE = ("Header", "Footer", "PageNumber", "PageBreak")
_BOLD_LEVEL = 2  # of bold headings: level 1 is the title's
_KNOWN = 128  # texts: `unstructured` requests the same one several times in a row, then never again
_SHORTEST = 5  # letters of a verb recognised by its ending: "wing", "shed" and "late" only look like one
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
# English verb endings, shared by many nouns; the common nouns are listed below.
_VERB_ENDINGS = ("ing", "ed", "ize", "izes", "ise", "ises", "ify", "ifies", "ate", "ates")
_NOT_VERB_WORDS = """
    thing things nothing something anything everything string strings king kings ring rings spring wing wings
    morning evening building ceiling during sibling red bed need seed feed speed hundred sacred naked wicked kindred
    indeed date dates rate rates state states private climate template templates candidate candidates certificate
    corporate estate gate gates late plate plates senate size sizes prize prizes exercise enterprise otherwise
    precise rise immediate appropriate accurate adequate separate ultimate approximate delegate duplicate
    intermediate
"""
_NOT_VERBS = frozenset(_NOT_VERB_WORDS.split())
_VERB_WORDS = """
    am is are was were be been being have has had having do does did done will would shall should can could may
    might must let go goes went gone come comes came get gets got make makes made take takes took taken see sees saw
    seen know knows knew known think thinks thought say says said tell tells told ask asks give gives gave given
    find finds found keep keeps kept leave leaves left mean means meant need needs want wants use uses used try
    tries show shows shown run runs ran write writes wrote written read reads put puts set sets send sends sent
    bring brings brought begin begins began begun become becomes became hold holds held stand stands stood
    understand understands understood hear hears heard feel feels felt pay pays paid meet meets met build builds
    built buy buys bought sell sells sold speak speaks spoke spoken spend spends spent lose loses lost win wins won
    grow grows grew grown draw draws drew drawn break breaks broke broken choose chooses chose chosen fall falls
    fell fallen eat eats ate eaten drive drives drove driven rise rises rose risen lead leads led teach teaches
    taught catch catches caught fight fights fought seek seeks sought throw throws threw thrown wear wears wore worn
    lie lies lay lain sit sits sat sleep sleeps slept open opens close closes start starts stop stops call calls
    work works live lives play plays turn turns move moves like likes love loves look looks help helps follow
    follows allow allows add adds change changes contain contains include includes provide provides require requires
    remain remains appear appears seem seems believe believes happen happens return returns continue continues
    create creates apply applies ensure ensures describe describes explain explains define defines support supports
    receive receives consider considers expect expects agree agrees please click clicks select selects enter enters
    install installs configure configures check checks ’s 's 're 've 'll
"""
_VERBS = frozenset(_VERB_WORDS.split())


def parse_partitioned(data: bytes, form: str, limits: ParseOptions, options: UnstructuredOptions) -> Parsed:
    """Return a file of a format drawn as Markdown from the elements of `unstructured`, with their pages."""
    if form in _CONTAINERS:
        check_container(data, limits.max_unpacked_bytes).close()
    try:
        elements = partition(form, **_content(data, form), **_own(form, options))
    except ModuleNotFoundError as error:
        raise Rejected("not_installed", why_not(error.name or "unstructured", form)) from None
    kept = [element for element in elements if options.furniture or element.category not in _OPTIONAL]
    canvas = Canvas()
    draw_all(kept, canvas)
    facts = _facts(elements)
    return canvas.parsed(facts.pop("title", "") or canvas.first_heading(), facts)


def partition(form: str, **how: Any) -> list[Any]:
    """Return the elements of a file; `how` has `file` or `text` and other arguments of the format's function."""
    install()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = _MODULES.get(form, form)
        function: Callable[..., list[Any]] = getattr(
            import_module(f"unstructured.partition.{name}"), f"partition_{name}"
        )
        logging.getLogger("unstructured").setLevel(logging.ERROR)
        # An empty language disables language detection, which takes longer than everything else.
        return function(**how, languages=[""], detect_language_per_element=False)


def _content(data: bytes, form: str) -> dict[str, Any]:
    """Return the content of a file as its function takes it; docmill detects the encoding of texts."""
    if form in _AS_TEXT:
        return {"text": decode(data).text}
    return {"file": io.BytesIO(decode(data).text.encode("utf-8", "replace") if form in _AS_UTF8 else data)}


def _own(form: str, options: UnstructuredOptions) -> dict[str, Any]:
    """Return the arguments that only the function of one format takes."""
    if form in ("eml", "msg"):
        return {"process_attachments": False}  # they are documents of their own
    if form == "pptx":
        return {"include_slide_notes": options.notes, "include_page_breaks": False}
    if form == "csv":
        return {"encoding": "utf-8"}
    return {"strategy": "fast"} if form == "pdf" else {}


def _facts(elements: list[Any]) -> dict[str, Any]:
    """Return the title and metadata of a mail; `unstructured` gives none for other files."""
    said = elements[0].metadata.to_dict() if elements else {}
    facts = {"title": said.get("subject"), "author": "; ".join(said.get("sent_from", [])), "to": said.get("sent_to")}
    return {name: value for name, value in facts.items() if value}


def draw_all(elements: list[Any], canvas: Canvas) -> None:
    """Draw elements of `unstructured` as Markdown; headers and footers are furniture.

    In a document without titles, short bold paragraphs are headings of level 2.
    """
    styled = any(element.category == "Title" for element in elements)
    for element in elements:
        canvas.page = max(canvas.page, element.metadata.page_number or 0)
        _draw(canvas, element, styled)


def _draw(canvas: Canvas, element: Any, styled: bool) -> None:
    category, text, facts = element.category, element.text or "", element.metadata
    if category in _FURNITURE:
        canvas.paragraph(text, kind="furniture")
    elif category == "Title":
        canvas.heading(text, _depth(facts))
    elif category == "ListItem":
        _draw_item(canvas, text, facts)
    elif category == "Table" and facts.text_as_html:
        _draw_table(canvas, facts.text_as_html)
    elif category == "CodeSnippet":
        canvas.code(text)
    elif not styled and _is_bold(text, facts):
        canvas.heading(text, _BOLD_LEVEL)
    else:
        canvas.paragraph(text, links=_links(facts))


def _draw_item(canvas: Canvas, text: str, facts: Any) -> None:
    marker = _MARKER.match(text)
    text, sign = (text[marker.end() :], marker[1]) if marker else (text, "-")
    canvas.item(text, _depth(facts), sign, links=_links(facts))


def _draw_table(canvas: Canvas, html: str) -> None:
    page = etree.fromstring(html, etree.HTMLParser(no_network=True, huge_tree=True))
    table = page.find(".//table")
    rows, header_rows, _ = table_rows(page if table is None else table, "\n")
    canvas.table(rows, header_rows)


def _depth(facts: Any) -> int:
    depth: int = facts.category_depth or 0
    return depth + 1


def _links(facts: Any) -> list[dict[str, str]]:
    return [{"text": link["text"], "url": link["url"]} for link in facts.links or [] if link.get("url")]


def _is_bold(text: str, facts: Any) -> bool:
    parts = zip(facts.emphasized_text_contents or [], facts.emphasized_text_tags or [], strict=False)
    bold = [part for part, tag in parts if tag == "b"]
    text = "".join(text.split())
    return reads_as_heading(text) and "".join("".join(bold).split()) == text


@lru_cache(maxsize=_KNOWN)
def sent_tokenize(text: str) -> list[str]:
    """Return the sentences of a text."""
    from sentencex import segment

    return [sentence for sentence in segment("en", str(text)) if sentence.strip()]


@lru_cache(maxsize=_KNOWN)
def word_tokenize(text: str) -> list[str]:
    """Return the words and punctuation marks of a text."""
    return _WORD.findall(str(text))


@lru_cache(maxsize=_KNOWN)
def pos_tag(text: str) -> list[tuple[str, str]]:
    """Return each word with `VB` if it looks like an English verb, otherwise `NN`."""
    return [(word, "VB" if _is_verb(word) else "NN") for word in word_tokenize(text)]


def _is_verb(word: str) -> bool:
    small = word.lower()
    if small in _VERBS or small.endswith(("n't", "n’t")):
        return True
    # A capital marks a name or a title: "Reading", "United".
    by_ending = len(small) >= _SHORTEST and small.endswith(_VERB_ENDINGS)
    return by_ending and small not in _NOT_VERBS and word[:1].islower()


def install() -> None:
    """Install these functions in `unstructured`."""
    name = "unstructured.nlp.tokenize"
    if getattr(sys.modules.get(name), "docmill", False):
        return
    if name in sys.modules:
        raise RuntimeError(f"{name} was imported before docmill's own functions took its place")
    module = ModuleType(name, __doc__)
    for function in (sent_tokenize, word_tokenize, pos_tag):
        setattr(module, function.__name__, function)
    module.__dict__["docmill"] = True
    sys.modules[name] = module
