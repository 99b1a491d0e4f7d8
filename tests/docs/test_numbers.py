"""The page of numbers is short and names commands that exist; older figures are in the log beside the benchmarks."""

import re

from tests.bench.size import words
from tests.kit.house import ROOT

PAGE = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")
LOG = ROOT / "tests" / "bench" / "LOG.md"
WORDS = 1_500
"""A reader looks for a figure; older figures and trials belong into the log. Bars and rules of tables are no words."""


def test_every_command_of_the_page_and_the_log_exists() -> None:
    modules = set(re.findall(r"python -m (tests\.[\w.]+)", PAGE + LOG.read_text(encoding="utf-8")))
    assert len(modules) > 20
    paths = [ROOT / name.replace(".", "/") for name in sorted(modules)]
    assert [one for one in paths if not (one.with_suffix(".py").is_file() or (one / "__main__.py").is_file())] == []


def test_the_page_is_short() -> None:
    assert words(re.sub(r"(?<!\S)[|:-]+(?!\S)", "", PAGE)) <= WORDS


def test_every_link_of_the_log_leads_to_a_file() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", LOG.read_text(encoding="utf-8"))
    assert len(links) > 5
    assert [link for link in links if not (LOG.parent / link).is_file()] == []
