"""Text signs: recognise the type of a text by its lines, without a model."""

import json
import re
from itertools import islice

import yaml

from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import FORMATS, MAIL_HEADER, MAIL_NAMES, TAGGED, FileType
from docmill.tasks.parse.mail.mhtml import is_saved_page
from docmill.tasks.parse.plain_text import drawn_tables
from docmill.tasks.parse.programming_languages import language_of_first_line, signs
from docmill.tasks.parse.records.chat_json import messages_in
from docmill.tasks.parse.records.chat_log import turns_of
from docmill.tasks.parse.records.delimited import DELIMITERS, find_delimiter, rows_of
from docmill.tasks.parse.records.json_values import one_after_another
from docmill.tasks.parse.records.rich_text import document_node, old_text
from docmill.tasks.parse.signatures import OPEN_DOCUMENT

MAX_JSON = 20_000_000
"""Maximum bytes of JSON to load for recognition, which takes time and several times as much memory."""
_SAMPLE_WIDTH = 250
"""Characters of a line to search: signs are at the start, and no pattern is slow on so few."""
_SAMPLE_LINES = 400
"""Lines to search: enough that a licence or a list of imports at the top does not decide alone."""
_MIN_ROWS = 3  # two similar lines may be chance
_MIN_SAID = 2  # messages of a chat: a single such line may be in any log
_MIN_HEADERS = 3
"""Known headers at the start of a mail: front matter and lists of settings may have two of them."""
# Shares of a text's lines, in order of use. First, lines with signs of the type that the name states:
_LEAST_STAMPED = 0.1  # in a log: an entry may have any number of further lines
_LEAST_MARKED = 0.05  # in Markdown: most lines are unmarked prose
_MOST_CODE = 0.1  # in Markdown, outside fences: with more, it is code whose comments look like Markdown
_LEAST_SETTINGS = 0.9  # in YAML, TOML and INI: each of their lines has a form, but a long quoted text has none
_LEAST_SIGNED = 0.3  # of a language's own signs in these: the forms of all three largely overlap
# Properties of a text that plainly consists of sentences:
_MOST_STRANGE = 0.01  # of its characters, those rare in sentences: code and markup have 3 % and more
_LEAST_WORDS = 4  # per line, on average: fewer are a list, a table or a poem
# Lines with signs, if no name helps:
_LEAST_IRC = 0.8  # said or done in a channel: the rest are messages of the program
_LEAST_TURNS = 0.5  # turns of a chat: messages may have further lines
_LEAST_ENTRIES = 0.6  # entries of a log, ignoring lines that continue one
_TAGS_A_LINE = 1 / 4  # of HTML, besides a first one: prose about HTML has fewer
_WEAK_SIGN = 1 / 4  # of a Markdown sign, for which a bullet or quotation counts, because plain texts have them, too
# What distinguishes a table from prose:
_MOST_COMMAS = 0.7  # of its delimiters, those followed by a space: in prose nearly all are
_MOST_ENDED = 0.2  # share of the lines in a column that end like sentences
_LEAST_EVEN = 0.9  # of rows, those with as many fields as the first: a few contain line breaks in quotes
_SHORT_LINE = 40
"""Average characters of a column's lines: longer ones are prose without punctuation at line ends."""

