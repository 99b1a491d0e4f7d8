"""Type scores: the content type of a text, its score, the runner-up and the evidence, from a table of weighted signs.

The weights were tuned on one half of a set of labelled documents; `python -m tests.bench.parsing.detect --data FOLDER`
evaluates the other half. The highest score wins, so a weight mainly decides which sign yields to which.

Contracts, licences, policies and laws are recognised by legal words, clauses and their names.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from docmill.storage.schema import Element, Parsed
from docmill.tasks.detect.features import SAMPLE, Features
from docmill.tasks.detect.signs import (
    Score,
    Seen,
    asking_headings,
    bold_questions,
    code_blocks,
    cues,
    keyed_lines,
    lists_and_tables,
    mail_headers,
    many_headings,
    marked_pairs,
    mostly_code,
    named_faq,
    percent,
    prose,
    question_elements,
    quoted_lines,
    records,
    reference_headings,
    ruled_slides,
    signatures,
    some_code,
    speakers,
    spoken_lines,
    stamps,
    tables,
    technical_marks,
    told_of_people,
    turns,
)
from docmill.tasks.detect.type_patterns import ALSO_PLAIN, CLAUSE, LAW, LEGAL, LEGAL_NAME
from docmill.tasks.parse.formats import FORMATS, FileType
from docmill.tasks.parse.markup.xml.xml_nodes import is_patent
from docmill.tasks.split.spans.question_patterns import ANSWERS, QUESTIONS

_WORDS_GAIN, _MOST_BY_WORDS = 32, 0.93
"""Legal words give the full score at 3 in 100 (0.93 / 32).

With a higher gain, a text that mentions a licence would be legal; with a lower one, a policy in plain words would not.
The maximum stays below 1, because words alone prove nothing.
"""
_EVERYWHERE = 0.6
"""Share of a text's stretches with a legal word from which the words count as spread over all of it.

A README that ends with its licence has legal words in few stretches; even a contract has stretches without one.
"""
_PLAIN_BESIDE = 4
"""How many legal words each purely legal word lets count, including itself.

With fewer, a contract in plain words would be missed; with more, one mention of a licence would make a text about
programs a contract.
"""
_DIFFERENT_WORDS = 3
"""Different legal words that a text must have; fewer may be a chance use of `warranty`."""
_WITHOUT_CLAUSES, _BY_CLAUSES = 0.85, 0.15
"""The score of words without numbered clauses, and the most that clauses add.

Many policies number nothing, and a higher weight of clauses would miss them; without any, an article about contracts
would look like one.
"""
_NAMED_WORDS = 0.01
"""Share of legal words from which a legal name counts. A page of search terms may be called `Terms`, too."""
_BY_NAME, _MOST_BY_NAME = 0.3, 0.85
"""What a legal name adds to the score of the words, and the maximum of the sum.

The name supports the words, but a text with the name and few of the words must not beat one that is full of them.
"""
_ARTICLES, _ARTICLE_WORDS, _BY_ARTICLES = 0.15, 0.001, 0.75
"""The score of a legal name with numbered articles, in at least 15 % of lines, and one legal word in 1,000.

