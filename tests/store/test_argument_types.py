"""Argument types: every public call refuses an argument of a wrong type, by its name, before any work begins."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import docmill
from docmill.errors import ConfigError, DocmillError, QueryError
from docmill.storage.argument_types import checked
from tests.kit.workbench import MakeBench

METHODS = [name for name, _ in inspect.getmembers(docmill.Store, inspect.isfunction) if not name.startswith("_")]
FUNCTIONS = (docmill.ingest, docmill.plan, docmill.open_store)


@pytest.fixture(scope="module")
def store(make_bench: MakeBench) -> Iterator[docmill.Store]:
    with make_bench({"mill.md": "# Mill\n\nThe mill grinds wheat.\n"}).store as own:
        yield own


def refuse_all(call: Callable[..., Any]) -> None:
    """Check that a call refuses an object of no type for each parameter, whatever the others are."""
    parameters = inspect.signature(call).parameters.values()
    named = [one for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]
    for one in named:
        given = {other.name: "x" for other in named if other.default is inspect.Parameter.empty}
        with pytest.raises(DocmillError, match=r" must be | takes ") as raised:
            call(**{**given, one.name: object()})
        assert one.name in str(raised.value) or given != {}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_refuses_an_argument_of_a_wrong_type(store: docmill.Store, name: str) -> None:
    refuse_all(getattr(store, name))


@pytest.mark.parametrize("call", FUNCTIONS)
def test_a_function_refuses_an_argument_of_a_wrong_type(call: Callable[..., Any]) -> None:
    refuse_all(call)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: store.log_query("wheat", 3), "hits must be a list of Hits, got 3"),
        (
            lambda store: store.log_query("wheat", [], "best"),
            "mode must be 'hybrid', 'vector' or 'keyword', got 'best'",
        ),
        (
            lambda store: store.log_query("wheat", [], keep_days=float("nan")),
            "keep_days must be in [0, 36500], got nan",
        ),
        (lambda store: store.log_query("wheat", [], keep_days=10**30), "keep_days must be in [0, 36500], got 1"),
        (lambda store: store.judge("wheat", 3), "hit must be a Hit or a string, got 3"),
        (lambda store: store.judge("wheat", "x", "yes"), "relevant must be True or False, got 'yes'"),
        (lambda store: store.replay("candidate"), "other must be a Store, got 'candidate'"),
        (lambda store: store.replay(store, "wheat"), "queries must be a list of strings, got 'wheat'"),
        (lambda store: store.search_all(["wheat", 3]), "texts must be a list of strings, got ['wheat', 3]"),
        (lambda store: store.search_all(iter(["wheat"])), "texts must be a list of strings, got <list_iterator"),
        (lambda store: store.search("wheat", rewrite="model"), "rewrite must be a function, got 'model'"),
        (lambda store: store.seen_by("sales"), "principals must be a list of strings, got 'sales'"),
    ],
)
def test_a_wrong_argument_is_told_by_name(store: docmill.Store, call: Callable[..., Any], message: str) -> None:
    with pytest.raises(QueryError) as raised:
        call(store)
    assert str(raised.value).startswith(message)


def test_a_run_refuses_a_wrong_argument() -> None:
    with pytest.raises(ConfigError, match=r"^store must be a string or a path, got 3$"):
        docmill.plan("docs", store=3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^options must be a dict by name, got \{3: 4\}$"):
        docmill.plan("docs", options={3: 4})  # type: ignore[dict-item]


def test_a_call_that_is_checked_keeps_its_face(store: docmill.Store) -> None:
    def add(one: int, *, other: "int | None" = None) -> int:
        """Add."""
        return one + (other or 0)

    assert (checked(add)(1, other=2), checked(add).__doc__) == (3, "Add.")
    assert store.search_all((), 3) == []
