"""What the controls of a page state: only those that a reader cannot change."""

import pytest

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<ul><li><input type=checkbox disabled checked> pay<li><input type=checkbox disabled> go</ul>",
            "- ☒ pay\n- ☐ go",
        ),
        ("<p>Size <input value=42 readonly> cm</p>", "Size 42 cm"),
        ("<p>Town <select disabled><option>Ulm<option selected>Bern</select></p>", "Town Bern"),
        ("<p>Note</p><textarea readonly>Ring\ntwice</textarea>", "Note\n\nRing twice"),
        ("<p>Search <input value=hint> <input type=checkbox checked> all</p>", "Search all"),
        ("<p>Copy <input readonly value='https://mill.example/a'></p>", "Copy"),
        ("<p>Key <input type=password disabled value=secret></p>", "Key"),
    ],
)
def test_controls_that_cannot_be_changed_are_words(page: str, text: str) -> None:
    assert parse(page.encode(), FileType("html"), ParseOptions()).text == text
