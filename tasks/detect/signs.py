"""Signs: measure the signs of each content type in a text; `SCORES` weighs them.

Each function looks for one sign. Its thresholds are above it, with what goes wrong on either side.
"""

from collections import Counter
from typing import NamedTuple

from docmill.tasks.detect.features import Features
from docmill.tasks.detect.type_patterns import (
    ASKED,
    CUE,
    DATA,
    FAQ,
    MAIL_HEADER,
    MAIL_QUOTED,
    MAIL_WROTE,
    PART,
    RULE,
    SIGNATURE,
    SPEAKER,
    STAMP,
    TECHNICAL,
    TOLD,
    TURN,
    VERSION,
)
from docmill.tasks.split.spans.question_patterns import ANSWER, BOLD, QUESTION


class Seen(NamedTuple):
    """The amount of a sign in a text, the maximum, and a description of the evidence."""

    found: float
    evidence: str
    out_of: float = 1.0


class Score(NamedTuple):
    """The score of a content type in [0, 1], and the evidence."""

    score: float
    evidence: tuple[str, ...]


UNSEEN = Seen(0.0, "")

_ROUNDED_FROM = 0.095
"""Share from which percentages are shown without decimals; below, 1.4 % and 0.6 % would both become 1 %."""


def percent(share: float) -> str:
    """Return a share as a percentage."""
    places = 0 if share >= _ROUNDED_FROM or not share else 1
    return f"{share:.{places}%}".replace("%", " %")


def _lines(f: Features, found: int, what: str) -> Seen:
    return Seen(found, f"{found} of {len(f.lines)} lines {what}", max(1, len(f.lines)))


_CUES = 2
"""Lines with an arrow between two times that make subtitles. A single one may be an example in an article."""


def cues(f: Features) -> Seen:
    """Look for the cues of subtitles."""
    found = f.matching(CUE)
    return Seen(found >= _CUES, f"{found} subtitle cues with their times") if found >= _CUES else UNSEEN


def speakers(f: Features) -> Seen:
    """Look for lines that begin with a recurring name, as in an interview or a play; in contracts, they are parties."""
    if f.is_contract():
        return UNSEEN
    names = Counter(match.group().split(":")[0] for line in f.lines if (match := TURN.match(line)))
    turns = sum(count for count in names.values() if count > 1)  # a name that occurs once may be a key with its value
    return _lines(f, turns, f"begin with one of {len(names)} names")


def spoken_lines(f: Features) -> Seen:
    """Look for lines that begin like those of a chat."""
    if f.is_contract():
        return UNSEEN
    return _lines(f, f.matching(SPEAKER), "begin with who speaks or when")


def turns(f: Features) -> Seen:
    """Look for elements that a reader recognised as turns of a dialogue."""
    share = f.of_kind("turn")
    return Seen(share, f"{f.count['turn']} turns of speakers take {percent(share)} of the text")


_HEAD_LINES = 40
"""Lines that may have a mail's headers. Fewer would miss headers below routing lines; more would find quoted mails."""
_HEADERS = 3
"""Different headers that make a mail. A form or a memo has `Date:` and `From:`; a short mail has three or four."""


def mail_headers(f: Features) -> Seen:
    """Look for the headers of a mail at the beginning."""
    found = (match[1].title() for line in f.lines[:_HEAD_LINES] if (match := MAIL_HEADER.match(line)))
    headers = list(dict.fromkeys(found))
    return Seen(len(headers) >= _HEADERS, f"it begins with the headers {', '.join(headers)}")


def quoted_lines(f: Features) -> Seen:
    """Look for lines quoted from another mail; in a markup language, such lines are quotations and notes."""
    return _lines(f, f.matching(MAIL_WROTE if f.kinds["quote"] else MAIL_QUOTED), "are quoted from another mail")


_SPOKEN = 0.3
"""Share of lines with a speaker above which times belong to a chat. A log names a source in only a few lines."""
_STAMPS_IN_SPEECH = 0.1
"""Weight of a time at the start of a line in a chat, which has one on every line but is not a log."""


def stamps(f: Features) -> Seen:
    """Look for lines that begin with a time or a level, as in a log."""
    found = _lines(f, f.matching(STAMP), "begin with a time or a level such as ERROR")
    spoken = f.of_lines(SPEAKER) > _SPOKEN or f.matching(CUE) >= _CUES
    share = found.found / found.out_of
    return Seen(share * _STAMPS_IN_SPEECH if spoken else share, found.evidence)


_ASKING_HEADINGS = 2
"""Least number of headings that ask. With one, an article with a question as its title would be an FAQ."""
_LEAST_ANSWERED = 0.5
"""Least share of the text below headings that ask. If less, the questions are a part of some other text."""
_HEADINGS_GAIN, _ANSWERED_GAIN = 1.6, 1.4
"""The sign is full at 1/1.6 of the headings and 1/1.4 of the text.

Without this leeway, group headings and an introduction would count against an FAQ; with more, a guide with some
questions would pass as one."""


