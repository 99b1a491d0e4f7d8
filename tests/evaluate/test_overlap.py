"""The measures of the chunking evaluation, against cases computed by hand."""

import pytest

from docmill.tasks.evaluate.overlap import Overlap, Passage, length, overlap, precision_omega


def a(start: int, end: int) -> Passage:
    return Passage("a", start, end)


def test_a_chunk_that_is_its_reference_is_perfect() -> None:
    assert overlap([a(10, 20)], [a(10, 20)]) == Overlap(1, 1, 1)
    assert precision_omega([a(0, 9), a(10, 20), a(21, 30)], [a(10, 20)]) == 1


def test_precision_omega_counts_chunks_that_only_touch_a_reference() -> None:
    assert precision_omega([a(0, 10), a(10, 20), a(20, 30)], [a(10, 20)]) == pytest.approx(1 / 3)


def test_half_a_reference_in_a_longer_chunk() -> None:
    # 10 of 20 characters are found in a chunk of 40: IoU is 10 / (40 + 10)
    assert overlap([a(0, 40)], [a(30, 50)]) == Overlap(0.5, 0.25, 0.2)


def test_chunks_that_overlap_pay_twice_and_gain_once() -> None:
    # both chunks hold the reference: 10 of 10 found, in 20 + 20 characters
    assert overlap([a(0, 20), a(5, 25)], [a(8, 18)]) == Overlap(1, 0.25, 0.25)


def test_a_chunk_of_another_document_counts_as_length_only() -> None:
    assert overlap([Passage("b", 0, 30), a(0, 10)], [a(0, 10)]) == Overlap(1, 0.25, 0.25)


def test_several_references_are_one_length() -> None:
    # 5 of the first and all 10 of the second, of 20 in all, in 30 characters; 5 are not covered
    assert overlap([a(5, 35)], [a(0, 10), a(20, 30)]) == Overlap(0.75, 0.5, 15 / 35)


def test_references_that_overlap_are_missed_by_what_no_chunk_holds_of_each() -> None:
    # 10 characters are found, of 10 and 20 that are wanted, in 15; of the second reference 10 are not covered
    assert overlap([a(0, 15)], [a(5, 15), a(5, 25)]) == Overlap(10 / 30, 10 / 15, 10 / 25)


def test_nothing_found_is_nothing() -> None:
    assert overlap([a(50, 60)], [a(0, 10)]) == Overlap(0, 0, 0)
    assert overlap([], [a(0, 10)]) == Overlap(0, 0, 0)


def test_precision_omega_takes_all_chunks_that_touch_a_reference_and_what_none_covers() -> None:
    chunks = [a(0, 10), a(10, 20), a(20, 30), Passage("b", 0, 10)]
    assert precision_omega(chunks, [a(15, 25)]) == 0.5  # 10 in 20
    assert precision_omega(chunks, [a(25, 35)]) == pytest.approx(5 / 15)  # 5 in 10, and 5 that no chunk holds


def test_a_length_counts_each_character_once() -> None:
    assert length([a(0, 10), a(5, 15), a(6, 7), Passage("b", 3, 4), a(20, 21)]) == 17
