"""Any loader: what LangChain loaders, LlamaIndex readers and dlt resources give becomes documents, each once."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from docmill.flows.config.settings import Settings
from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions
from docmill.testing import SourceSuite
from tests.kit.workbench import Workbench, summary

CODE = """
class Document:
    def __init__(self, text, **metadata):
        self.text = self.page_content = text
        self.metadata = metadata

shelf, made, fail = {"start": "# Start\\n\\nThe mill grinds wheat.", "ice": "# Ice\\n\\nThe pond freezes."}, [], []

def documents():
    for name, text in shelf.items():
        yield Document(text, source=f"https://wiki.example.org/{name}", title=name.title(), author="Ada")
    for error in fail:
        raise error

class LazyLoader:
    def __init__(self, **args):
        made.append(args)

    def lazy_load(self):
        return documents()

class OldLoader(LazyLoader):
    lazy_load = None

    def load(self):
        return list(documents())

del OldLoader.lazy_load

class Loader:
    def load(self):
        return list(documents())

class Reader:
    def __init__(self, token=""):
        made.append(token)

    def load_data(self, space):
        made.append(space)
        return list(documents())

class Resource:
    def __init__(self, pages):
        self.pages = pages

    def __call__(self, pages):
        return Resource(pages)

    def __iter__(self):
        rows = [{"text": one.text, **one.metadata} for one in documents()]
        return iter([rows] if self.pages else rows)

rows = Resource(False)
"""
ALL = DiscoverOptions(may_be_empty=True)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of loaders of another package."""
    name = f"shop_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module(name)
    del sys.modules[name]


def table(shop: Any, kind: str, **more: Any) -> dict[str, Any]:
    return {"loader": f"{shop.__name__}:{kind}", "id": "source", "link": "source", **more}


def listed(settings: dict[str, Any]) -> list[str]:
    source = open_source("loader://wiki", {"wiki": settings})
    return [file.uri for file in source.list(ALL, Checkpoints()).found]


URIS = ["wiki/wiki.example.org/ice.md", "wiki/wiki.example.org/start.md"]


@pytest.mark.parametrize(
    ("kind", "more"),
    [("LazyLoader", {}), ("Loader", {}), ("Reader", {"load": {"space": "ENG"}}), ("rows", {})],
)
def test_a_loader_of_each_framework_gives_documents(shop: Any, kind: str, more: dict[str, Any]) -> None:
    assert listed(table(shop, kind, **more)) == URIS


def test_a_resource_takes_arguments_and_gives_pages_of_rows(shop: Any) -> None:
    assert listed(table(shop, "rows", args={"pages": True})) == URIS


def test_only_what_changed_is_parsed_and_embedded(shop: Any, bench: Callable[..., Workbench]) -> None:
    work = bench(wiki=table(shop, "LazyLoader"))
    assert summary(work.ingest("loader://wiki")) == {"added": 2, "parsed": 2, "embedded": 2}
    with work.store as store:
        rows = store.sql("SELECT uri, title, source_url, metadata FROM documents ORDER BY uri").to_pylist()
    assert [row["uri"] for row in rows] == URIS
    assert rows[0]["source_url"] == "https://wiki.example.org/ice"
    assert '"author":"Ada"' in rows[0]["metadata"].replace(" ", "")
    assert work.ingest("loader://wiki").snapshot is None
    shop.shelf["ice"] = "# Ice\n\nThe pond thaws."
    assert summary(work.ingest("loader://wiki")) == {"changed": 1, "unchanged": 1, "parsed": 1, "embedded": 1}


def test_a_loader_that_fails_midway_deletes_nothing(shop: Any, bench: Callable[..., Workbench]) -> None:
    work = bench(wiki=table(shop, "LazyLoader"))
    work.ingest("loader://wiki")
    del shop.shelf["ice"]
    shop.fail.append(ValueError("page 2\ncannot be read"))
    with pytest.raises(SourceError, match=r"'loader://wiki': \S+ failed: ValueError: page 2 cannot be read \(shop_"):
        work.ingest("loader://wiki", allow_delete=True)
    with work.store as store:
        assert store.sql("SELECT count(*) AS n FROM documents").to_pylist() == [{"n": 2}]
    shop.fail.clear()
    assert work.ingest("loader://wiki", allow_delete=True).documents.deleted == 1