_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*+-->\s*)*+<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_TAGS = re.compile(TAGGED, re.I)
_XML = re.compile(r"\s*(?:<\?xml\b|<!DOCTYPE\s+(?!html\b)\w)", re.I)
_MARKDOWN = re.compile(
    r"^\#{1,6}\s\S | ^(?:```|~~~)\w* | ^\s*[-*+]\s+\[[ x]\]\s | \[[^\]\n]+\]\([^)\n]+\) | ^\|?\s*:?-{3,}:?\s*\|"
    r"| \*\*\w[^*\n]*\*\* | ^={3,}\s*$",
    re.MULTILINE | re.VERBOSE,
)
_BULLETS = re.compile(r"^\s*[-*+]\s\S|^>\s", re.MULTILINE)
_CODE_ENDS = re.compile(
    r"[;{}]\s*$|^\s*(?:import|from|package|using|use|require|def|class|func|fn|function)\b.*$", re.M
)
_SETTINGS = {
    "yaml": re.compile(r"^\s*(?:-\s+)?[\w\"'./${}-]+:(?:\s.*)?$|^\s*-\s\S.*$|^\s*\#.*$|^---\s*$", re.MULTILINE),
    "toml": re.compile(r"^\s*[\w.\"-]+\s*=\s\S.*$|^\[\[?[\w.\"-]+\]\]?\s*$|^\s*\#.*$|^\s*[\"'\]].*$", re.MULTILINE),
    "ini": re.compile(r"^\[[^\]]+\]\s*$|^[\w.\- ]+\s*[=:].*$|^\s*[#;].*$|^\s+\S.*$", re.MULTILINE),
}
_MAIL = re.compile(MAIL_HEADER)
_ENVELOPE = re.compile(r"From [^\r\n]{1,200} (?:19|20)\d\d\r?\n")  # the first line of each message in a mailbox
_MAIL_NAMES = re.compile(MAIL_NAMES, re.M | re.I)
_FLAT = re.compile(
    rb"office:mimetype=[\"']application/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation|graphics)\b"
)
_ROOT = 20_000  # bytes within which the root of a flat OpenDocument file ends: it names some thirty namespaces
_CUE = re.compile(r"^(?:\d+:)?\d\d:\d\d[.,]\d{3}[ \t]+-->[ \t]", re.M)
_TURN = re.compile(
    r"^(?:[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[ \t]?[AP]M)?[\])]?[ \t,-]*"
    r"(?:<[ @+%~&]?[^<>\s]{1,30}>|\*{1,3}[ \t]|={3}|-!-|[\w.'-]{1,30}:)"
    r"|<[^<>\s]{1,30}>[ \t]\S|\[[^\]\n]{6,30}\][ \t]*(?:<[ @+%~&]?[^<>\s]{1,30}>|[\w .'-]{1,30}:[ \t])"
    r"|\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4},?[ ]\d{1,2}:\d\d(?::\d\d)?(?:[ \u202f]?[AaPp][Mm])?[ ]-[ ][^:\n]{1,40}:[ ])",
    re.M,
)
# IRC programs call their chats `.log`: `10:15 <@ann> hello`, `[10:15:02] *** Joins: ann`, or fields between tabs.
_CLOCK = r"^\[?(?:\d{4}-\d\d-\d\d[T ]|[A-Z][a-z]{2} \d\d )?\d\d:\d\d(?::\d\d)?\]?"
_SAID = re.compile(
    rf"{_CLOCK}(?:[ \t]+<[ @+%~&]?(?!(?:trace|debug|info|notice|warn|error|fatal|crit)\w*>)[^<>\s]{{1,30}}>[ \t]"
    rf"|\t[ @+%~&]?[^\s<>=-]\S{{0,29}}\t)",
    re.M | re.I,
)
_DONE = re.compile(rf"{_CLOCK}[ \t]+(?:-!-|-->|<--|--|\*{{1,3}})[ \t]|^--- (?:Log|Day) |^\*\*\*\* ", re.M)
_STAMP = re.compile(
    r"^\W{0,2}(?:\d{4}[-/.]\d\d[-/.]\d\d[T ]|\d\d/\d\d/\d\d \d\d:|\d{1,2}[./]\d{1,2} \d\d:"
    r"|\w{3} +\d{1,2} \d\d:\d\d:\d\d|\w{3} \w{3} +\d{1,2} \d\d:|\d{6,10}[ .:]|(?:\S+ ){1,3}\[\d{1,2}/\w{3}/\d{4}"
    r"|- \d{10} |(?:\S+ )?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b)",
    re.M,
)
_CONTINUED = re.compile(r"^[ \t]|^(?:Caused by|Traceback) ?[:(]", re.M)
_ORG = re.compile(r"^\*+ \S|^#\+[A-Za-z_]+:?|^:PROPERTIES:", re.M)
_ORG_SURE = re.compile(r"^#\+(?:title|begin_\w+|options|author|include|startup|setupfile)\b|^:PROPERTIES:", re.I | re.M)
_RST = re.compile(r"^\.\. [\w:-]+::|^:\w+:`|^\S.*\n([=\-~^\"'#*+])\1{3,}[ \t]*$|``\S", re.M)
_TEX_DOCUMENT = re.compile(r"\\documentclass|\\begin\s*\{document\}|\\(?:sub)*section\*?\{")
_STRICT = frozenset(("yaml",))
_STRICT_LINES = 60  # of a text that must be YAML: prose gives an error in its first paragraph
_LATEX = re.compile(r"\\(?:begin|end|section|subsection|documentclass|usepackage|label|cite|ref)\b")
_VALUE_BEGIN = re.compile(r"\s*(?:[\[{(]|[A-Z]\w{0,60}\(\w{1,40}=)")  # of JSON, or of objects printed by Python