That is a law in plain words. With fewer articles, a numbered guide would be one; without the words, so would a list of
conditions.
"""
_NAMING_LINES, _NAMING_HEADINGS = 2, 1
"""Lines and headings at the start that may name a document. Further down, they name other documents."""


def legal(f: Features) -> Score:
    """Return the legal score of a text: by its words, or by its name together with words or articles."""
    words, clauses, name = _share(f), f.matching(CLAUSE), _name(f)
    by_words = _by_words(f, words, clauses)
    score = max(by_words, _by_name(by_words, words), _by_articles(f, words)) if name else by_words
    most_used = ", ".join(f.most_used(LEGAL, _DIFFERENT_WORDS))
    said = (
        f"{percent(words)} of the words are legal ones such as {most_used}" if words else "",
        f"its name is that of a legal document ({name.lower()})" if name else "",
        f"{clauses} of {len(f.lines)} lines begin a numbered clause" if clauses else "",
    )
    return Score(score, tuple(filter(None, said)))


def _share(f: Features) -> float:
    """Return the share of legal words; words that other fields use as well count only along with purely legal ones."""
    plain, legal = f.of_words(ALSO_PLAIN), f.of_words(LEGAL)
    return min(legal, _PLAIN_BESIDE * (legal - plain))


def _by_words(f: Features, words: float, clauses: int) -> float:
    """Return the score of legal words: their share, spread and variety, and the numbered clauses among them."""
    different = len(f.most_used(LEGAL, _DIFFERENT_WORDS)) / _DIFFERENT_WORDS
    everywhere = min(1.0, f.spread(LEGAL) / _EVERYWHERE, different)
    shape = _WITHOUT_CLAUSES + min(_BY_CLAUSES, clauses / max(1, len(f.lines)))
    return min(_MOST_BY_WORDS, words * _WORDS_GAIN) * everywhere * shape


def _by_name(by_words: float, words: float) -> float:
    return min(_MOST_BY_NAME, by_words + _BY_NAME) if words > _NAMED_WORDS else 0.0


def _by_articles(f: Features, words: float) -> float:
    many = f.matching(LAW) >= _ARTICLES * len(f.lines)
    return _BY_ARTICLES if many and words > _ARTICLE_WORDS else 0.0


def _name(f: Features) -> str:
    """Return the words by which a text calls itself a legal document, or ""."""
    places = (f.title, *f.headings[:_NAMING_HEADINGS], *f.lines[:_NAMING_LINES])
    return next((found[0] for text in places if (found := LEGAL_NAME.search(text))), "")


class Sign(NamedTuple):
    """The weight of a sign, the function that looks for it, and its maximum contribution to a score."""

    weight: float
    look: Callable[[Features], Seen]
    most: float = 1.0

    def weigh(self, features: Features) -> tuple[float, str]:
        """Return the weighted amount of this sign in a text, and the evidence."""
        found, evidence, out_of = self.look(features)
        return min(self.most, self.weight * found / out_of), evidence


def _first(*table: Sign) -> Callable[[Features], Score]:
    """Let the first sign found decide alone."""
    return partial(_score_first, table)


def _score_first(table: tuple[Sign, ...], features: Features) -> Score:
    weighed = (sign.weigh(features) for sign in table)
    score, evidence = next((one for one in weighed if one[0]), (0.0, ""))
    return Score(score, (evidence,))


def _strongest(*table: Sign) -> Callable[[Features], Score]:
    """Take the highest of several signs; the evidence includes those at least half as high."""
    return partial(_score_strongest, table)


def _score_strongest(table: tuple[Sign, ...], features: Features) -> Score:
    weighed = sorted((sign.weigh(features) for sign in table), key=lambda one: -one[0])
    top = weighed[0][0]
    return Score(top, tuple(dict.fromkeys(said for score, said in weighed if score and score >= top / 2)))


def _total(*table: Sign, least: float = 0.0, most: float) -> Callable[[Features], Score]:
    """Add up signs that support each other, within bounds."""
    return partial(_score_total, table, least, most)


def _score_total(table: tuple[Sign, ...], least: float, most: float, features: Features) -> Score:
    weighed = [sign.weigh(features) for sign in table]
    score = 0.0
    for own, _ in weighed:  # one by one, since `sum` rounds differently from Python 3.12 on
        score += own
    return Score(max(least, min(most, score)), tuple(said for _, said in weighed if said))


SCORES: dict[str, Callable[[Features], Score]] = {
    "transcript": _first(
        Sign(1.0, cues),  # nothing else has an arrow between two times
        Sign(0.9, speakers),  # below chat lines, which also begin with a name, but have a time as well
    ),
    "chat": _strongest(
        Sign(1.0, spoken_lines),  # the plain share of lines, so that a chat quoted in prose stays below it
        Sign(1.0, turns),  # a reader recognised the format of the export
    ),
    "email": _strongest(
        Sign(0.95, mail_headers),  # above all prose, as a mail may contain anything; below a log that quotes headers
        Sign(0.5, quoted_lines),  # Markdown quotes in the same way: this supports the headers and seldom wins alone
    ),
    "log": _strongest(
        Sign(1.0, stamps),  # the plain share of lines: a trace may have many lines without a time
    ),
    "faq": _strongest(
        Sign(0.9, asking_headings),  # below marked pairs, because an essay's headings may ask, too
        Sign(1.0, marked_pairs),  # "Q:" and "A:" are explicit
        Sign(0.9, bold_questions),  # as for headings, which bold lines often replace
        Sign(0.95, question_elements),  # explicit, but a page about something else may end with a few questions
        Sign(0.88, named_faq),  # a name, not a form: less than any form at full score
    ),
    "legal": legal,
    "table": _strongest(
        Sign(0.95, tables),  # below 1, so that questions and answers in a table win
    ),
    "code": _strongest(
        Sign(0.9, mostly_code),  # below data, because a configuration in a code fence is code only by its element
    ),
    "data": _first(
        Sign(0.95, records),  # recognised by a reader: more certain than lines that look like keys
        Sign(1.0, keyed_lines),  # the plain share of lines, which comments and prose lower
    ),
    "slides": _strongest(
        Sign(0.88, ruled_slides),  # above structured text, which resembles slides; below headers and pairs
    ),
    "reference": _strongest(
        Sign(0.9, signatures),  # above technical text, which also has signatures, but fewer
        Sign(0.22, reference_headings, most=0.9),  # per heading: three make 0.66, five reach the maximum
    ),
    "technical": _total(
        Sign(
            0.25, some_code
        ),  # any code moves prose towards technical text; with more weight, a single line would decide
        Sign(0.8, code_blocks),  # together with the sign above, half code makes 0.65, and a listing the maximum
        Sign(8, technical_marks),  # 0.4 for one name or path in 20 words: prose without code can be technical
        most=0.85,  # below reference and FAQ, whose form is stronger evidence than the subject
    ),
    "structured": _total(
        Sign(1.0, lists_and_tables),  # the plain share
        Sign(1.0, many_headings, most=0.3),  # headings alone do not make a story structured text
        most=0.55,  # the default when nothing else is clear: any confident type beats it
    ),
    "narrative": _total(
        Sign(0.35, prose),  # prose alone scores below a technical text with some names and paths
        Sign(1.0, told_of_people),
        least=0.05,  # the type of a text without any sign
        most=0.8,  # below a letter or a contract, which are prose as well
    ),
}
"""The order breaks ties between equal scores.