def asking_headings(f: Features) -> Seen:
    """Look for headings that are questions, with most of the text below them."""
    asked = sum(ASKED.search(heading) is not None for heading in f.headings)
    evidence = f"{asked} of {len(f.headings)} headings are questions"
    if asked < _ASKING_HEADINGS or f.answered < _LEAST_ANSWERED:
        return Seen(0.0, evidence)
    share = asked / len(f.headings)
    return Seen(min(1, _HEADINGS_GAIN * share, _ANSWERED_GAIN * f.answered), evidence)


_PAIRS = 3
"""Marked questions with answers at which the sign is full. A single "Q:" may be a label of something else."""
_LONGEST_PAIR = 20
"""Average lines per question and answer above which they are part of a text about something else."""


def marked_pairs(f: Features) -> Seen:
    """Look for lines that begin with "Q:" and "A:" or the like."""
    pairs = min(f.matching(QUESTION), f.matching(ANSWER)) or sum(line[:2] in ("Q:", "Q.") for line in f.lines)
    strength = min(1, pairs / _PAIRS, _LONGEST_PAIR * pairs / max(1, len(f.lines)))
    return Seen(strength, f"{pairs} questions with answers are marked as such")


_BOLD_QUESTIONS = 2
"""Least number of questions in bold. A single one is emphasis."""
_LONGEST_BOLD_PAIR = 4
"""Lines per bold question up to which the sign is full.

Bold type has other uses, too, so answers must be shorter than those marked with letters. With a higher limit, an
article with some bold text would be an FAQ."""


def bold_questions(f: Features) -> Seen:
    """Look for lines that consist of a question in bold."""
    found = f.matching(BOLD)
    seen = _lines(f, found, "are questions in bold type")
    enough = found >= _BOLD_QUESTIONS
    return Seen(min(1, _LONGEST_BOLD_PAIR * found / seen.out_of) if enough else 0.0, seen.evidence)


def question_elements(f: Features) -> Seen:
    """Look for questions that the markup marks as such."""
    return Seen(f.kinds["question"] > 0, f"{f.count['question']} questions stand in the markup")


_FIRST_HEADINGS = 2
"""Headings in which a document names itself; further down, "FAQ" heads a section of another document."""


def named_faq(f: Features) -> Seen:
    """Look for the name of an FAQ in the title and the first headings."""
    named = any(FAQ.search(text) for text in (f.title, *f.headings[:_FIRST_HEADINGS]))
    return Seen(named, "it calls itself an FAQ")


def tables(f: Features) -> Seen:
    """Look for tables."""
    share = f.of_kind("table")
    return Seen(share, f"{percent(share)} of the text is in tables")


_MOSTLY_CODE = 0.75
"""Share of code above which a text is a program. Below it, prose explains the code: technical writing."""


def mostly_code(f: Features) -> Seen:
    """Look for a text that is almost entirely code."""
    share = f.of_kind("code")
    return Seen(share if share > _MOSTLY_CODE else 0.0, f"{percent(share)} of the text is program code")


_MOSTLY_DATA = 0.6
"""Share of records, or of lines with keys and values, above which a text is data.

A README has some of both in its examples; a configuration file, even with comments, has more.
"""
_LONG_VALUE = 160
"""Average characters per line from which a record's values are prose."""
_IN_PROSE, _UNDER_HEADINGS = 0.3, 0.4
"""Discounts on lines with keys: the first is multiplied by the share of paragraphs, the second applies below headings.

Prose and lists also have lines with a colon. With smaller discounts they would be data; with larger ones, data with
comments would not be.
"""


def records(f: Features) -> Seen:
    """Look for records with short values; records with long values are judged by their text."""
    share = f.of_kind("record")
    if share <= _MOSTLY_DATA or len(f.text) >= _LONG_VALUE * max(1, len(f.lines)):
        return UNSEEN
    return Seen(share, f"{share:.0%} of the text are records of names and values")


def keyed_lines(f: Features) -> Seen:
    """Look for lines that are a key with its value, or a bracket."""
    seen = _lines(f, f.matching(DATA), "are keys, values or brackets")
    counted = _UNDER_HEADINGS if f.headings else 1 - f.of_kind("paragraph") * _IN_PROSE
    share = seen.found / seen.out_of * counted
    return Seen(share, seen.evidence) if share > _MOSTLY_DATA else UNSEEN


_RULES = 4
"""Horizontal rules that separate slides. An article has one or two, and front matter ends with one."""
_RULES_PER_HEADING = 0.6
"""Most slides have a heading. With far more headings than rules, the text is an article with a few rules."""
_WORDS_OF_A_SLIDE = 100
"""Average words between rules below which they separate slides. More is a page to read."""


