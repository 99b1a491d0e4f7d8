"""Cuts within text that has no better place: none parts a bracket from what it encloses."""

from docmill.tasks.split.spans.pieces import best_cut
from tests.split.strategies.test_code import split


def test_a_bracket_is_not_parted_from_its_number() -> None:
    text = "(iv) the gate"
    assert best_cut(text, 0, 1) == 0
    assert best_cut(text, 0, 3) == 2
    assert best_cut(text, 0, 4) in (2, 4)
    assert best_cut("of \u201cgates\u201d", 2, 4) == 3


def test_brackets_alone_are_cut_into_full_chunks() -> None:
    drafts = split("(" * 2000, "python")
    assert max(draft.tokens for draft in drafts[:-1]) - min(draft.tokens for draft in drafts[:-1]) <= 1
    assert len(drafts) <= 2000 // 32
