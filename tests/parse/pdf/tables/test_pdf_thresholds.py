"""Each threshold of tables decides something: a page is read otherwise if it is changed by 30 %."""

from collections.abc import Iterator
from dataclasses import fields
from functools import cache

import pytest

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pdf.layout.rows import LAYOUT, Layout
from tests.parse.pdf.tables.made_tables import made

pytestmark = pytest.mark.slow  # a threshold may decide on one page of a hundred

PAGES = 400
CHANGE = 0.3
FOUND = {
    "apart": 193,
    "filled": 65,
    "leading": 107,
    "margin": 364,
    "mixed": 322,
    "name_letters": 50,
    "named": 322,
    "reach": 45,
    "shared": 138,
    "stray": 142,
}
"""Pages on which thresholds decide, looked at before all others; those of the other thresholds come soon."""


def _read(seed: int) -> str:
    parsed = parse(made(seed), FileType("pdf"), ParseOptions())
    return repr([(one.kind, one.box, one.attributes.get("cells")) for one in parsed.elements])


_usual = cache(_read)


def _changed(number: float) -> Iterator[float]:
    """Yield a threshold that is less and one that is more; counts by one at least."""
    for sign in (-1, 1):
        step = max(1, round(CHANGE * number)) if isinstance(number, int) else CHANGE * number
        yield number + sign * step


@pytest.mark.parametrize("name", [one.name for one in fields(Layout)])
def test_a_threshold_that_is_changed_changes_what_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in (FOUND.get(name, 0), *range(PAGES)):
        usual = _usual(seed)
        for changed in _changed(getattr(LAYOUT, name)):
            with monkeypatch.context() as patch:
                patch.setattr(LAYOUT, name, changed)
                if _read(seed) != usual:
                    return
    pytest.fail(f"{name} decides nothing on {PAGES} pages: delete it")