def ruled_slides(f: Features) -> Seen:
    """Look for short texts between horizontal rules."""
    rules = f.matching(RULE)
    few_headings = rules >= _RULES_PER_HEADING * len(f.headings)
    if _of_versions(f):
        return UNSEEN
    if rules < _RULES or not few_headings or f.words >= _WORDS_OF_A_SLIDE * rules:
        return UNSEEN
    return Seen(1.0, f"{rules} rules part texts of {f.words // rules} words")


def _of_versions(f: Features) -> bool:
    """Return whether most headings are versions or dates, as in release notes, which may have rules between them."""
    return 2 * sum(VERSION.search(heading) is not None for heading in f.headings) > len(f.headings) > 0


_SIGNATURES = 3
"""Least number of signatures in a reference. A README shows one or two functions."""
_MANY_SIGNATURES, _SIGNATURES_PER_HEADING = 4, 0.6
"""The sign is full at 4 signatures that are also at least 0.6 of the headings: one per function, some for groups.

With lower limits, a guide with a chapter on its functions would pass as a reference.
"""


def signatures(f: Features) -> Seen:
    """Look for signatures and lists of parameters."""
    found = f.matching(SIGNATURE)
    full = max(_MANY_SIGNATURES, _SIGNATURES_PER_HEADING * len(f.headings))
    strength = min(1, found / full) if found >= _SIGNATURES else 0.0
    return Seen(strength, f"{found} signatures or lists of parameters")


_PARTS = 3
"""Different headings of a reference page. `Options` and `Examples` occur in many guides; a third is decisive."""
_SHOWN_PARTS = 4
"""Headings to name in the evidence, so that it stays one line."""


def reference_headings(f: Features) -> Seen:
    """Look for different headings such as Parameters and Returns; their number is the amount."""
    parts = list(dict.fromkeys(m[1].lower() for heading in f.headings if (m := PART.match(heading))))
    found = len(parts) if len(parts) >= _PARTS else 0
    return Seen(found, f"it has the headings {', '.join(parts[:_SHOWN_PARTS])}")


_SOME_CODE = 0.02
"""Share of code that shows that a text is about software. Less may be a single command in an article."""


def some_code(f: Features) -> Seen:
    """Look for any code; `code_blocks` measures how much."""
    return Seen(f.of_kind("code") > _SOME_CODE, "")


def code_blocks(f: Features) -> Seen:
    """Look for code among prose."""
    share = f.of_kind("code")
    return Seen(share, f"{percent(share)} of the text is code" if share else "")


_THOUSAND = 1000  # words: "0.021 per word" would tell a reader little


def technical_marks(f: Features) -> Seen:
    """Look for names, paths and options of software; the amount is their number per word."""
    marks = len(TECHNICAL.findall(f.text)) / f.words
    return Seen(marks, f"{_THOUSAND * marks:.0f} names, paths and options in 1,000 words")


def lists_and_tables(f: Features) -> Seen:
    """Look for lists and tables in a text that has lists or headings; a table by itself has the type `table`."""
    lists, share = f.of_kind("list_item"), f.of_kind("table")
    if not f.headings and not lists:
        return UNSEEN
    return Seen(lists + share, f"lists and tables take {percent(min(1, lists + share))} of the text")


_MANY_HEADINGS = 8
"""Headings that fill the sign in a short text; by lines alone, two headings would fill it there."""
_LINES_OF_A_SECTION = 4
"""Lines per heading up to which the sign is full: longer sections read as prose."""


def many_headings(f: Features) -> Seen:
    """Look for closely spaced headings."""
    full = max(_MANY_HEADINGS, len(f.lines) / _LINES_OF_A_SECTION)
    return Seen(len(f.headings), f"{len(f.headings)} headings", full)


_OTHER_TEXT = 0.5
"""Weight, as prose, of quotations and of text that no reader recognised as paragraphs: they may or may not be prose."""


def prose(f: Features) -> Seen:
    """Look for running prose."""
    share = _prose(f)
    return Seen(share, f"{percent(share)} of the text is running prose")


def _prose(f: Features) -> float:
    return min(1.0, f.of_kind("paragraph") + _OTHER_TEXT * f.of_kind("text", "quote"))


_TOLD_GAIN, _MOST_TOLD = 3, 0.45
"""The sign is full at 15 words in 100 (0.45 / 3).

A higher gain would take reports for stories; a lower one would rank stories below the lists in them. The maximum leaves
room for the share of prose itself.
"""


def told_of_people(f: Features) -> Seen:
    """Look for narrative words about people, weighted by the share of prose."""
    share = f.of_words(TOLD)
    strength = min(_MOST_TOLD, _TOLD_GAIN * share) * _prose(f)
    return Seen(strength, f"{percent(share)} of the words tell of people")