With a higher weight, a type takes texts from the types named in its comment; with a lower one, it loses texts to them.
"""


DATA_LANGUAGES = frozenset({"json", "yaml", "toml", "ini", "xml", "properties"})
_FIELDS = frozenset({"json", "jsonl", "xml"})
"""Formats that are data unless most of the content was read as paragraphs."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A content type with its score in [0, 1], the runner-up, and phrases that give the reasons."""

    content_type: str
    score: float
    runner_up: str
    runner_up_score: float
    evidence: tuple[str, ...]


def judge(features: Features) -> Verdict:
    """Return the content type of a text, judged by its content alone."""
    signs = {kind: score(features) for kind, score in SCORES.items()}
    # The sort is stable: among equal scores, the type that comes first in SCORES always wins.
    first, second = sorted(signs, key=lambda kind: -signs[kind].score)[:2]
    return Verdict(first, _rounded(signs[first].score), second, _rounded(signs[second].score), signs[first].evidence)


def detect(parsed: Parsed, file_type: FileType) -> Verdict:
    """Return the content type of a whole document; an unambiguous file type decides alone."""
    judged = judge(document_features(parsed))
    decided = of_format(parsed, file_type)
    return certain(*decided, judged) if decided else judged


def certain(kind: str, because: str, judged: Verdict) -> Verdict:
    """Return the verdict for a known content type; the runner-up is the type that the text would otherwise have."""
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
    """Return the content type of JSON or XML if its fields or its root determine it, and why; else None."""
    if _mostly_fields(parsed):
        return "data", f"the file is {form}, mostly fields"
    return ("legal", "the file is a patent") if is_patent(str(parsed.metadata.get("root", ""))) else None


def _mostly_fields(parsed: Parsed) -> bool:
    """Return whether more than half of a text is fields rather than paragraphs."""
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
    """Return the features of a whole document, without its front matter."""
    # Front matter's keys and values would make a short article look like data.
    begin = max((element.end_char for element in parsed.elements[:1] if element.kind == "front_matter"), default=0)
    text = parsed.text[begin:] if begin or len(parsed.text) > SAMPLE else parsed.text
    return Features(text, parsed.text, parsed.elements, parsed.title)


def part_features(
    parsed: Parsed, spans: Iterable[tuple[int, int]], elements: Sequence[Element], title: str
) -> Features:
    """Return the features of several spans of a document, taken as one text."""
    text = "\n\n".join(parsed.text[start:end] for start, end in spans)
    return Features(text, parsed.text, elements, title)


_DECIMALS = 3
"""Of a score, both shown and stored; fewer would hide which of two was ahead."""


def _rounded(score: float) -> float:
    return round(min(1.0, score), _DECIMALS)
