"""Recognise: signs by which a text shows its type, without its name and without a model."""

import json
import re
from itertools import islice

from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import FileType
from docmill.tasks.parse.languages import language_of_interpreter, signs
from docmill.tasks.parse.records.delimited import DELIMITERS, find_delimiter

MAX_JSON = 20_000_000
_SAMPLE_WIDTH = 250
_SAMPLE_LINES = 400
_MIN_ROWS = 3
_SHORT_LINE = 40
_LEAST_STAMPED = 0.1

_HTML = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_TAGS = re.compile(
    r"</?(?:p|div|span|a|table|tr|td|th|ul|ol|li|h[1-6]|br|title|body|b|i|em|strong|script|img|meta|center|font)\b"
    r"[^<>]*>",
    re.I,
)
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
_MAIL = re.compile(r"(?:From .*\r?\n)?(?:>?[A-Za-z][\w-]*:(?:[ \t].*)?(?:\r?\n[ \t].*)*(?:\r?\n|\Z)){3,}")
_ENVELOPE = re.compile(r"From [^\r\n]{1,200} (?:19|20)\d\d\r?\n")  # what each message of a mailbox begins with
_MAIL_NAMES = re.compile(
    r"^(?:From|To|Subject|Date|MIME-Version|Message-ID|Received|Return-Path|Content-Type|Delivered-To):", re.M | re.I
)
_CUE = re.compile(r"^(?:\d+:)?\d\d:\d\d[.,]\d{3}[ \t]+-->[ \t]", re.M)
_TURN = re.compile(
    r"^(?:[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[ \t]?[AP]M)?[\])]?[ \t,-]*"
    r"(?:<[ @+%~&]?[^<>\s]{1,30}>|\*{1,3}[ \t]|={3}|-!-|[\w.'-]{1,30}:)"
    r"|<[^<>\s]{1,30}>[ \t]\S|\[[^\]\n]{6,30}\][ \t]*(?:<[ @+%~&]?[^<>\s]{1,30}>|[\w .'-]{1,30}:[ \t])"
    r"|\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4},?[ ]\d{1,2}:\d\d(?::\d\d)?(?:[ \u202f]?[AaPp][Mm])?[ ]-[ ][^:\n]{1,40}:[ ])",
    re.M,
)
# Programs for IRC call their chats `.log`: `10:15 <@ann> hello`, `[10:15:02] *** Joins: ann`, or parts between tabs.
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
_LATEX = re.compile(r"\\(?:begin|end|section|subsection|documentclass|usepackage|label|cite|ref)\b")


def sample(text: str) -> str:
    """Return the beginnings of a text's first lines that are not blank: no pattern can be slow on them."""
    lines = (line[:_SAMPLE_WIDTH] for line in text.splitlines() if line.strip())
    return "\n".join(islice(lines, _SAMPLE_LINES)) + "\n"


def plainly(text: str, data: bytes) -> FileType | None:
    """Return what a text is beyond doubt, by how it begins or because it can be read as that, else None."""
    language = language_of_interpreter(text.lstrip())
    if language:
        return FileType("code", language)
    if _HTML.match(text):
        return FileType("html")
    if text.lstrip().startswith("WEBVTT") or len(_CUE.findall(text)) >= 2:
        return FileType("subtitles")
    if _XML.match(text):
        return FileType("xml")
    if is_mail(text):
        return FileType("mbox" if _ENVELOPE.match(text) else "eml")
    return _json_type(text, data)


def is_mail(text: str) -> bool:
    """Return whether a text begins with the header of a mail."""
    head = _MAIL.match(text)
    return head is not None and len({name.lower() for name in _MAIL_NAMES.findall(head.group())}) >= 3


def _json_type(text: str, data: bytes) -> FileType | None:
    begin = text.lstrip()[:1]
    if begin not in ("{", "[") or len(data) > MAX_JSON:
        return None
    whole = decode(data).text
    if _loads(whole):
        notebook = begin == "{" and '"cells"' in whole and '"nbformat"' in whole
        return FileType("ipynb" if notebook else "json")
    lines = list(islice(filter(str.strip, whole.splitlines()), _MIN_ROWS))
    by_line = len(lines) > 1 and all(line.strip()[:1] in "{[" and _loads(line) for line in lines)
    return FileType("jsonl") if by_line else None


