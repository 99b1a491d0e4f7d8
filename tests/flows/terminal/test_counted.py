"""One document is a document: counts in what docmill prints agree with their nouns."""

from docmill.flows.cli.pages.explain_chunks_text import sizes_spelled
from docmill.flows.runs.phases import counted
from docmill.flows.runs.report import EARLIER, Report, unsaid


def test_a_count_agrees_with_its_unit() -> None:
    assert [counted(n, "documents") for n in (0, 1, 2, 2000)] == [
        "0 documents",
        "1 document",
        "2 documents",
        "2,000 documents",
    ]
    assert [counted(n, "queries") for n in (1, 2)] == ["1 query", "2 queries"]


def test_a_report_and_its_problems_agree_with_their_counts() -> None:
    assert "1 chunk of the store has no vectors yet" in Report(pending=1).as_text()
    assert "2 chunks of the store have no vectors yet" in Report(pending=2).as_text()
    assert unsaid({"failed": 1.0, "left": 1.0}, "") == [
        "1 call to the language model failed; the next run tries again",
        "1 call was not made because --max-calls or --max-cost was reached; run again",
    ]
    assert unsaid({"left": 2.0}, "")[0].startswith("2 calls were not made")


def test_the_sizes_of_one_chunk_are_one_size() -> None:
    assert sizes_spelled([]) == "no chunks"
    assert sizes_spelled([1]) == "1 chunk of 1 token"
    assert sizes_spelled([12, 20, 23]) == "3 chunks of 12 to 23 tokens, half below 20"


def test_a_report_lists_a_hundred_problems_and_the_new_ones_first() -> None:
    earlier = [f"{number}.md: empty: 0 bytes{EARLIER}" for number in range(5_000)]
    report = Report(problems=[*earlier, "new.md: empty: 0 bytes"], rechunked=[f"{n}.md" for n in range(1_000)])
    report.dry_run = True
    lines = report.as_text().splitlines()
    told = [line for line in lines if line.startswith("  ! ")]
    assert told[:2] == ["  ! new.md: empty: 0 bytes", f"  ! {earlier[0]}"]
    assert len(told) == 101
    assert told[-1].startswith("  ! and 4,901 more; `docmill rejects` and ")
    (named,) = (line for line in lines if line.startswith("  re-chunk"))
    assert named.endswith("19.md, and 980 more")
    assert Report(problems=earlier[:100]).as_markdown().count(EARLIER) == 100
