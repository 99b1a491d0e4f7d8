"""The page on the architecture shows the house as it is."""

import pytest

from tests.kit.making.make_architecture import PAGE, STEPS, page, returns, way

MOST_MODULES = 20
"""Modules to which a document is handed on its way, the steps included; rows, keys and files are not counted."""
MOST_RETURNS = 23
"""Times that the document comes back to one of them after another had it; every hand-over counts once."""


@pytest.fixture(scope="module")
def stops() -> list[tuple[str, str]]:
    return way()


def test_the_charts_are_drawn_from_the_code_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "python -m tests.kit.making.make_architecture draws them anew"


def test_a_document_is_handed_to_few_modules_on_its_way(stops: list[tuple[str, str]]) -> None:
    assert {upper for upper, _ in stops} == {*STEPS}
    assert len({lower for _, lower in stops} | {*STEPS}) <= MOST_MODULES


def test_a_document_seldom_comes_back_to_a_module_that_it_has_left(stops: list[tuple[str, str]]) -> None:
    assert returns(stops) <= MOST_RETURNS
