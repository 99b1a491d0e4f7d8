"""Detect: what a document is, from its elements, the shapes of its lines and its words; no model, no chance."""

import re
from collections import Counter
from collections.abc import Callable

from storage.schema import Parsed
from tasks.parse.format import FileType

DETECTOR_VERSION = 1

CONTENT_TYPES = (
    "code",
    "structured",
    "narrative",
    "technical",
    "faq",
    "chat",
    "email",
    "table",
    "slides",
    "legal",
    "log",
    "data",
    "reference",
    "transcript",
)

_SAMPLE = 60_000
_DATA_LANGUAGES = frozenset({"json", "yaml", "toml", "ini", "xml", "properties"})

_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")
_HEADER = re.compile(r"^(?:From|To|Cc|Subject|Date|Sent|Reply-To|Message-ID):[ \t]\S", re.I | re.M)
_QUOTED = re.compile(r"[ \t]*>|On .{5,80} wrote:$")
_SPEAKER = re.compile(
    r"\[?\d{1,2}:\d\d(?::\d\d)?(?:[ \t]?[AP]M)?\]?[ \t,-]*(?:<[^<>\s]{1,30}>|\*{3}|={3}|[\w .'-]{1,30}:)"
    r"|<[^<>\s]{1,30}>[ \t]\S|\[[^\]\n]{6,30}\][ \t]*[\w .'-]{1,30}:[ \t]"
    r"|\*\*[\w .'-]{1,30}(?::\*\*|\*\*:|\*\*[ \t]*[\[(]\d)"
)
_STAMP = re.compile(
    r"\W{0,2}(?:\d{4}[-/.]\d\d[-/.]\d\d[T ]|\d\d/\d\d/\d\d \d\d:|\d{1,2}[./]\d{1,2} \d\d:|\w{3} +\d{1,2} \d\d:\d\d:\d\d"
    r"|\w{3} \w{3} +\d{1,2} \d\d:|\d{6,10}[ .:]|(?:\S+ ){1,3}\[\d{1,2}/\w{3}/\d{4}|- \d{10} )"
    r"|(?:\S+ )?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b"
)
_CUE = re.compile(r"^(?:\d+:)?\d\d:\d\d[.,]\d{3}[ \t]+-->[ \t]", re.M)
_TURN = re.compile(r"(?:[A-Z][A-Z .'-]{2,30}|[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){0,2})(?: \([^()\n]{1,40}\))?:[ \t]")
_PAIR = re.compile(r"^[ \t]*(?:[*#_]{1,4}[ \t]?)?(?:Q|Question)(?:[ \t]*\d+)?[*_]{0,2}[ \t]*[:.)]", re.I | re.M)
_FAQ = re.compile(r"\bFAQs?\b|frequently asked", re.I)
_CLAUSE = re.compile(
    r"[ \t#*]*(?:\d{1,2}(?:\.\d{1,2}){1,3}\.?|\d{1,2}\.|Section \d+|Article [\dIVX]+"
    r"|\([a-z]\)|\([ivx]{1,4}\)|WHEREAS)[ \t*]"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEGAL = frozenset(
    _WORD.findall(
        "shall hereby herein hereinafter thereof hereof hereunder hereto pursuant notwithstanding whereas indemnify"
        " indemnified indemnification warranty warranties liability liabilities governing termination terminate"
        " agreement party parties consent copyright privacy compliance obligation obligations jurisdiction third"
        " personal licensee licensor"
    )
)
_SIGNATURE = re.compile(
    r"^\#{1,6}[ \t].*(?:\(.*\)|`[\w.]+`"
    r"|\b(?:syntax|parameters?|returns?|arguments|synopsis|inputs|outputs|attributes|methods|exceptions)\b)"
    r"|^(?:SYNOPSIS|PARAMETERS|RETURNS|\.\. (?:function|class|method|py:\w+|attribute|option)::"
    r"|:param |:returns?:|@param )",
    re.I | re.M,
)
_DATA = re.compile(
    r"[ \t]*(?:[\"'\w.@/-]+[ \t]*[:=][ \t]*\S*|[\[\]{}(),]+|-[ \t]+\S+|\[[\w.\" -]+\]|</?\w[^<>]*>.*)[ \t,;]*$"
)
_SAID = frozenset(_WORD.findall("said asked cried replied whispered he she him her his was had were we our my"))
_RULE = re.compile(r"^---[ \t]*$", re.M)
_TECHNICAL = re.compile(r"[(][)]|_[a-z]|(?<=[a-z])[A-Z]|[ \n]--?[a-z]|://|[.](?:py|js|sh|md|yml|json)\b|`(?=[^`\s])")


class Features:
    """What is counted once in the first 60,000 characters after the front matter; shares are in [0, 1]."""

    def __init__(self, parsed: Parsed) -> None:
        begin = max((element.end for element in parsed.elements[:1] if element.kind == "front_matter"), default=0)
        self.text = parsed.text[begin : begin + _SAMPLE]
        self.lines = _LINE.findall(self.text)[:2000]
        self.vocabulary = Counter(_WORD.findall(self.text.lower()))
        self.words = max(1, self.vocabulary.total())
        self.kinds: Counter[str] = Counter()
        self.headings: list[str] = []
        for element in parsed.elements:
            self.kinds[element.kind] += element.end - element.start
            if element.kind == "title":
                self.headings.append(str(element.attributes.get("text") or parsed.text[element.start : element.end]))
        self.title = parsed.title
        self.characters = max(1, len(parsed.text.strip()))

    def of_kind(self, kind: str) -> float:
        """Return the share of the text that elements of a kind take."""
        return min(1.0, self.kinds[kind] / self.characters)

    def of_lines(self, pattern: re.Pattern[str]) -> float:
        """Return the share of lines that begin with a pattern."""
        return sum(pattern.match(line) is not None for line in self.lines) / max(1, len(self.lines))

    def of_words(self, words: frozenset[str]) -> float:
        """Return the share of words that are among some."""
        return sum(self.vocabulary[word] for word in words) / self.words


def _faq(f: Features) -> float:
    asked = [heading for heading in f.headings if heading.rstrip("* ").endswith("?")]
    pairs = len(_PAIR.findall(f.text))
    named = bool(_FAQ.search(f.title) or any(_FAQ.search(heading) for heading in f.headings[:2]))
    share = len(asked) / max(1, len(f.headings))
    answers = f.kinds["question"] > 0
    return max(0.9 * (len(asked) >= 2) * min(1, share * 1.6), min(1, pairs / 3), 0.95 * answers, 0.88 * named)


def _email(f: Features) -> float:
    headers = {match.group().split(":")[0].lower() for match in _HEADER.finditer(f.text[:4000])}
    return 0.95 if len(headers & {"from", "subject", "to", "date", "sent"}) >= 3 else f.of_lines(_QUOTED) * 0.5


def _transcript(f: Features) -> float:
    return 1.0 if len(_CUE.findall(f.text)) >= 2 else f.of_lines(_TURN) * 0.9


def _legal(f: Features) -> float:
    words = f.of_words(_LEGAL)
    return min(0.93, words * 32) * (0.85 + min(0.15, f.of_lines(_CLAUSE)))


def _technical(f: Features) -> float:
    marks = len(_TECHNICAL.findall(f.text)) / f.words
    return min(0.85, 0.25 * (f.of_kind("code") > 0.02) + 0.8 * f.of_kind("code") + marks * 8)


def _reference(f: Features) -> float:
    found = len(_SIGNATURE.findall(f.text))
    return min(0.9, 0.9 * found / max(4, 0.6 * len(f.headings))) if found >= 3 else 0.0


def _structured(f: Features) -> float:
    shape = f.of_kind("list_item") + f.of_kind("table") + min(0.3, len(f.headings) / max(8, len(f.lines) / 4))
    return min(0.55, shape) if f.headings or f.kinds["list_item"] else 0.0


def _narrative(f: Features) -> float:
    prose = f.of_kind("paragraph") + 0.5 * f.of_kind("text") + 0.5 * f.of_kind("quote")
    return max(0.05, min(0.8, 0.35 * prose + min(0.45, 3 * f.of_words(_SAID)) * prose))


def _chat(f: Features) -> float:
    return max(f.of_lines(_SPEAKER), f.of_kind("turn"))


def _slides(f: Features) -> float:
    rules = len(_RULE.findall(f.text))
    return 0.88 if rules >= 4 and rules >= 0.6 * len(f.headings) and f.words < 100 * rules else 0.0


def _data(f: Features) -> float:
    share = f.of_lines(_DATA) * (1 - f.of_kind("paragraph") * 0.3 if not f.headings else 0.4)
    return share if share > 0.6 else 0.0


_SCORES: dict[str, Callable[[Features], float]] = {
    "transcript": _transcript,
    "chat": _chat,
    "email": _email,
    "log": lambda f: f.of_lines(_STAMP) * (1.0 - 0.9 * bool(f.of_lines(_SPEAKER) > 0.3)),
    "faq": _faq,
    "legal": _legal,
    "table": lambda f: f.of_kind("table") * 0.95,
    "code": lambda f: f.of_kind("code") * 0.9 if f.of_kind("code") > 0.75 else 0.0,
    "data": _data,
    "slides": _slides,
    "reference": _reference,
    "technical": _technical,
    "structured": _structured,
    "narrative": _narrative,
}


def content_scores(parsed: Parsed) -> dict[str, float]:
    """Return how much a document looks like each content type, in [0, 1], by what it contains alone."""
    features = Features(parsed)
    return {kind: score(features) for kind, score in _SCORES.items()}


def detect_content_type(parsed: Parsed, file_type: FileType) -> str:
    """Return the content type of a document, one of `CONTENT_TYPES`; a certain file type decides alone."""
    if file_type.format == "code":
        return "data" if file_type.language in _DATA_LANGUAGES else "code"
    if file_type.format == "csv":
        return "table"
    if file_type.format == "pptx":
        return "slides"
    scores = content_scores(parsed)
    return max(scores, key=scores.__getitem__)
