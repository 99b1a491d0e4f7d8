"""Filters of the frameworks: each becomes one condition in SQL, and finds what it says."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

import docmill
from docmill.adapters.filters import both, condition
from docmill.errors import QueryError
from tests.kit.workbench import Workbench

KEYS = {"team": "text", "due": "date", "price": "number", "tags": "list", "open": "bool"}
SAID = {
    "a.md": 'team = "sales"\nprice = 3\ntags = ["x", "y"]\ndue = 2027-01-02\nopen = true',
    "b.md": 'team = "law\'s"\nprice = 9.5\ntags = ["y"]\ndue = 2028-01-02\nopen = false',
    "c.txt": "",
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    assert fake_model
    own = Workbench(tmp_path_factory.mktemp("filtered"), {"metadata": KEYS})
    own.write({name: f"The words of {name}." for name in SAID})
    own.write({f"{name}.meta.toml": said for name, said in SAID.items()})
    own.ingest()
    return own


@pytest.fixture
def store(bench: Workbench) -> Iterator[docmill.Store]:
    with bench.store as own:
        yield own


DICTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"team": "sales"}, "a"),
    ({"team": "law's", "format": "markdown"}, "b"),
    ({"metadata.price": {"$gt": 3, "$lte": 9.5}}, "b"),
    ({"price": {"$between": [1, 4]}}, "a"),
    ({"team": {"$ne": "sales"}}, "b"),  # what has no team is not unequal, as in SQL
    ({"team": None}, "c"),
    ({"team": {"$exists": False}}, "c"),
    ({"team": {"$ne": None}}, "ab"),
    ({"author": None}, "abc"),  # a text that is missing is empty in docmill's own columns
    ({"author": {"$exists": True}}, ""),
    ({"team": {"$in": ["sales", "nobody"]}}, "a"),
    ({"team": {"$in": []}}, ""),
    ({"team": {"$nin": ["sales"]}}, "b"),
    ({"team": {"$in": ["sales", None]}}, "ac"),
    ({"team": {"$nin": ["sales", None]}}, "b"),
    ({"price": {"$lt": float("inf"), "$gt": float("-inf")}}, "ab"),
    ({"source": "a.md"}, "a"),  # as the adapters give it
    ({"source": {"$in": ["a.md", "c.txt"]}}, "ac"),
    ({"source": {"$nin": ["a.md", "c.txt"]}}, "b"),
    ({"source": {"$ne": "a.md"}}, "bc"),
    ({"source": {"$eq": "docs"}}, "abc"),
    ({"source": {"$in": ["a.md", None]}}, ""),
    ({"tags": {"$contains": "y"}}, "ab"),
    ({"due": {"$gte": "2027-06-01"}}, "b"),
    ({"open": True}, "a"),
    ({"$or": [{"team": "sales"}, {"format": {"$eq": "text"}}]}, "ac"),
    ({"$and": [{"$not": {"team": "sales"}}, {"price": {"$lt": 100}}]}, "b"),
    ({"team": {"$ilike": "SA%"}}, "a"),
    ({"field": "meta.team", "operator": "==", "value": "sales"}, "a"),
    ({"operator": "AND", "conditions": [
        {"field": "meta.price", "operator": ">=", "value": 3},
        {"operator": "NOT", "conditions": [{"field": "meta.team", "operator": "in", "value": ["sales"]}]},
    ]}, "b"),
)  # fmt: skip


@pytest.mark.parametrize(("given", "wanted"), DICTS)
def test_a_dict_finds_what_it_says(store: docmill.Store, given: dict[str, Any], wanted: str) -> None:
    where = condition(given)
    assert "".join(row.uri[0] for row in store.documents(where)) == wanted
    assert "".join(sorted(hit.uri[0] for hit in store.search("words", k=9, where=where))) == wanted


@pytest.mark.parametrize(("given", "wanted"), [
    ({"team'; --": "x"}, "names a column or a key"), ({"team": {"$near": 1}}, "no operator"),
    ({"team": {"$in": "sales"}}, "takes a list"), ({"$xor": [{"a": 1}]}, "joins by"), ({"a": [object()]}, "compares"),
    ({"$and": []}, "without a condition"), ("team = 1", "is a dict"), ({"a": {"$between": [1]}}, "two values"),
])  # fmt: skip
def test_a_filter_that_is_none_is_refused(given: Any, wanted: str) -> None:
    with pytest.raises(QueryError, match=wanted):
        condition(given)


def test_a_filter_narrows_a_condition() -> None:
    assert both("a OR b -- or so", {"c": 1}) == '(a OR b -- or so\n) AND (metadata."c" = 1)'
    assert (both(None, None), both("a", None), both(None, {"c": 1})) == (None, "a", '(metadata."c" = 1)')


@pytest.mark.parametrize("where", ["true) OR (true", "true /*", "a, b", "true; SELECT 1"])
def test_a_condition_that_is_not_one_expression_cannot_undo_a_filter(where: str) -> None:
    with pytest.raises(QueryError, match="one SQL predicate"):
        both(where, {"c": 1})


def test_langchain_takes_a_filter_of_its_own_and_one_of_a_question(bench: Workbench) -> None:
    pytest.importorskip("langchain_core")
    from docmill.adapters.langchain import DocmillRetriever

    retriever = DocmillRetriever(store=bench.root, k=9, filter={"tags": {"$contains": "y"}})
    assert {one.metadata["uri"] for one in retriever.invoke("words")} == {"a.md", "b.md"}
    assert [one.metadata["uri"] for one in retriever.invoke("words", filter={"team": "sales"})] == ["a.md"]
    assert retriever.invoke("words", filter={"format": "text"}) == []
    assert {one.metadata["uri"] for one in retriever.invoke("words", where="true")} == {"a.md", "b.md"}


def test_llama_index_takes_metadata_filters(bench: Workbench) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

    from docmill.adapters.llama_index import DocmillRetriever

    for key, operator, value, wanted in (
        ("team", FilterOperator.EQ, "sales", {"a.md"}),
        ("team", FilterOperator.NE, "sales", {"b.md"}),
        ("price", FilterOperator.GTE, 9, {"b.md"}),
        ("team", FilterOperator.NIN, ["sales"], {"b.md"}),
        ("tags", FilterOperator.CONTAINS, "x", {"a.md"}),
        ("tags", FilterOperator.ANY, ["x", "z"], {"a.md"}),
        ("tags", FilterOperator.ALL, ["x", "y"], {"a.md"}),
        ("team", FilterOperator.TEXT_MATCH, "ale", {"a.md"}),
        ("team", FilterOperator.TEXT_MATCH_INSENSITIVE, "ALE", {"a.md"}),
        ("team", FilterOperator.IS_EMPTY, None, {"c.txt"}),
    ):
        inner = MetadataFilters(filters=[MetadataFilter(key=key, operator=operator, value=value)])
        filters = MetadataFilters(filters=[inner, inner], condition=FilterCondition.AND)
        nodes = DocmillRetriever(bench.root, k=9, filters=filters).retrieve("words")
        assert {one.node.metadata["uri"] for one in nodes} == wanted, (operator, value)
    assert len(DocmillRetriever(bench.root, k=9, filters=MetadataFilters(filters=[])).retrieve("words")) == len(SAID)


def test_haystack_takes_filters(bench: Workbench) -> None:
    if not find_spec("haystack"):
        pytest.skip("the extra haystack is not installed")
    from docmill.adapters.haystack import DocmillRetriever

    retriever = DocmillRetriever(str(bench.root), top_k=9, where="format = 'markdown'")
    found = retriever.run("words", filters={"field": "meta.price", "operator": "<", "value": 5})["documents"]
    assert [one.meta["uri"] for one in found] == ["a.md"]
    assert retriever.run("words", filters={"field": "meta.team", "operator": "==", "value": None})["documents"] == []
