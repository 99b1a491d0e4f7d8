"""What documents say of themselves, in many forms, as columns of one form."""

from pathlib import Path

import pytest

from docmill.tasks.parse.metadata import as_date, as_language, facts_of
from tests.kit.workbench import Workbench


@pytest.mark.parametrize(
    ("stated", "date"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024/3/5", "2024-03-05"),
        ("2024-03", "2024-03"),
        (2024, "2024"),
        ("2024-03-05T06:07:08Z", "2024-03-05T06:07:08+00:00"),
        ("2024-03-05 06:07", "2024-03-05T06:07:00"),
        ("Tue, 05 Mar 2024 06:07:08 +0100", "2024-03-05T06:07:08+01:00"),
        ("2024-13-05", ""),
        ("yesterday", ""),
        (["2024"], ""),
        (None, ""),
    ],
)
def test_a_date_is_as_exact_as_it_was_stated_or_empty(stated: object, date: str) -> None:
    assert as_date(stated) == date


def test_the_zero_of_a_clock_is_no_time_of_a_document() -> None:
    made = "Thu, 01 Jan 1970 00:00:00 +0000", "1601-01-01T00:00:00Z", "1904-01-01 00:00:00", "0001-01-01T00:00:00"
    assert [facts_of({"created": one, "modified": one}) for one in made] == [facts_of({})] * 4
    own = facts_of({"created": "1970-01-01", "modified": "1970-01-01T00:00:01Z"})
    assert (own.created, own.modified) == ("1970-01-01", "1970-01-01T00:00:01+00:00")


@pytest.mark.parametrize(
    ("stated", "tag"),
    [
        ("en_us", "en-US"),
        ("DE", "de"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("de_DE.UTF-8", "de-DE"),
        ("English", ""),
        (0, ""),
    ],
)
def test_a_language_is_a_tag_or_empty(stated: object, tag: str) -> None:
    assert as_language(stated) == tag


def test_authors_are_one_line() -> None:
    assert facts_of({"author": "Ada\n Lovelace"}).author == "Ada Lovelace"
    assert facts_of({"author": [{"name": "Ada"}, "Grace", None]}).author == "Ada; Grace"
    assert facts_of({}).author == ""


@pytest.mark.usefixtures("fake_model")
def test_what_front_matter_and_pages_state_stands_in_columns(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    page = '<html lang="de"><head><meta name="author" content="Ann"></head><body><p>Text.</p></body></html>'
    bench.write({"a.md": "---\nauthor: Ada\ndate: 2024-03-05\nlang: en_GB\n---\n\n# A\n\nText.\n", "b.html": page})
    bench.ingest()
    columns = "author, created_stated, modified_stated, lang, parent"
    found = bench.store.sql(f"SELECT {columns} FROM documents ORDER BY uri").to_pylist()
    assert [tuple(row.values()) for row in found] == [("Ada", "2024-03-05", "", "en-GB", ""), ("Ann", "", "", "de", "")]