def _loads(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def bears_out(named: FileType, text: str, whole: str) -> bool:
    """Return whether a text has so many signs of the type in its name that nothing else need be asked."""
    lines = text.count("\n")
    if named.format == "log":  # between its entries may stand any number of lines that belong to one
        return len(_STAMP.findall(text)) > _LEAST_STAMPED * lines
    if named.format == "markdown":
        strange = len(_CODE_ENDS.findall(_unfenced(text)))
        return len(_MARKDOWN.findall(text)) > 0.05 * lines and strange < 0.1 * lines and not _HTML.match(text)
    if named.format == "code":
        setting = _SETTINGS.get(named.language)
        return (
            setting is not None
            and len(setting.findall(text)) > 0.9 * lines
            and signs(named.language, text) > 0.3 * lines
        )
    if named.format == "csv":
        return lines >= _MIN_ROWS and bool(find_delimiter(whole)) and regular(whole)
    return named.format == "html" and _HTML.match(text) is not None


def may_be(named: FileType, text: str, whole: str) -> bool:
    """Return whether a text that shows no other type may be what its name says."""
    if named.format == "code":
        return signs(named.language, text) > 0
    if named.format == "csv":
        return _is_table(whole)
    if named.format == "html":
        return _TAGS.search(text) is not None
    if named.format in ("json", "jsonl", "ipynb"):
        return text.lstrip()[:1] in ("{", "[")
    if named.format == "xml":
        return text.lstrip()[:1] == "<"
    if named.format == "latex":
        return "\\" in text
    return named.format in ("text", "markdown", "rst", "org", "log", "chat", "subtitles") or (
        named.format == "eml" and _MAIL_NAMES.search(text) is not None
    )


def is_irc(text: str) -> bool:
    """Return whether nearly all lines say who said or did something in a channel."""
    said = len(_SAID.findall(text))
    return said >= 2 and said + len(_DONE.findall(text)) > 0.8 * (text.count("\n") - len(_CONTINUED.findall(text)))


def recorded(text: str) -> FileType | None:
    """Return chat where most lines are somebody's turn, log where most begin with a time or a level, else None."""
    lines = text.count("\n")
    if lines >= _MIN_ROWS and (len(_TURN.findall(text)) > 0.5 * lines or is_irc(text)):
        return FileType("chat")
    entries = lines - len(_CONTINUED.findall(text))
    return FileType("log") if entries >= _MIN_ROWS and len(_STAMP.findall(text)) > 0.6 * entries else None


def guess(text: str, whole: str) -> FileType:
    """Return what a text without a telling name most likely is, by how many of its lines say so."""
    lines = max(1, text.count("\n"))

    def share(pattern: re.Pattern[str]) -> float:
        return len(pattern.findall(text)) / lines

    if len(_TAGS.findall(text)) > lines / 4 and text.lstrip().startswith("<"):
        return FileType("html")
    for language in ("yaml", "toml"):
        if lines >= _MIN_ROWS and share(_SETTINGS[language]) > 0.9:
            return FileType("code", language)
    marked = {
        "org": share(_ORG) if _ORG_SURE.search(text) else 0.0,
        "latex": share(_LATEX),
        "rst": share(_RST),
        "markdown": share(_MARKDOWN) + share(_BULLETS) / 4,
    }
    best = max(marked, key=marked.__getitem__)
    if marked[best] > 0.05:
        return FileType(best)
    return FileType("csv" if lines >= _MIN_ROWS and find_delimiter(whole) and regular(whole) else "text")


def _unfenced(text: str) -> str:
    """Return a Markdown text without its fenced code."""
    return "\n".join(text.split("```")[::2])


def _is_table(text: str) -> bool:
    """Return whether a file called a table may be one: rows of short fields, or a column of short lines."""
    rows = [line for line in text.splitlines() if line.strip()]
    if find_delimiter(text):
        commas = text.count(", ") + text.count("; ")
        return len(rows) < _MIN_ROWS or commas < 0.7 * sum(text.count(sign) for sign in DELIMITERS) or regular(text)
    ends = sum(line.rstrip().endswith((".", ":", "!", "?")) for line in rows)
    return sum(map(len, rows)) < _SHORT_LINE * len(rows) and ends < 0.2 * len(rows)


def regular(text: str) -> bool:
    """Return whether all rows have as many fields as the first, and short ones, as tables have and prose has not."""
    delimiter = find_delimiter(text)
    rows = [line.count(delimiter) for line in text.splitlines()[:-1] if line.strip()]
    return rows.count(rows[0]) > 0.9 * len(rows) if rows else False
