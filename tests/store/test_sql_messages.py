"""What SQL says of a wrong statement: what is wrong, a hint, and a caret under the place."""

import pytest

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.errors import QueryError
from docmill.storage.sql.statement_pool import query, select_ids


def said_of(sql: str) -> list[str]:
    """Return the lines of the message."""
    with pytest.raises(QueryError) as caught:
        query({name: [] for name in SCHEMAS}, {}, sql)
    return str(caught.value).split("\n")


def under(line: str, carets: str) -> str:
    """Return the part of a line that is above the carets."""
    return line[carets.index("^") : len(carets)]


@pytest.mark.parametrize(
    ("sql", "wrong", "hint"),
    [
        ("SELECT uri FROM chunks WHERE content_type = code", "code", "single quotes"),
        ('SELECT uri FROM chunks WHERE content_type = "code"', '"code"', "single quotes"),
        ("SELECT uri FROM chunks WHERE uri = a.md", "a.md", "single quotes"),
        ("SELECT uri FROM chunks WHERE uri LIKE docs%", "%", "single quotes"),
        ("SELECT uri FROM chunks WHERE title = rye bread", "bread", "single quotes"),
        ("SELECT uri FROM chunks WHERE uri IN (readme, 'b')", "readme", "single quotes"),
        ("SELECT uri, format FROM chunks", "format", "documents has a column format; add: JOIN documents USING (docum"),
        ("SELECT c.lang FROM chunks c", "c.lang", "documents has a column lang; add: JOIN documents USING ("),
        ("SELECT page FROM documents", "page", "chunks has a column page; add: JOIN chunks USING (docum"),
        ("SELECT uri, reason FROM documents", "reason", "rejects has a column reason"),
        ("SELECT start_char, end FROM chunks", "end", "the column is end_char"),
        ("SELECT uri, group FROM chunks", "FROM", 'put it in double quotes to use it as a name: "group"'),
        ("SELECT uri FROM chunks WHERE text = 'it's'", "'", "doubled"),
        ("SELECT ['Care', 'Use'] = 'Care'", "'Care'", "list_contains("),
    ],
)  # fmt: skip
def test_a_hint_says_what_would_be_right(sql: str, wrong: str, hint: str) -> None:
    first, line, carets = said_of(sql)
    assert hint in first
    assert under(line, carets) == wrong


@pytest.mark.parametrize(
    ("sql", "wrong"),
    [
        ("SELECT nope FROM chunks", "nope"),
        ("  -- first\n SELECT uri,\n\tnope FROM chunks;", "nope"),
        ("SELECT 'größe', 'e\u0301', nope FROM chunks", "nope"),
        ("SELECT " + "uri, " * 60 + "nope FROM chunks", "nope"),
        ("SELECT nope" + ", uri" * 60 + " FROM chunks", "nope"),
        ("SELECT nothing(uri) FROM chunks", "nothing(uri)"),
        ("SELECT * FROM chunk", "chunk"),
        ("SELECT 'x'::INT FROM range(2)", "::INT"),
    ],
)
def test_carets_stand_under_the_wrong_part(sql: str, wrong: str) -> None:
    first, line, carets = said_of(sql)
    assert "single quotes" not in first
    plain = line.replace("e\u0301", "e")  # the accent takes no column
    assert under(plain, carets) in (wrong, wrong[:1])
    assert len(line) < 120
    assert line.startswith(f"LINE {sql[: sql.index(wrong)].count(chr(10)) + 1}: ")


def test_carets_count_wide_characters_twice() -> None:
    _, line, carets = said_of("SELECT '日本', nope FROM chunks")
    assert carets.index("^") == line.index("nope") + 2


def test_a_predicate_shows_its_own_line_and_not_the_statement_around_it() -> None:
    with pytest.raises(QueryError) as caught:
        select_ids([], [], "tokens > 3\nAND content_type = code", {})
    first, line, carets = str(caught.value).split("\n")
    assert "single quotes" in first
    assert line == "LINE 2: AND content_type = code"
    assert under(line, carets) == "code"
