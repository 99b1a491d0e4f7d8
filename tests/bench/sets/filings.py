"""Filings: generated annual reports of twelve companies over five years, with near-copies of every paragraph.

What tells two paragraphs apart is a number, a year, the name of a company or a "not". Each question asks for one of
them. Half of the filings are Markdown with the company in title and path; the others are plain text under a number,
begin with a cover page that is the same for all, and name the company there and in few other places. Nothing here was
reported by anybody.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from docmill.tasks.evaluate.overlap import Passage
from tests.bench.sets.collection import Asked, Collection
from tests.bench.sets.filing_texts import (
    CASES,
    CLAIMS,
    COMPANIES,
    COMPARED,
    COVER,
    NUMBERS,
    QUARTERS,
    QUESTIONS,
    SECTIONS,
    SEGMENTS,
    YEARS,
)

ASKED = 200
_OF_EACH = 4
"""Questions for each fact by name and year; the others give a number and ask whose it is."""
_SEED = 5
_RARE = 0.35
"""How often a claim holds: less often than not, so that most years deny it."""
_NUMBERED = [f"{what}{number}" for what in ("notes", "claim") for number in (1, 2, 3)]
_AMOUNTS = (
    *("administrative", "research", "cash", "capital", "environment", "benefits", "rent", "pension"),
    *_NUMBERED,
)
_PLACE = re.compile(r"\[\[([a-z0-9-]+)\|(.*?)\]\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Filing:
    """A report: its file, what fills the slots, its text, and the place of each fact."""

    uri: str
    values: Mapping[str, str]
    text: str
    places: Mapping[str, Passage]


def make_filings() -> Collection:
    """Return sixty filings and two hundred questions, always the same."""
    filings = {(number, year): _filing(number, year) for number in range(len(COMPANIES)) for year in YEARS}
    rng = random.Random(_SEED)
    by_name = [(place, key) for key in QUESTIONS for place in rng.sample(list(filings), _OF_EACH)]
    by_number = rng.sample([(place, key) for place in filings for key in NUMBERS], ASKED - len(by_name))
    asked = [_by_name(filings, *place, key) for place, key in by_name]
    asked += [_by_number(filings, *place, key) for place, key in by_number]
    return Collection({one.uri: one.text for one in filings.values()}, tuple(asked))


Filings = Mapping[tuple[int, int], Filing]


def _by_name(filings: Filings, company: int, year: int, key: str) -> Asked:
    one = filings[company, year]
    text = QUESTIONS[key].format(name=COMPANIES[company][0], **one.values)
    return Asked(f"{one.uri}:{key}", text, _places(filings, company, year, key))


def _by_number(filings: Filings, company: int, year: int, key: str) -> Asked:
    one = filings[company, year]
    text = NUMBERS[key].format(**one.values)
    same = [place for place, other in filings.items() if NUMBERS[key].format(**other.values) == text]
    places = dict.fromkeys(where for place in same for where in _places(filings, *place, key))
    return Asked(f"{one.uri}:{key}:number", text, tuple(places))


def _places(filings: Filings, company: int, year: int, key: str) -> tuple[Passage, ...]:
    after = filings.get((company, year + 1)) if key in COMPARED else None
    return tuple(one.places[key] for one in (filings[company, year], after) if one)


def _filing(company: int, year: int) -> Filing:
    name, legal, trade, state = COMPANIES[company]
    values = {"legal": legal, "trade": trade, "state": state, "year": str(year), "before": str(year - 1)}
    values |= _lasting(name) | _yearly(name, year)
    values |= {f"{key}_before": _yearly(name, year - 1)[key] for key in COMPARED}
    values |= _claims(name, values)
    values["table"] = _table(name, year)
    plain = company % 2 == 1
    marked = _laid(legal, values, plain)
    uri = f"{_accession(name, year)}.txt" if plain else f"{name.lower().replace(' ', '-')}/annual-report-{year}.md"
    text, places = unmarked(marked)
    return Filing(uri, values, text, {key: Passage(uri, *span) for key, span in places.items()})


def _accession(name: str, year: int) -> str:
    """Return a number as regulators give: it tells nothing of the company."""
    rng = random.Random(name)
    return f"{rng.randint(700_000, 1_900_000):010}-{(year + 1) % 100}-{rng.randint(1, 99_999) + year:06}"


def _laid(legal: str, values: Mapping[str, str], plain: bool) -> str:
    title = f"# {legal}: annual report for fiscal {values['year']}"
    lines = [COVER.format(capitals=legal.upper(), **values) if plain else title]
    for number, (heading, paragraphs) in enumerate(SECTIONS, start=1):
        lines.append(f"ITEM {number}. {heading.upper()}" if plain else f"## Item {number}. {heading}")
        lines += [paragraph.format(**values) for paragraph in paragraphs]
    return "\n\n".join(lines) + "\n"


def unmarked(marked: str) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return a text without the marks of facts, and the span of each."""
    text, reached, places = "", 0, dict[str, tuple[int, int]]()
    for match in _PLACE.finditer(marked):
        text += marked[reached : match.start()]
        places[match[1]] = len(text), len(text) + len(match[2])
        text, reached = text + match[2], match.end()
    return text + marked[reached:], places


