"""Verdicts: the content type of a text, its score, the runner-up, and the reasons."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docmill.storage.schema import Element, Parsed
from docmill.tasks.detect.features import SAMPLE, Features
from docmill.tasks.detect.scores import SCORES
from docmill.tasks.parse.format import FileType
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.markup.xml.xml_nodes import is_patent
from docmill.tasks.split.spans.question_patterns import ANSWERS, QUESTIONS

DATA_LANGUAGES = frozenset({"json", "yaml", "toml", "ini", "xml", "properties"})
_FIELDS = frozenset({"json", "jsonl", "xml"})
"""Formats that hold data, unless most of the content was read as paragraphs."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A content type with its score in [0, 1], the runner-up, and phrases that give the reasons."""

    content_type: str
    score: float
    runner_up: str
    runner_up_score: float
    evidence: tuple[str, ...]


def judge(features: Features) -> Verdict:
    """Return the content type of a text by its content alone."""
    signs = {kind: score(features) for kind, score in SCORES.items()}
    # A stable sort: of equal scores the type that stands first in SCORES wins, in every run.
    first, second = sorted(signs, key=lambda kind: -signs[kind].score)[:2]
    return Verdict(first, _rounded(signs[first].score), second, _rounded(signs[second].score), signs[first].evidence)


def detect(parsed: Parsed, file_type: FileType) -> Verdict:
    """Return the content type of a whole document; an unambiguous file type decides alone."""
    judged = judge(document_features(parsed))
    decided = of_format(parsed, file_type)
    return certain(*decided, judged) if decided else judged


def certain(kind: str, because: str, judged: Verdict) -> Verdict:
    """Return the verdict for a known content type; the type that the text looks like otherwise is the runner-up."""
    other = judged.content_type != kind
    second = (judged.content_type, judged.score) if other else (judged.runner_up, judged.runner_up_score)
    return Verdict(kind, 1.0, *second, (because,))


def of_format(parsed: Parsed, file_type: FileType) -> tuple[str, str] | None:
    """Return the content type that the file type determines, and why, or None."""
    form, language = file_type.format, file_type.language
    if form in _FIELDS:
        return _of_fields(parsed, form)
    if form == "code" and language in DATA_LANGUAGES:
        return "data", f"the file is {language}"
    if form == "csv" and _asks_and_answers(parsed):
        return "faq", "its columns are a question and an answer"
    known = FORMATS.get(form)
    if known is None or not known.content_type:
        return None
    return known.content_type, f"{known.because} in {language}" if language else known.because


def _of_fields(parsed: Parsed, form: str) -> tuple[str, str] | None:
    """Return the content type of JSON or XML that its fields or its root determine, and why, or None."""
    if _mostly_fields(parsed):
        return "data", f"the file is {form}, mostly fields"
    return ("legal", "the file is a patent") if is_patent(str(parsed.metadata.get("root", ""))) else None


def _mostly_fields(parsed: Parsed) -> bool:
    """Return whether more than half of a text is fields, not paragraphs."""
    fields = sum(
        element.end_char - element.start_char for element in parsed.elements if element.kind in ("text", "code")
    )
    return 2 * fields > len(parsed.text)


def _asks_and_answers(parsed: Parsed) -> bool:
    """Return whether a table has a column of questions and one of answers."""
    table = next((element for element in parsed.elements if element.kind == "table"), None)
    cells: list[list[object]] = (table and table.attributes.get("cells")) or [[]]
    names = [str(cell) for cell in cells[0]]
    return any(map(QUESTIONS.fullmatch, names)) and any(map(ANSWERS.fullmatch, names))


def document_features(parsed: Parsed) -> Features:
    """Return the features of a whole document without its front matter."""
    # Its keys and values would make a short article look like data.
    begin = max((element.end_char for element in parsed.elements[:1] if element.kind == "front_matter"), default=0)
    text = parsed.text[begin:] if begin or len(parsed.text) > SAMPLE else parsed.text
    return Features(text, parsed.text, parsed.elements, parsed.title)


def part_features(
    parsed: Parsed, spans: Iterable[tuple[int, int]], elements: Sequence[Element], title: str
) -> Features:
    """Return the features of some spans of a document, taken as one text."""
    text = "\n\n".join(parsed.text[start:end] for start, end in spans)
    return Features(text, parsed.text, elements, title)


_DECIMALS = 3
"""Of a score as shown and stored, so that both are equal: fewer hide which of two was ahead."""


def _rounded(score: float) -> float:
    return round(min(1.0, score), _DECIMALS)
