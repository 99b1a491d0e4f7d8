"""Repetitions: what is the same as a better hit, and what differs from it in a fact."""

from pathlib import Path

import pytest

from docmill.flows.cli.terminal.hits import print_hits
from docmill.storage.remote.objects.bucket import connect
from docmill.storage.search.rank.steps.near_duplicates import facts_of
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench

FORM = (
    "The harbour office of the island keeps a list of every boat that enters between spring and autumn, with her "
    "master, her cargo and the berth that she took, and sends a copy of this list to the customs house in writing. "
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("In that year 2,140 boats entered.", "In that year 2,410 boats entered."),
        ("It was written in the year 1991.", "It was written in the year 1992."),
        ("The duty is -3 %.", "The duty is 3 %."),
        ("They brought in 1.5 million.", "They brought in 1.5 billion."),
        ("The list was kept by Anna Berg.", "The list was kept by Anna Holm."),
        ("Anna kept the list.", "Berta kept the list."),
        ("The berth is B12.", "The berth is B13."),
        ("The duty is paid.", "The duty is not paid."),
        ("The duty is paid.", "The duty isn't paid."),
        ("Der Zoll ist bezahlt.", "Der Zoll ist nicht bezahlt."),
        ("From 3 to 5 boats.", "From 5 to 3 boats."),
        ("税金は払う", "税金は払わない"),
        ("The year is ١٩٩١.", "The year is ١٩٩٢."),
    ],
)
def test_texts_that_differ_in_a_fact_are_not_the_same(one: str, other: str) -> None:
    assert not facts_of(FORM + one).same(facts_of(FORM + other))
    assert not facts_of(FORM + other).same(facts_of(FORM + one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("In that year 2,140 boats entered.", "In that year 2140 boats entered."),
        ("In that year 2,140 boats entered.", "In that year 2\u202f140 boats came in."),
        ("The duty is not paid.", "The duty isn't paid."),
        ("Then Anna kept the list.", "Then it was Anna who kept the list."),
        ("The clerk kept the list.", "However, the clerk kept the list."),
        ("The year is ١٩٩١.", "The year is 1991."),
    ],
)
def test_texts_that_state_the_same_in_other_words_are(one: str, other: str) -> None:
    assert facts_of(FORM + one).same(facts_of(FORM + other))


def test_a_search_shows_texts_that_differ_in_a_number_and_lists_the_places_of_copies(
    tmp_path: Path, fake_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    years = {f"{year}.txt": f"{FORM}In {year} it listed {year - 1000} boats." for year in (1990, 1991, 1992)}
    bench.write({**years, "copies/1991.txt": years["1991.txt"]})
    bench.ingest()
    hits = bench.store.search("harbour office boats 1991", 10)
    assert sorted(len(hit.also_at) for hit in hits) == [0, 0, 1], "three years, and a copy of one of them"
    (hit,) = (hit for hit in hits if hit.also_at)
    assert {hit.uri, hit.also_at[0].uri} == {"1991.txt", "copies/1991.txt"}
    (first,) = bench.store.search("harbour office boats 1991", 1)
    assert [(place.uri, place.chunk_id) for place in first.also_at] == [(hit.also_at[0].uri, hit.also_at[0].chunk_id)]
    print_hits(bench.store, "boats", [first], explain=False)
    assert f"   also at {first.also_at[0].uri}:1\n" in capsys.readouterr().out
    row = bench.store.chunks([hit.also_at[0].chunk_id])[hit.also_at[0].chunk_id]
    assert (row.start_char, row.end_char, row.page) == (hit.also_at[0].start_char, hit.also_at[0].end_char, None)


def test_the_place_of_a_copy_has_the_url_of_its_original(far: RemoteBench, tmp_path: Path, fake_model: str) -> None:
    for name in ("office.md", "copies/office.md"):
        connect(f"{far.address}/docs").put(name, FORM.encode())
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.ingest(f"{far.address}/docs")
    (hit,) = bench.store.search("harbour office")
    (place,) = hit.also_at
    assert {hit.uri, place.uri} == {"office.md", "copies/office.md"}
    assert [one.source_url for one in (hit, place)] == [f"{far.address}/docs/{one.uri}" for one in (hit, place)]
