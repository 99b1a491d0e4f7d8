"""Scores: how much a text looks like each content type, and by what."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from docmill.tasks.detect.features import Features
from docmill.tasks.detect.line_shapes import (
    CLAUSE,
    CUE,
    DATA,
    LAW,
    PART,
    RULE,
    SIGNATURE,
    SPEAKER,
    STAMP,
    TECHNICAL,
    TURN,
)
from docmill.tasks.detect.type_words import ASKED, FAQ, LEGAL, LEGAL_NAME, MAIL_HEADER, MAIL_QUOTED, TOLD
from docmill.tasks.split.spans.question_patterns import ANSWER, BOLD, QUESTION


class Sign(NamedTuple):
    """How much a text looks like a content type, in [0, 1], and what says so, in words for a person."""

    score: float
    evidence: tuple[str, ...]


_NONE = Sign(0.0, ())


def percent(share: float) -> str:
    """Return a share as a person writes it."""
    return f"{100 * share:.0f} %" if share >= 0.095 or not share else f"{100 * share:.1f} %"


def _best(*signs: tuple[float, str]) -> Sign:
    """Return the highest of some signs; the others that are half as high speak with it."""
    ordered = sorted(signs, key=lambda sign: -sign[0])
    top = ordered[0][0]
    return Sign(top, tuple(dict.fromkeys(said for score, said in ordered if score and score >= top / 2)))


def _lines(f: Features, found: int, what: str) -> str:
    return f"{found} of {len(f.lines)} lines {what}"


def _transcript(f: Features) -> Sign:
    cues = f.matching(CUE)
    if cues >= 2:
        return Sign(1.0, (f"{cues} subtitle cues with their times",))
    names = Counter(match.group().split(":")[0] for line in f.lines if (match := TURN.match(line)))
    turns = sum(count for count in names.values() if count > 1)  # who speaks once may be the key of a value
    return Sign(0.9 * turns / max(1, len(f.lines)), (_lines(f, turns, f"begin with one of {len(names)} names"),))


def _chat(f: Features) -> Sign:
    said, turns = f.matching(SPEAKER), f.of_kind("turn")
    return _best(
        (said / max(1, len(f.lines)), _lines(f, said, "begin with who speaks or when")),
        (turns, f"{f.count['turn']} turns of speakers take {percent(turns)} of the text"),
    )


def _email(f: Features) -> Sign:
    found = [match[1].title() for line in f.lines[:40] if (match := MAIL_HEADER.match(line))]
    headers = list(dict.fromkeys(found))
    quoted = f.matching(MAIL_QUOTED)
    return _best(
        (0.95 * (len(headers) >= 3), f"it begins with the headers {', '.join(headers)}"),
        (0.5 * quoted / max(1, len(f.lines)), _lines(f, quoted, "are quoted from another mail")),
    )


def _log(f: Features) -> Sign:
    stamps = f.matching(STAMP)
    spoken = f.of_lines(SPEAKER) > 0.3 or f.matching(CUE) >= 2
    share = stamps / max(1, len(f.lines)) * (0.1 if spoken else 1.0)
    return Sign(share, (_lines(f, stamps, "begin with a time or a level such as ERROR"),))


_LONGEST_PAIR = 20
"""Lines of a question and its answer on average, beyond which they stand in a text about something else."""


def _faq(f: Features) -> Sign:
    asked = sum(ASKED.search(heading) is not None for heading in f.headings)
    pairs = min(f.matching(QUESTION), f.matching(ANSWER)) or sum(line[:2] in ("Q:", "Q.") for line in f.lines)
    bold = f.matching(BOLD)
    named = bool(FAQ.search(f.title) or any(FAQ.search(heading) for heading in f.headings[:2]))
    share = asked / max(1, len(f.headings))
    return _best(
        (
            0.9 * (asked >= 2 and f.answered >= 0.5) * min(1, 1.6 * share, 1.4 * f.answered),
            f"{asked} of {len(f.headings)} headings are questions",
        ),
        (
            min(1, pairs / 3, _LONGEST_PAIR * pairs / max(1, len(f.lines))),
            f"{pairs} questions with answers are marked as such",
        ),
        (0.9 * (bold >= 2) * min(1, 4 * bold / max(1, len(f.lines))), _lines(f, bold, "are questions in bold type")),
        (0.95 * (f.kinds["question"] > 0), f"{f.count['question']} questions stand in the markup"),
        (0.88 * named, "it calls itself an FAQ"),
    )


_LEAST_LEGAL = 3
"""Words of the law, each another one, from which a text is not one that happens to say `warranty`."""


def _legal(f: Features) -> Sign:
    words, clauses, numbered = f.of_words(LEGAL), f.matching(CLAUSE), f.matching(LAW)
    everywhere = min(1.0, f.spread(LEGAL) / 0.6, len(f.most_used(LEGAL, _LEAST_LEGAL)) / _LEAST_LEGAL)
    score = min(0.93, words * 32) * everywhere * (0.85 + min(0.15, clauses / max(1, len(f.lines))))
    name = next((m[0] for text in (f.title, *f.headings[:1], *f.lines[:2]) if (m := LEGAL_NAME.search(text))), "")
    if name and words > 0.01:
        score = max(score, min(0.85, score + 0.3))
    if name and words > 0.001 and numbered >= 0.15 * len(f.lines):
        score = max(score, 0.75)
    said = (
        f"{percent(words)} of the words are legal ones such as {', '.join(f.most_used(LEGAL, 3))}" if words else "",
        f"its name is that of a legal document ({name.lower()})" if name else "",
        _lines(f, clauses, "begin a numbered clause") if clauses else "",
    )
    return Sign(score, tuple(filter(None, said)))


def _table(f: Features) -> Sign:
    share = f.of_kind("table")
    return Sign(0.95 * share, (f"{percent(share)} of the text stands in tables",))


def _code(f: Features) -> Sign:
    share = f.of_kind("code")
    return Sign(0.9 * share if share > 0.75 else 0.0, (f"{percent(share)} of the text is program code",))


_LONG_VALUE = 160
"""Characters of a line on average from which a record's values are prose."""


