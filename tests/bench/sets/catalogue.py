"""The judged sets by name, in the order in which they are measured."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.sets.code import read_code
from tests.bench.sets.collection import Collection, Given, JudgedSet
from tests.bench.sets.filings import make_filings
from tests.bench.sets.links import read_links
from tests.bench.sets.public import read_answers, read_beir, read_excerpts, read_faq
from tests.bench.sets.untitled import read_untitled
from tests.bench.sets.worth import documents_ranked, excerpts_held, hit_at, pages_led_to

ROWS = 300
"""Questions of the FAQ: as in the tables of earlier versions."""
_HALF = 0.5
"""The share of a fact's sentence that a hit must hold: a chunk that ends within it may lack the fact."""
Read = Callable[[Given], Collection | None]


def _within(read: Callable[[Path], Collection], name: str) -> Read:
    """Return a reader of what the folder of data holds by a name; None where it does not."""

    def within(given: Given) -> Collection | None:
        path = given.data / name if given.data else None
        return read(path) if path and path.exists() else None

    return within


def _routed(strategy: str, **options: Any) -> dict[str, Any]:
    return {"routes": [{"glob": "**", "strategy": strategy, "options": options}]}


_EXCERPTS = _within(read_excerpts, "chunking_evaluation")
_FAQ = _within(lambda path: read_faq(path, ROWS), "bank_faqs/BankFAQs.csv")
_ANSWERED = ("xquad-en", "xquad-de", "xquad-es", "xquad-zh", "jaquad", "covid-papers")
"""Sets whose questions are answered at given places of a document."""
_LANGUAGES = (
    *("korquad", "arcd", "heq", "parashoot", "tquad", "persianqa", "uquad", "vi-news", "poquad", "iapp-thai"),
    *(f"tydi-{tag}" for tag in ("ar", "bn", "fi", "id", "ko", "ru", "sw", "te")),
)
"""The same in further languages; `squad.py` makes them of the files of their authors."""
_PARTS = {"embedding": {"parts": 100}}
_PASSAGES = tuple(f"k=8,passages={tokens}" for tokens in (300, 500, 750, 1000))

SETS = (
    JudgedSet("excerpts-200", _EXCERPTS, excerpts_held(5), 5, _routed("structure", size=200), _PASSAGES),
    JudgedSet("excerpts-400-parts", _EXCERPTS, excerpts_held(5), 5, _routed("structure", size=400) | _PARTS, _PASSAGES),
    JudgedSet("scifact", _within(read_beir, "scifact"), documents_ranked, 40),
    JudgedSet("cacm", _within(read_beir, "cacm"), documents_ranked, 40),
    JudgedSet("vaswani", _within(read_beir, "vaswani"), documents_ranked, 40),
    JudgedSet("faq-1000", _FAQ, hit_at(3, 10), 10, _routed("fixed", size=1000, unit="characters")),
    JudgedSet("faq-200", _FAQ, hit_at(3, 10), 10, _routed("fixed", size=200, unit="characters")),
    JudgedSet("filings", lambda _: make_filings(), hit_at(5, 1, 10, share=_HALF), 10),
    JudgedSet("untitled", _within(read_untitled, "scifact"), excerpts_held(5), 5, ways=_PASSAGES),
    JudgedSet("code", lambda given: read_code(given.packages), hit_at(5, 10, 20), 20),
    *(JudgedSet(name, _within(read_answers, name), hit_at(1, 5, 10), 10) for name in (*_ANSWERED, *_LANGUAGES)),
    JudgedSet("tatqa", _within(read_answers, "tatqa"), documents_ranked, 40),
    JudgedSet("links", lambda given: read_links(given.pages) if given.pages else None, pages_led_to(5), 20),
)


def chosen(names: list[str]) -> list[JudgedSet]:
    """Return the sets whose names begin with one of these, or all. Raises `ValueError` for one that begins none."""
    for name in names:
        if not any(one.name.startswith(name) for one in SETS):
            raise ValueError(f"no set {name!r}; there are {', '.join(one.name for one in SETS)}")
    return [one for one in SETS if not names or one.name.startswith(tuple(names))]
