"""A document's regions: what they are, where they begin, and that they are the document."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.tasks.detect.content_types import CONTENT_TYPES
from docmill.tasks.detect.regions import LONG, Region, find_regions
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FORMATS, FileType, ParseOptions
from tests.kit.drawing import examples

PROSE = "The mill stands by the river, and the wheel turns while there is water enough to carry it round.\n\n"
TABLE = (
    "| part | weight |\n|---|---|\n" + "".join(f"| millstone number {i} | {i} kilograms |\n" for i in range(60)) + "\n"
)
LISTING = "```python\n" + "".join(f"def mill_{i}(rye):\n    return rye * {i}\n\n" for i in range(60)) + "```\n\n"
LOG = "```\n" + "".join(f"2024-05-01 10:00:{i:02} INFO wheel turned {i} times\n" for i in range(50)) + "```\n\n"
QUESTIONS = "".join(f"### How do I mill batch {i}?\n\nPour it in and wait. {PROSE}" for i in range(9))
LAWFUL = "## Terms\n\n" + "".join(
    f"{i}. The parties hereby agree that the licensee shall indemnify the licensor, and that liability under this"
    " agreement shall be governed by the law of that jurisdiction, notwithstanding any termination.\n\n"
    for i in range(1, 9)
)
BLOCKS = {
    "prose": PROSE * 4, "table": TABLE, "code": LISTING, "log": LOG, "faq": "## FAQ\n\n" + QUESTIONS, "legal": LAWFUL,
    "heading": "## About the mill\n\n", "list": "- rye\n- wheat\n\n",
    "small table": "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "announcement": "These are all of them:\n\n", "sentence": "It turns.\n\n", "break": "---\n\n",
}  # fmt: skip
GUIDE = "# The mill\n\n" + "## Use\n\n" + PROSE * 20


MARKDOWN = FileType("markdown")


def regions_of(text: str, file_type: FileType = MARKDOWN) -> tuple[Region, ...]:
    return find_regions(parse(text.encode(), file_type, ParseOptions()), file_type)


def kinds(text: str) -> list[str]:
    return [region.verdict.content_type for region in regions_of(text)]


@pytest.mark.parametrize(
    ("inside", "kind"),
    [(TABLE, "table"), (LISTING, "code"), (LOG, "log"), ("## FAQ\n\n" + QUESTIONS, "faq"), (LAWFUL, "legal")],
)
def test_what_is_long_and_different_is_a_region_of_its_own(inside: str, kind: str) -> None:
    before, found, after = kinds(GUIDE + PROSE * 60 + inside + "## More\n\n" + PROSE * 6)
    assert found == kind
    assert before == after in ("narrative", "structured")


def test_what_is_short_stays_with_the_prose_around_it() -> None:
    small = BLOCKS["small table"] + "```python\nx = 1\n```\n\n" + PROSE * 3
    assert len(kinds(GUIDE + small)) == 1


def test_a_heading_and_an_announcement_go_with_what_they_introduce() -> None:
    text = GUIDE + "## Weights\n\nThese are all of them:\n\n" + TABLE + PROSE * 4
    assert [text[region.start :].split("\n")[0] for region in regions_of(text)] == [
        "# The mill",
        "## Weights",
        PROSE.strip(),
    ]


def test_a_sentence_between_two_tables_parts_nothing() -> None:
    assert kinds(GUIDE + TABLE + "It turns.\n\n" + TABLE) == [kinds(GUIDE)[0], "table"]


def test_a_file_type_that_leaves_no_question_is_one_region() -> None:
    (only,) = regions_of("name,weight\nrye,3\n", FileType("csv"))
    assert (only.verdict.content_type, only.verdict.score, only.verdict.evidence) == (
        "table",
        1.0,
        ("the file is a table",),
    )
    (only,) = regions_of("a: 1\nb: 2\n", FileType("code", "yaml"))
    assert only.verdict.content_type == "data"


def test_formats_that_decide_alone_are_formats_and_their_types_are_types() -> None:
    assert {form.content_type for form in FORMATS.values()} <= {*CONTENT_TYPES, ""}
    assert all(bool(form.because) == bool(form.content_type) for form in FORMATS.values())


def test_a_table_of_questions_and_answers_is_a_faq() -> None:
    (only,) = regions_of("Frage,Antwort\nWann?,Um neun.\nWo?,Hier.\n", FileType("csv"))
    assert (only.verdict.content_type, only.verdict.runner_up) == ("faq", "table")


def test_records_of_prose_are_judged_by_what_they_say() -> None:
    fields = "".join(f"<part><name>stone {i}</name><weight>{i}</weight></part>" for i in range(30))
    (only,) = regions_of(f"<?xml version='1.0'?><mill>{fields}</mill>", FileType("xml"))
    assert (only.verdict.content_type, only.verdict.evidence) == ("data", ("the file is xml, mostly fields",))


def test_evidence_is_what_a_person_would_say() -> None:
    (only,) = regions_of("# FAQ\n\n## How do I pay?\n\nBy card.\n\n## Can I cancel?\n\nYes, within a day.\n")
    assert only.verdict.evidence == ("2 of 3 headings are questions", "it calls itself an FAQ")
    assert (only.verdict.content_type, only.verdict.runner_up) == ("faq", "structured")
    assert only.verdict.score > only.verdict.runner_up_score


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("§ 1 Vertragsgegenstand\n\n(1) Der Auftragnehmer ist gemäß § 2 Absatz 1 verpflichtet.\n\n"
         "§ 2 Haftung\n\n(1) Die Haftung des Auftragnehmers ist beschränkt. (2) Gerichtsstand ist Gera.\n", "legal"),
        ("Von: Ada <ada@mill.example>\nAn: Bo <bo@mill.example>\nBetreff: Mehl\nDatum: 3. Mai\n\nMehr.\n", "email"),
        ("Frage: Wann öffnet die Mühle?\nAntwort: Um neun.\n\nFrage: Und im Winter?\nAntwort: Um zehn.\n\n"
         "Frage: Gibt es Mehl?\nAntwort: Ja.\n", "faq"),
        ("Er ging zum Fluss hinunter, wo sie war. „Du bist spät“, sagte sie. Er hatte keine Antwort.", "narrative"),
    ],
)  # fmt: skip
def test_german_is_understood(text: str, kind: str) -> None:
    assert [region.verdict.content_type for region in regions_of(text, FileType("text"))] == [kind]


@examples(60)
@given(st.lists(st.sampled_from(sorted(BLOCKS)), max_size=9))
def test_regions_are_the_document_and_hold_its_elements_whole(names: list[str]) -> None:
    text = "# Mill\n\n" + "".join(BLOCKS[name] for name in names)
    parsed = parse(text.encode(), FileType("markdown"), ParseOptions())
    found = find_regions(parsed, FileType("markdown"))
    assert (found[0].start, found[-1].end) == (0, len(text))
    assert all(left.end == right.start > left.start for left, right in pairwise(found))
    for element in parsed.elements:
        assert sum(region.start < element.end_char and element.start_char < region.end for region in found) == 1
    assert all(left.verdict.content_type != right.verdict.content_type for left, right in pairwise(found))
    assert all(one.verdict.content_type in CONTENT_TYPES and one.verdict.evidence for one in found)
    assert found == find_regions(parsed, FileType("markdown"))


@examples(30)
@given(st.lists(st.sampled_from(["prose", "table", "code", "heading", "list"]), min_size=2, max_size=8), st.data())
def test_an_added_sentence_moves_no_bound_but_by_its_length(names: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(names)))
    parts = ["# Mill\n\n" + PROSE * 4, *(BLOCKS[name] for name in names)]
    before = "".join(parts)
    position = len("".join(parts[: at + 1]))
    added = "And there it stands.\n\n"
    bounds = {one.start for one in regions_of(before)}
    after = {one.start for one in regions_of(before[:position] + added + before[position:])}
    moved = {one + len(added) * (one >= position) for one in bounds}
    assert len(after ^ moved) <= 2  # that of the region that it stands in may go before or after it


HOSTILE = {
    "spaces": " " * 400_000 + "x", "parentheses": "# " + "(" * 400_000, "commas": "- " + "," * 400_000 + " x",
    "brackets": "[" * 400_000, "one line": "shall " * 80_000, "stars": "**" * 200_000, "colons": "a:" * 200_000,
    "short lines": "a\n\n" * 40_000, "headings": "# a?\n\n" * 20_000, "dots": "1." * 200_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_the_end(name: str) -> None:
    file_type = FileType("text")
    parsed = parse(HOSTILE[name].encode(), file_type, ParseOptions())
    assert find_regions(parsed, file_type)[-1].end == len(HOSTILE[name])  # what is quadratic does not get here


def test_a_table_is_long_by_what_it_says_and_not_by_its_spaces() -> None:
    rows = "".join(f"| {i} {' ' * 80} |\n" for i in range(40))
    assert len(rows) > 2 * LONG
    assert len(kinds(GUIDE + "| number |\n|---|\n" + rows + "\n" + PROSE * 6)) == 1


def test_one_word_of_the_law_makes_no_contract_and_questions_in_bold_make_a_faq() -> None:
    assert kinds("# Help\n\nThe wheel has a warranty of two years and is as good as any.\n") != ["legal"]
    pairs = "\n\n".join(f"**Is {grain} sold?**\nYes, in autumn, without any warranty." for grain in ("rye", "oat"))
    assert kinds(f"# Help\n\n{pairs}\n") == ["faq"]


@pytest.mark.parametrize(
    "text",
    [
        "Q1\uff1a\u9ea6\u3068\u306f\u4f55\u3067\u3059\u304b\u3002\nA1\uff1a\u7a40\u7269\u3067\u3059\u3002\n\n" * 3,
        "# \u5e38\u89c1\u95ee\u9898\n\n## \u9ea6\n\n\u8c37\u7269\u3002\n",
    ],
)
def test_questions_in_chinese_and_japanese_are_a_faq(text: str) -> None:
    assert kinds(text) == ["faq"]


def test_a_contract_whose_parties_begin_many_lines_is_no_transcript() -> None:
    said = "".join(
        f"Supplier: The supplier brings lot {i} to the lower gate on the first day of May, at its own cost and risk.\n"
        f"Buyer: The buyer looks at lot {i} within three days and pays for what is whole.\n"
        for i in range(1, 15)
    )
    clauses = "".join(
        f"{i}. The parties hereby agree upon lot {i}; liability is with the supplier.\n" for i in range(1, 9)
    )
    assert "transcript" not in kinds(clauses + said)
    assert kinds(said) == ["transcript"]


def test_notes_in_a_markup_are_no_mail_and_quoted_lines_of_a_text_are() -> None:
    note = "# Fault 17\n\n> [!NOTE]\n" + "> If the wheel stops, the race is dry or its gate is shut.\n" * 12
    assert kinds(note + "\nOpen the gate.\n") != ["email"]
    mail = "Yes, it does.\n\n" + "> Does the wheel turn today, and who looks after it?\n" * 12
    assert [one.verdict.content_type for one in regions_of(mail, FileType("text"))] == ["email"]


@pytest.mark.parametrize("heading", ["## 0.7.{}", "## [1.{}.0] - 2026-01-02", "## Release v2.{}", "## 2026-01-{}"])
def test_rules_between_versions_part_no_slides(heading: str) -> None:
    def ruled(above: str) -> list[str]:
        return kinds("".join(f"{above.format(10 + i)}\n\n- Mend gate {i}\n\n---\n\n" for i in range(8)))

    assert ruled(heading) != ["slides"]
    assert ruled("## Gate {}") == ["slides"]


HANDLERS = (
    "# When handlers run\n\nA termination handler runs however its block is terminated. Causes of termination are a"
    " jump and a `longjmp`. Termination handlers of inner blocks are run first.\n\n1. The filter is evaluated.\n"
    "2. Handlers run.\n\nSee the agreement between caller and callee; any party that changes registers shall restore"
    " them. A third party may terminate the program.\n"
)


def test_words_of_law_that_programs_use_make_no_contract() -> None:
    assert kinds(HANDLERS) != ["legal"]
    assert kinds("# Terms\n\n" + LAWFUL) == ["legal"]
