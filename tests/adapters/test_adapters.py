"""The adapters: what each framework gets of a search, with the real packages."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import docmill
from docmill.adapters.asking import Asking, opened
from docmill.errors import ConfigError, QueryError, StoreError
from tests.kit.house import ROOT
from tests.kit.workbench import Workbench

MISSING = {
    "langchain": ("langchain_core", "langchain"),
    "llama_index": ("llama_index", "llama-index"),
    "haystack": ("haystack", "haystack"),
}
"""Of each adapter: the package that it needs, and its extra."""
MORE = "The branch then points to the commit before, and the files of the folder stay as they are. " * 3
GIT = f"# Undo\n\nTo undo a commit, reset the branch. {MORE}\n\n## Redo\n\nTo redo it, look into the reflog. {MORE}\n"
ESSAY = "\n\n".join(f"Paragraph {n} speaks of the {word} mill and its wheel." for n, word in enumerate("abcdefgh"))
QUESTION, BELOW = "undo a commit", "redo it, look into the reflog"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    assert fake_model
    small = {"size": 24}
    routes = [
        {"glob": "git.md", "strategy": "structure", "options": small},
        {"glob": "deep/essay.txt", "strategy": "recursive", "options": small},
    ]
    own = Workbench(tmp_path_factory.mktemp("adapted"), {"routes": routes})
    own.write({"git.md": GIT, "deep/essay.txt": ESSAY})
    own.ingest()
    own.write({"deep/größe 1?.md": "# Size\n\nIt is large.\n"})
    own.ingest()
    return own


@pytest.fixture
def store(bench: Workbench) -> Iterator[docmill.Store]:
    with bench.store as own:
        yield own


def need_haystack() -> None:
    """Skip without Haystack; it must not be imported for that, as it would report the test to its makers."""
    if not find_spec("haystack"):
        pytest.skip("the extra haystack is not installed")


def check_place(store: docmill.Store, text: str, place: dict[str, Any], hit: docmill.Hit) -> None:
    """Assert that a framework can cite a hit, and has exactly its text."""
    assert store.document(place["uri"]).text[place["start_char"] : place["end_char"]] == text == hit.text
    assert (place["source"], place["chunk_id"]) == (hit.uri, hit.chunk_id)
    assert (place["line"], place["headings"]) == (hit.line, list(hit.headings))
    assert (place["relevance"], place["snapshot"]) == (hit.relevance, store.snapshot.number)
    assert "page" not in place
    assert json.loads(json.dumps(place)) == place


def test_langchain_gets_documents_and_may_ask_otherwise_each_time(bench: Workbench, store: docmill.Store) -> None:
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from langchain_core.runnables import ConfigurableField

    from docmill.adapters.langchain import DocmillRetriever

    hits = store.search(QUESTION, k=2)
    retriever = DocmillRetriever(store=bench.root, k=2, with_context=False)
    found = retriever.invoke(QUESTION)
    assert [one.id for one in found] == [hit.chunk_id for hit in hits]
    for one, hit in zip(found, hits, strict=True):
        check_place(store, one.page_content, one.metadata, hit)
        assert one.metadata["start_index"] == hit.start_char
    assert asyncio.run(retriever.ainvoke(QUESTION)) == found
    assert retriever.batch([QUESTION, QUESTION]) == [found, found]
    (below,) = DocmillRetriever(store=store, k=1).invoke(BELOW)
    (hit,) = store.search(BELOW, k=1)
    assert hit.context
    assert below.page_content == f"{hit.context}\n\n{hit.text}"
    (essay,) = retriever.invoke("wheel", k=1, where="uri LIKE 'deep/%'", mode="keyword")
    assert (essay.metadata["uri"], "vector_score" in essay.metadata) == ("deep/essay.txt", False)
    assert retriever.invoke("large", at=1, mode="keyword") == []
    some = retriever.configurable_fields(k=ConfigurableField(id="k"))
    assert len(some.with_config(configurable={"k": 1}).invoke(QUESTION)) == 1
    with pytest.raises(QueryError, match="no_column"):
        retriever.invoke(QUESTION, where="no_column = 1")


def test_langchain_gets_the_sentences_that_answer(store: docmill.Store) -> None:
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from docmill.adapters.langchain import DocmillRetriever

    hits = [hit for hit in store.search("redo reflog", k=5, passages=20) if hit.passage]
    found = DocmillRetriever(store=store, options={"passages": 20}, with_context=False).invoke("redo reflog")
    assert [one.page_content for one in found] == [hit.passage.text for hit in hits if hit.passage]
    for one in found:
        place = one.metadata
        text = store.document(place["uri"]).text
        assert text[place["start_char"] : place["end_char"]] == one.page_content
        assert place["line"] == 1 + text.count("\n", 0, place["start_char"])


def test_langchain_loads_whole_documents(bench: Workbench, store: docmill.Store) -> None:
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from docmill.adapters.langchain import DocmillLoader

    found = DocmillLoader(bench.root).load()
    assert [one.metadata["uri"] for one in found] == ["deep/essay.txt", "deep/größe 1?.md", "git.md"]
    assert [one.page_content for one in found] == [store.document(one.metadata["uri"]).text for one in found]
    assert (found[-1].metadata["title"], found[-1].metadata["format"], found[-1].metadata["snapshot"]) == (
        "Undo",
        "markdown",
        2,
    )
    (only,) = asyncio.run(DocmillLoader(bench.root, where="format = 'text'", at=1).aload())
    assert (only.metadata["source"], only.metadata["snapshot"]) == ("deep/essay.txt", 1)


def test_llama_index_gets_nodes_with_offsets_and_relationships(bench: Workbench, store: docmill.Store) -> None:
    pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
    from llama_index.core.schema import MetadataMode, TextNode

    from docmill.adapters.llama_index import DocmillRetriever

    hits = store.search("speaks of the c mill", k=3)
    retriever = DocmillRetriever(str(bench.root), k=3)
    found = retriever.retrieve("speaks of the c mill")
    for one, hit in zip(found, hits, strict=True):
        assert isinstance(one.node, TextNode)
        check_place(store, one.node.text, one.metadata, hit)
        assert (one.node.start_char_idx, one.node.end_char_idx) == (hit.start_char, hit.end_char)
        assert (one.score, one.node_id, one.node.ref_doc_id) == (hit.relevance, hit.chunk_id, hit.uri)
        ids = [row.chunk_id for row in store.neighbours(hit.chunk_id)]
        around = [one.node.prev_node, one.node.next_node]
        assert [near.node_id for near in around if near] == [own for own in ids if own != hit.chunk_id]
        shown = one.node.get_content(MetadataMode.LLM)
        assert shown.startswith(f"source: {hit.uri}\n")
        assert shown.endswith(hit.text)
        assert "relevance" not in shown
    assert asyncio.run(retriever.aretrieve("speaks of the c mill")) == found
    (only,) = DocmillRetriever(store, k=5, where="uri = 'git.md'", options={"widen": 400}).retrieve("redo reflog")
    assert isinstance(only.node, TextNode)
    assert GIT[only.node.start_char_idx : only.node.end_char_idx] == only.text


def test_haystack_gets_documents_in_a_pipeline_that_can_be_saved(bench: Workbench, store: docmill.Store) -> None:
    need_haystack()
    from docmill.adapters.haystack import DocmillRetriever  # before Haystack, as its page says

    from haystack import Pipeline  # isort: skip

    hits = store.search(QUESTION, k=2)
    pipeline = Pipeline()
    pipeline.add_component("retriever", DocmillRetriever(str(bench.root), top_k=2, with_context=False))
    found = pipeline.run({"retriever": {"query": QUESTION}})["retriever"]["documents"]
    for one, hit in zip(found, hits, strict=True):
        check_place(store, one.content, one.meta, hit)
        assert (one.id, one.score) == (hit.chunk_id, hit.relevance)
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["docmill.adapters.haystack"])
    assert again.run({"retriever": {"query": QUESTION}})["retriever"]["documents"] == found
    retriever = DocmillRetriever(str(bench.root), at=1, mode="keyword", options={"distinct": False})
    assert DocmillRetriever.from_dict(retriever.to_dict()).asking == retriever.asking
    assert asyncio.run(retriever.run_async("wheel", 1, "uri LIKE 'deep/%'")) == retriever.run(
        "wheel", where="uri LIKE 'deep/%'", top_k=1
    )
    (below,) = DocmillRetriever(str(bench.root)).run(BELOW, top_k=1)["documents"]
    assert below.content == f"{below.meta['context']}\n\n{GIT[below.meta['start_char'] : below.meta['end_char']]}"
    assert below.meta["context"]


def test_an_argument_that_an_adapter_does_not_take_is_an_error_and_never_an_unfiltered_answer(
    bench: Workbench, store: docmill.Store
) -> None:
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
    need_haystack()
    from docmill.adapters import haystack, langchain, llama_index, prefect

    adapters: list[Any] = [
        langchain.DocmillRetriever,
        llama_index.DocmillRetriever,
        haystack.DocmillRetriever,
        prefect.DocmillStore,
    ]
    for adapter in adapters:
        others = () if adapter is langchain.DocmillRetriever else ("filter",)  # which is LangChain's own word
        for name in (*others, "search_kwargs", "top"):
            with pytest.raises(TypeError, match=name):
                adapter(store=str(bench.root), **{name: {"uri": "git.md"}})
    for adapter in adapters[:3]:
        with pytest.raises(QueryError, match="a search has no option 'filter'"):
            adapter(store=str(bench.root), options={"filter": {"uri": "git.md"}})
        with pytest.raises(QueryError, match=r"such as \"uri = 'git\.md'\""):
            adapter(store=str(bench.root), where={"uri": "git.md"})
    with pytest.raises(TypeError, match=r"a search takes no 'with_context'; .*A filter is `where`, in SQL"):
        langchain.DocmillRetriever(store=store).invoke(QUESTION, with_context=None)
    with pytest.raises(QueryError, match="a search has no option 'filter'"):
        prefect.DocmillStore(store=str(bench.root)).search(QUESTION, filter={"uri": "git.md"})


def test_haystack_reports_nothing_unless_told_to(tmp_path: Path) -> None:
    need_haystack()
    code = "import docmill.adapters.haystack, haystack.telemetry._telemetry as it; print(it.telemetry)"
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("HAYSTACK_TELEMETRY_ENABLED", None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "None\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("adapter", MISSING)
def test_an_adapter_without_its_extra_says_what_to_type(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, name = MISSING[adapter]
    for one in [one for one in sys.modules if one.split(".")[0] == package or one == f"docmill.adapters.{adapter}"]:
        monkeypatch.delitem(sys.modules, one)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=rf"docmill\.adapters\.{adapter} needs .* pip install 'docmill\[{name}\]'"):
        __import__(f"docmill.adapters.{adapter}")


def test_adapters_follow_their_store_and_share_what_is_loaded(tmp_path: Path, fake_model: str) -> None:
    assert fake_model
    own = Workbench(tmp_path)
    with pytest.raises(StoreError, match="store"):
        Asking(own.root).found("zeppelin")
    own.write({"a.md": "# Ship\n\nA zeppelin lands on the lake.\n"})
    own.ingest()
    (one,) = Asking(own.root).found("zeppelin")
    assert opened(own.root) is opened(str(own.root))
    own.write({"a.md": "# Ship\n\nA zeppelin sinks in the lake.\n"})
    own.ingest()
    (other,) = Asking(own.root).found("zeppelin")
    assert [(each.snapshot, "sinks" in each.hit.text) for each in (one, other)] == [(1, False), (2, True)]
    with own.store as store, pytest.raises(ConfigError, match="an open store reads snapshot 2; give its path"):
        Asking(store, at=1).found("zeppelin")