_FRONT_MATTER = re.compile(r"---[ \t]*\n\w[\w-]*:.*\n(?:.*\n)*?---[ \t]*\n")
_STRANGE = re.compile(r"[^\w\s.,:;!?'\"()\-–—’\u2018“”…«»%&/]")
_FORMAL = re.compile(
    r"^(?:[ ]{4}|\.\. |\s*[-*+>]\s|[\w-]+:(?:\s|$)|[-*+\#=~^_\"'`]{2,}\s*$)|\t|[;{}]\s*$", re.MULTILINE
)
"""Signs of a line of code, fields, tables or markup, which a line of sentences lacks."""


def sample(text: str) -> str:
    """Return the beginnings of a text's first non-blank lines, short enough for any pattern."""
    lines = (line[:_SAMPLE_WIDTH] for line in text.splitlines() if line.strip())
    return "\n".join(islice(lines, _SAMPLE_LINES)) + "\n"


def plainly(text: str, data: bytes) -> FileType | None:
    """Return the type of a text if its beginning, or loading it, leaves no doubt, else None."""
    language = language_of_first_line(text.lstrip())
    if language:
        return FileType("code", language)
    if stated := _stated(text, data):
        return FileType(stated)
    if _HTML.match(text):
        return FileType("html")
    if text.lstrip().startswith("WEBVTT") or len(_CUE.findall(text)) >= 2:
        return FileType("subtitles")
    if _XML.match(text):
        return FileType("xml")
    if is_mail(text) and is_saved_page(text):
        return FileType("mht")
    if is_mail(text):
        return FileType("mbox" if _ENVELOPE.match(text) else "eml")
    return _json_type(text, data)


def _stated(text: str, data: bytes) -> str:
    """Return the format that a text itself states in its first words, or ""."""
    found = next((form.name for form in FORMATS.values() if form.begins and form.begins.match(text)), "")
    if found or b"<office:document" not in data[:_ROOT]:
        return found
    flat = _FLAT.search(data[:_ROOT])
    return OPEN_DOCUMENT[flat[1].decode()] if flat else ""


def is_mail(text: str) -> bool:
    """Return whether a text begins with a mail header."""
    head = _MAIL.match(text)
    return head is not None and len({name.lower() for name in _MAIL_NAMES.findall(head.group())}) >= _MIN_HEADERS


def _json_type(text: str, data: bytes) -> FileType | None:
    if len(data) > MAX_JSON or not _VALUE_BEGIN.match(text):
        return None
    whole = decode(data).text
    if _loads(whole):
        return FileType(_form_of_object(whole) if text.lstrip()[0] == "{" else "json")
    if _is_json_lines(whole):
        return FileType("jsonl")
    return FileType("json") if messages_in(whole) or _are_objects(whole) else None