def _data(f: Features) -> Sign:
    records = f.of_kind("record")
    if records > 0.6 and len(f.text) < _LONG_VALUE * max(1, len(f.lines)):
        return Sign(0.95 * records, (f"{records:.0%} of the text are records of names and values",))
    found = f.matching(DATA)
    share = found / max(1, len(f.lines)) * (1 - f.of_kind("paragraph") * 0.3 if not f.headings else 0.4)
    return Sign(share, (_lines(f, found, "are keys, values or brackets"),)) if share > 0.6 else _NONE


def _slides(f: Features) -> Sign:
    rules = f.matching(RULE)
    if rules >= 4 and rules >= 0.6 * len(f.headings) and f.words < 100 * rules:
        return Sign(0.88, (f"{rules} rules part texts of {f.words // rules} words",))
    return _NONE


def _reference(f: Features) -> Sign:
    found = f.matching(SIGNATURE)
    parts = list(dict.fromkeys(m[1].lower() for heading in f.headings if (m := PART.match(heading))))
    return _best(
        (
            0.9 * min(1, found / max(4, 0.6 * len(f.headings))) * (found >= 3),
            f"{found} signatures or lists of parameters",
        ),
        (min(0.9, 0.22 * len(parts)) * (len(parts) >= 3), f"it has the headings {', '.join(parts[:4])}"),
    )


def _technical(f: Features) -> Sign:
    code, marks = f.of_kind("code"), len(TECHNICAL.findall(f.text)) / f.words
    score = min(0.85, 0.25 * (code > 0.02) + 0.8 * code + marks * 8)
    said = (f"{percent(code)} of the text is code", f"{1000 * marks:.0f} names, paths and options in 1,000 words")
    return Sign(score, said if code else said[1:])


def _structured(f: Features) -> Sign:
    lists, tables = f.of_kind("list_item"), f.of_kind("table")
    if not f.headings and not lists:
        return _NONE
    shape = lists + tables + min(0.3, len(f.headings) / max(8, len(f.lines) / 4))
    return Sign(
        min(0.55, shape),
        (f"lists and tables take {percent(min(1, lists + tables))} of the text", f"{len(f.headings)} headings"),
    )


def _narrative(f: Features) -> Sign:
    prose = min(1.0, f.of_kind("paragraph") + 0.5 * f.of_kind("text", "quote"))
    told = f.of_words(TOLD)
    score = max(0.05, min(0.8, 0.35 * prose + min(0.45, 3 * told) * prose))
    return Sign(
        score, (f"{percent(prose)} of the text is running prose", f"{percent(told)} of the words tell of people")
    )


SCORES: dict[str, Callable[[Features], Sign]] = {
    "transcript": _transcript,
    "chat": _chat,
    "email": _email,
    "log": _log,
    "faq": _faq,
    "legal": _legal,
    "table": _table,
    "code": _code,
    "data": _data,
    "slides": _slides,
    "reference": _reference,
    "technical": _technical,
    "structured": _structured,
    "narrative": _narrative,
}
"""In the order in which equal scores are settled."""

CONTENT_TYPES = (
    "code", "structured", "narrative", "technical", "faq", "chat", "email", "table", "slides", "legal", "log", "data",
    "reference", "transcript",
)  # fmt: skip
