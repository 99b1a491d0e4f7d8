"""The questions of Health: torn tables, and chunks that end within a sentence, are told from those that are whole."""

import pytest

from docmill.flows.serving.page.page_bundle import questions
from docmill.storage.snapshots.read.store import Store
from tests.kit.workbench import MakeBench

SENTENCES = "The miller of the old mill at the river grinds the wheat that the farmers bring. " * 40
TABLE = "| Grain | Coins |\n| --- | --- |\n" + "".join(f"| Grain {number} | {number} |\n" for number in range(12))
ITEMS = "".join(f"## Part {number}\n\n" + "- flour of wheat and of rye and of oats\n" * 9 + "\n" for number in range(9))
DOCUMENTS = {
    "fixed.md": f"---\ndocmill: {{strategy: fixed, size: 50}}\n---\n\n{SENTENCES}\n",
    "items.md": f"# Items\n\n{ITEMS}",
    "prices.csv": "name,price\n" + "".join(f"thing {number},{number}\n" for number in range(400)),
    "two.md": f"# Prices\n\nThe first prices:\n\n{TABLE}\nThe other prices:\n\n{TABLE}\n",
}


@pytest.fixture(scope="module")
def store(make_bench: MakeBench) -> Store:
    return make_bench(DOCUMENTS).store


def test_a_table_is_torn_where_a_chunk_goes_on_with_its_rows(store: Store) -> None:
    torn = store.sql(questions()["torn"]).to_pylist()
    assert [row["uri"] for row in torn] == ["prices.csv"]
    [table] = torn
    pieces = store.sql("SELECT text FROM chunks WHERE uri = 'prices.csv'").column(0).to_pylist()
    assert table["pieces"] == len(pieces) > 1
    assert table["characters"] == sum(map(len, pieces))
    tables = store.sql("SELECT text FROM chunks WHERE uri = 'two.md' AND content_type = 'table'").column(0).to_pylist()
    assert len(tables) > 1  # and each holds all rows of its own


def test_a_document_is_cut_where_a_chunk_ends_within_a_sentence(store: Store) -> None:
    [cut] = store.sql(questions()["cut"]).to_pylist()
    chunks = store.sql("SELECT chunk_id, text FROM chunks WHERE uri = 'fixed.md' ORDER BY ordinal").to_pylist()
    broken = [row["chunk_id"] for row in chunks[:-1] if not row["text"].rstrip().endswith(".")]
    assert (cut["uri"], cut["checked"], cut["broken"]) == ("fixed.md", len(chunks) - 1, len(broken))
    assert sorted(cut["ids"]) == sorted(broken) != []
    ends = store.sql("SELECT right(text, 1) AS last FROM chunks WHERE uri = 'items.md'").column(0).to_pylist()
    assert len(ends) > 1  # each ends with an item, and so with a line of the text
    assert "." not in ends