def _lasting(name: str) -> dict[str, str]:
    """Return what stays from year to year."""
    rng = random.Random(name)
    cases, due = rng.sample(CASES, 3), sorted(rng.sample(range(2023, 2036), 3))
    return {
        **{f"case{number}": case for number, case in enumerate(cases, start=1)},
        **{f"due{number}": str(year) for number, year in enumerate(due, start=1)},
        **{f"rate{number}": f"{rng.uniform(3, 7):.2f}" for number in range(1, len(due) + 1)},
        "lease_end": str(rng.randint(2026, 2040)),
    }


def _yearly(name: str, year: int) -> dict[str, str]:
    """Return what changes from year to year: percentages and counts, and amounts with a $."""
    rng = random.Random(f"{name} {year}")
    amounts = {**dict.fromkeys(_AMOUNTS, (4.0, 90.0)), "revenue": (100.0, 900.0), "facility": (50.0, 90.0)}
    shares = {"union": (8, 60), "top_ten": (20, 60), "largest": (4, 15), "supply": (20, 60), "margin": (8, 40)}
    shares |= {"tax": (18, 30), "discount": (2, 6)}
    return {
        **{key: f"${rng.uniform(*bounds):.1f}" for key, bounds in amounts.items()},
        **{f"quarter{number}": f"${rng.uniform(2, 30):.1f}" for number in range(1, len(QUARTERS) + 1)},
        **{key: f"{rng.uniform(*bounds):.1f}" for key, bounds in shares.items()},
        "drawn": f"${rng.uniform(4, 45):.1f}",
        "employees": f"{rng.randint(900, 9900):,}",
        "sites": str(rng.randint(20, 60)),
        "owned": str(rng.randint(5, 19)),
        "area": f"{rng.randint(900, 9900):,}",
        "remediated": str(rng.randint(3, 9)),
        "facility_end": str(year + rng.randint(2, 5)),
    }


def _claims(name: str, values: Mapping[str, str]) -> dict[str, str]:
    rng = random.Random(f"claims {name} {values['year']}")
    return {key: said[rng.random() > _RARE].format(**values) for key, said in CLAIMS.items()}


def _table(name: str, year: int) -> str:
    rng = random.Random(f"table {name} {year}")
    rows = ["| Segment | Net revenue | Operating income | Employees |", "|---|---:|---:|---:|"]
    for number, segment in enumerate(SEGMENTS, start=1):
        cells = f"{rng.uniform(30, 300):.1f} | {rng.uniform(1, 40):.1f} | {rng.randint(200, 3300):,}"
        rows.append(f"[[segment-{number}|| {segment} | {cells} |]]")
    return "\n".join(rows)