def test_a_server_that_does_not_answer_is_asked_again(shop: Any) -> None:
    class ReadTimeout(Exception):
        """As the clients name it."""

    shop.fail.append(ReadTimeout("read timed out"))
    with pytest.raises(Transient, match="ReadTimeout: read timed out"):
        listed(table(shop, "LazyLoader"))


def test_a_loader_that_suddenly_gives_little_is_refused(shop: Any, bench: Callable[..., Workbench]) -> None:
    work = bench(wiki=table(shop, "LazyLoader"))
    work.ingest("loader://wiki")
    shop.shelf.pop("ice")
    with pytest.raises(SourceError, match="would lose 1 of 2"):
        work.ingest("loader://wiki")


def test_parts_with_one_id_are_one_document_and_without_an_id_each_text_is_one(shop: Any) -> None:
    shop.shelf.clear()
    shop.shelf |= {"start": "One.", "ice": "Two.", "snow": "Two."}
    assert listed(table(shop, "LazyLoader", id="author")) == ["wiki/Ada.md"]
    found = listed({"loader": f"{shop.__name__}:LazyLoader"})
    assert len(found) == 2


def test_a_credential_reaches_the_loader_and_no_message(
    shop: Any, bench: Callable[..., Workbench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKI_TOKEN", "hunter2-hunter2")
    work = bench(wiki=table(shop, "Reader", args={"token": {"env": "WIKI_TOKEN"}}, load={"space": "ENG"}))
    shop.fail.append(PermissionError("token hunter2-hunter2 is not accepted"))
    with pytest.raises(SourceError, match=r"token \*\*\* is not accepted") as caught:
        work.ingest("loader://wiki")
    assert "hunter2" not in str(caught.value)
    assert shop.made == ["hunter2-hunter2", "ENG"]
    assert "hunter2" not in str(Settings(**work.settings))


@pytest.mark.parametrize(
    ("loader", "message"),
    [
        ("no_such_package.loaders:Wiki", "there is no module 'no_such_package'; install its package"),
        ("os:no_such_thing", "the module 'os' has no 'no_such_thing'"),
        ("os:system", "is no class with load, lazy_load or load_data, and no dlt resource"),
        ("subprocess:Popen", "is no class with load, lazy_load or load_data, and no dlt resource"),
        ("wiki", "should match pattern"),
    ],
)
def test_what_is_no_loader_is_told_in_one_line_and_not_called(loader: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        listed({"loader": loader})
    assert "\n" not in str(caught.value)


def test_a_document_without_the_named_id_is_an_error_that_names_its_keys(shop: Any) -> None:
    with pytest.raises(ConfigError, match=r"no metadata 'page' \(id\); its keys are author, source, title"):
        listed(table(shop, "LazyLoader", id="page"))


def test_loaders_of_the_real_frameworks_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_core")
    pytest.importorskip("llama_index.core")
    (tmp_path / "a.md").write_text("# A\n\nThe owl hoots.\n")
    (tmp_path / "real_shop.py").write_text(
        "from langchain_core.document_loaders import BaseLoader\n"
        "from langchain_core.documents import Document\n"
        "class Owls(BaseLoader):\n"
        "    def lazy_load(self):\n"
        "        yield Document(page_content='The owl hoots.', metadata={'source': 'owl'})\n"
        "from llama_index.core.readers.string_iterable import StringIterableReader\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert listed({"loader": "real_shop:Owls", "id": "source"}) == ["wiki/owl.md"]
    texts = {"loader": "real_shop:StringIterableReader", "load": {"texts": ["One owl.", "Two owls."]}}
    assert len(listed(texts)) == 2


class Suite:
    """A loader for the suite."""

    def load(self) -> list[Any]:
        """Return one document."""

        class Document:
            page_content = "# Owl\n\nThe owl hoots."
            metadata: ClassVar = {"source": "https://example.org/owl"}

        return [Document()]


class TestLoader(SourceSuite):
    """The properties of all sources."""

    source = "loader://wiki"
    settings: ClassVar = {"loader": f"{__name__}:Suite", "id": "source", "link": "source"}