def _are_objects(whole: str) -> bool:
    values = one_after_another(whole) or []
    return len(values) > 1 and all(isinstance(one, dict) for one in values)


def _form_of_object(whole: str) -> str:
    """Return the format of a JSON object: a program's document format, or plain JSON."""
    if '"cells"' in whole and '"nbformat"' in whole:
        return "ipynb"
    return "boxnote" if _is_note(whole) else "json"


def _is_note(whole: str) -> bool:
    if '"atext"' not in whole and not ('"doc"' in whole and '"content"' in whole):
        return False
    value = json.loads(whole)
    return document_node(value) is not None or old_text(value) is not None


def _is_json_lines(whole: str) -> bool:
    lines = list(islice(filter(str.strip, whole.splitlines()), _MIN_ROWS))
    return len(lines) > 1 and all(line.strip()[:1] in "{[" and _loads(line) for line in lines)


def _loads(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def bears_out(named: FileType, text: str, whole: str) -> bool:
    """Return whether a text has so many signs of its name's type that no other need be considered."""
    if named.format == "log":
        return len(_STAMP.findall(text)) > _LEAST_STAMPED * text.count("\n")
    if named.format == "markdown":
        return _FRONT_MATTER.match(text) is not None or _is_markdown(text)
    if named.format == "code":
        return _is_settings(named.language, text)
    if named.format == "csv":
        return text.count("\n") >= _MIN_ROWS and regular(whole)
    if named.format == "text":
        return next(drawn_tables(text.splitlines()), None) is not None
    return named.format == "html" and _HTML.match(text) is not None


def is_prose(text: str) -> bool:
    """Return whether a text plainly consists of sentences, so that only plain text and Markdown need be considered.

    The classifier takes twice as long as everything else for a short text, and takes some text in capitals for SQL.
    """
    is_formal = _FORMAL.search(text) is not None or len(text.split()) < _LEAST_WORDS * text.count("\n")
    return not is_formal and len(_STRANGE.findall(text)) <= _MOST_STRANGE * len(text)


def _is_markdown(text: str) -> bool:
    lines, strange = text.count("\n"), len(_CODE_ENDS.findall(_unfenced(text)))
    marked = len(_MARKDOWN.findall(text)) > _LEAST_MARKED * lines
    return marked and strange < _MOST_CODE * lines and not _HTML.match(text)


def _is_settings(language: str, text: str) -> bool:
    """Return whether a text is clearly settings in a language such as YAML; False for programs."""
    lines, form = text.count("\n"), _SETTINGS.get(language)
    if form is None or len(form.findall(text)) <= _LEAST_SETTINGS * lines:
        return False
    return signs(language, text) > _LEAST_SIGNED * lines


def may_be(named: FileType, text: str, whole: str) -> bool:
    """Return whether a text that shows no other type may have the type of its name."""
    if named.format == "code":
        return signs(named.language, text) > 0
    if named.format == "csv":
        return _is_table(whole)
    holds = FORMATS[named.format].holds
    return holds is not None and holds.search(text) is not None


def overrules_markdown(seen: FileType, text: str) -> bool:
    """Return whether a recognised type overrules a name that says Markdown, which allows any text.

    Formulas alone are not LaTeX, and lines of keys not YAML, if the text contains anything that these do not allow.
    """
    if seen.format == "latex":
        return _TEX_DOCUMENT.search(text) is not None
    return seen.language not in _STRICT or _is_strict(text)


def _is_strict(text: str) -> bool:
    """Return whether a text is YAML with keys or items, ignoring its last lines, which may be cut."""
    try:
        return isinstance(yaml.load("\n".join(text.splitlines()[:_STRICT_LINES]), yaml.CSafeLoader), dict | list)
    except (yaml.YAMLError, ValueError):
        return False


def is_irc(text: str) -> bool:
    """Return whether nearly all lines report an utterance or action in a channel."""
    said = len(_SAID.findall(text))
    if said < _MIN_SAID:
        return False
    entries = text.count("\n") - len(_CONTINUED.findall(text))
    return said + len(_DONE.findall(text)) > _LEAST_IRC * entries


def is_chat_instead(named: FileType, text: str) -> bool:
    """Return whether a text is a chat although its name says log or settings, which it resembles."""
    if named.format == "log" and is_irc(text):
        return True
    return (named.format == "log" or named.language in _SETTINGS) and bool(turns_of(text))


def recorded(text: str) -> FileType | None:
    """Return chat if most lines are turns or their fields, log if most begin with a time or level, else None."""
    lines = text.count("\n")
    said = len(_TURN.findall(text)) > _LEAST_TURNS * lines or is_irc(text) or turns_of(text)
    if lines >= _MIN_ROWS and said:
        return FileType("chat")
    entries = lines - len(_CONTINUED.findall(text))
    stamped = len(_STAMP.findall(text)) > _LEAST_ENTRIES * entries
    return FileType("log") if entries >= _MIN_ROWS and stamped else None


def guess(text: str, whole: str) -> FileType:
    """Return the likeliest type of a text with an uninformative name, by the share of its lines with signs."""
    lines = text.count("\n")
    if text.lstrip().startswith("<") and _share(_TAGS, text) > _TAGS_A_LINE:
        return FileType("html")
    for language in ("yaml", "toml"):
        if lines >= _MIN_ROWS and _share(_SETTINGS[language], text) > _LEAST_SETTINGS:
            return FileType("code", language)
    markup = _markup(text)
    if markup:
        return FileType(markup)
    return FileType("csv" if lines >= _MIN_ROWS and regular(whole) else "text")


def _markup(text: str) -> str:
    """Return the markup of which most lines have signs, or "" if hardly any line has any."""
    marked = {
        "org": _share(_ORG, text) if _ORG_SURE.search(text) else 0.0,
        "latex": _share(_LATEX, text),
        "rst": _share(_RST, text),
        "markdown": _share(_MARKDOWN, text) + _share(_BULLETS, text) * _WEAK_SIGN,
    }
    best = max(marked, key=marked.__getitem__)
    return best if marked[best] > _LEAST_MARKED else ""


def _share(sign: re.Pattern[str], text: str) -> float:
    """Return the number of signs per line of a text."""
    return len(sign.findall(text)) / max(1, text.count("\n"))


def _unfenced(text: str) -> str:
    """Return a Markdown text without its fenced code."""
    return "\n".join(text.split("```")[::2])


def _is_table(text: str) -> bool:
    """Return whether a file named as a table may be one: rows of short fields, or a column of short lines."""
    rows = list(filter(str.strip, text.splitlines()))
    if not find_delimiter(text):
        return _is_column(rows)
    commas = text.count(", ") + text.count("; ")
    return len(rows) < _MIN_ROWS or commas < _MOST_COMMAS * sum(map(text.count, DELIMITERS)) or regular(text)


def _is_column(rows: list[str]) -> bool:
    ends = sum(line.rstrip().endswith((".", ":", "!", "?")) for line in rows)
    return sum(map(len, rows)) < _SHORT_LINE * len(rows) and ends < _MOST_ENDED * len(rows)


def regular(text: str) -> bool:
    """Return whether nearly all rows have as many fields as the first, as in tables but not in prose.

    If lines differ, delimiters and line ends within quotes are ignored: a cell may contain a whole conversation.
    """
    delimiter = find_delimiter(text)
    if not delimiter:
        return False
    if _even([line.count(delimiter) for line in text.splitlines()[:-1] if line.strip()]):
        return True
    fields = [len(row) for row in rows_of(text, delimiter) if row][:-1]
    return len(fields) >= _MIN_ROWS and _even(fields)


def _even(widths: list[int]) -> bool:
    return widths.count(widths[0]) > _LEAST_EVEN * len(widths) if widths else False
