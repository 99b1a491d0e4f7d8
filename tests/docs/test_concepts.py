"""The page about invalidation agrees with the code."""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import remove
from docmill.storage.errors import StoreError
from docmill.storage.search.encode import encoder, space
from docmill.storage.search.encode.space import describe_model
from docmill.storage.snapshots.change.restoring import restore, undelete
from docmill.storage.snapshots.history.retention import Retention
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from docmill.tasks.split.strategies import SPLITTERS
from tests.kit.fake_encoder import TokenCounts, write_model
from tests.kit.house import ROOT
from tests.kit.model_server import model_server
from tests.kit.workbench import Workbench
from tests.kit.writers.figures import drawn

PAGES = ROOT / "docs" / "concepts"
OTHER_MODEL = "other-token-counts"
GUIDE = """\
# Snow sensor

The sensor stands on a mast and measures the depth of snow.

## Battery

It lasts 21 days at ten degrees of frost, and must be charged before the first snow.

## Mast

It must not stand where avalanches come down, nor under a roof.
"""
CODES = "code,meaning\n" + "".join(f"E{number},the device number {number} does not answer\n" for number in range(40))
FILES: dict[str, str | bytes] = {
    "guide.md": GUIDE,
    "codes.csv": CODES,
    "notes.txt": "The radio draws 40 mW. It is old.\n",
    "todo.txt": "Buy a new radio before the winter.\n",
}
SMALL = {"structure": {"size": 24, "small": 0}, "table": {"size": 100}}


class Work(NamedTuple):
    """What a run did: documents parsed and split, texts embedded; and vectors that the snapshot before lacked."""

    parsed: int
    split: int
    embedded: int
    new: int


def rows(page: str, mark: str) -> list[list[str]]:
    """Return the cells of a table between two comments of a page, without its head."""
    text = (PAGES / page).read_text(encoding="utf-8")
    found = re.search(rf"^<!-- {mark}\b.*?-->\n(.*?)^<!-- /{mark} -->", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no table {mark}"
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[1].splitlines()[2:]]


def vectors_of(bench: Workbench) -> set[str]:
    """Return the keys of all vectors of the newest snapshot."""
    return {key for row in bench.chunks() for key in (row.embedding_key, *row.part_keys)}


def after(bench: Workbench, **options: bool) -> Work:
    """Ingest, and return the work."""
    before = vectors_of(bench)
    report = bench.ingest(**options)
    return Work(report.parsed, report.parsed + len(report.rechunked), report.embedded, len(vectors_of(bench) - before))


def edited(bench: Workbench, old: str, new: str, name: str = "guide.md") -> Work:
    """Replace a text in a file, and ingest."""
    content = (bench.docs / name).read_text(encoding="utf-8")
    assert old in content
    (bench.docs / name).write_text(content.replace(old, new), encoding="utf-8")
    return after(bench)


def set_to(bench: Workbench, section: str, **values: object) -> Work:
    """Change settings of a section, and ingest."""
    bench.settings[section] = {**bench.settings.get(section, {}), **values}
    return after(bench)


def touched(bench: Workbench) -> Work:
    os.utime(bench.docs / "guide.md", (1, 1))
    return after(bench)


def renamed(bench: Workbench, name: str) -> Work:
    (bench.docs / name).parent.mkdir(exist_ok=True)
    (bench.docs / "guide.md").rename(bench.docs / name)
    return after(bench)


def copied(bench: Workbench) -> Work:
    shutil.copy(bench.docs / "guide.md", bench.docs / "copy.md")
    return after(bench)


def other_picture(bench: Workbench) -> Work:
    bench.settings["parse"] = {"ocr": False}
    bench.write({"lagoon.md": "# Lagoon\n\n![Bars by month](june.png)\n", "june.png": drawn(1)})
    bench.ingest()
    bench.write({"june.png": drawn(2)})
    return after(bench)


def with_figures(bench: Workbench) -> Work:
    bench.settings["parse"] = {"ocr": False}
    bench.write({"lagoon.md": "# Lagoon\n\nThe bloom of ![Bars by month](june.png) in June.\n", "june.png": drawn(1)})
    bench.ingest()
    return set_to(bench, "chunk", figures=True)


def phrased(bench: Workbench) -> Work:
    with pytest.MonkeyPatch.context() as patch, model_server() as server:
        patch.setenv("OPENAI_API_KEY", "a key")
        bench.settings["model"] = {"provider": "openai", "model": "loopback", "base_url": f"{server.url}/v1"}
        return set_to(bench, "chunk", phrasings=["questions"])


def changed_back(bench: Workbench) -> Work:
    edited(bench, "21 days", "30 days")
    return edited(bench, "30 days", "21 days")


def deleted(bench: Workbench) -> Work:
    (bench.docs / "guide.md").unlink()
    return after(bench, allow_delete=True)


def put_back(bench: Workbench) -> Work:
    deleted(bench)
    bench.write({"guide.md": GUIDE})
    return after(bench)


def undeleted(bench: Workbench) -> Work:
    deleted(bench)
    undelete(bench.root, ["guide.md"], Retention())
    return after(bench)


def restored(bench: Workbench) -> Work:
    edited(bench, "21 days", "30 days")
    restore(bench.root, 1, Retention())
    bench.write({"guide.md": GUIDE})
    return after(bench)


def without_a_source(bench: Workbench) -> Work:
    other = bench.folder / "other"
    other.mkdir()
    (other / "spare.txt").write_text("A spare part.\n")
    bench.ingest(str(other))
    remove(Settings(store=bench.root), ["other"])
    return after(bench)


def other_tokenizer(bench: Workbench) -> Work:
    """Count each character as a token, so that the same size holds less."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.save(str(bench.folder / "tokenizer.json"))
    return set_to(bench, "chunk", tokenizer=str(bench.folder / "tokenizer.json"))


def reembedded(bench: Workbench) -> Work:
    """Change the model: an ingest refuses, `reembed` does it, and the next ingest has nothing to do."""
    before = vectors_of(bench)
    with pytest.raises(StoreError, match="docmill reembed"):
        set_to(bench, "embedding", model=OTHER_MODEL)
    done = reembed(bench.root, describe_model(OTHER_MODEL), CommitTerms(Retention()))
    new = len(vectors_of(bench) - before)
    assert after(bench) == Work(0, 0, 0, 0)
    return Work(0, 0, done.embedded, new)


def limits(bench: Workbench) -> Work:
    set_to(bench, "archives", max_depth=2)
    return set_to(bench, "parse", timeout_s=60.0, memory_mb=1024, passwords=["secret"], max_characters=1_000_000)


def irrelevant(bench: Workbench) -> Work:
    bench.settings |= {"retention": {"keep_snapshots": 3}, "run": {"commit_every": 0}, "gate": {"max_drop": 0.1}}
    return set_to(bench, "search", weight=0.9, spread=0.2)


def excluded(bench: Workbench) -> Work:
    bench.settings["discover"] = {"exclude": ["notes.txt"]}
    return after(bench, allow_delete=True)


def newer_parser(bench: Workbench) -> Work:
    with pytest.MonkeyPatch.context() as patch:
        own = FORMATS["markdown"]
        patch.setitem(FORMATS, "markdown", replace(own, version=own.version + 1))
        return after(bench)


def newer_strategy(bench: Workbench) -> Work:
    with pytest.MonkeyPatch.context() as patch:
        own = SPLITTERS["table"]
        patch.setitem(SPLITTERS._loaded, "table", replace(own, version=f"{own.version} and newer"))
        return after(bench)


def elsewhere(bench: Workbench) -> Work:
    return after(bench.copy(bench.folder.with_name("elsewhere")))


CHANGES: dict[str, Callable[[Workbench], Work]] = {
    "nothing, or the time of a file": touched,
    "the folder of a file, or its name without the suffix": lambda bench: renamed(bench, "sub/other.md"),
    "a copy of a file is added": copied,
    "the suffix of a file": lambda bench: renamed(bench, "guide.txt"),
    "a sentence of a file": lambda bench: edited(bench, "21 days", "30 days"),
    "the title of a file": lambda bench: edited(bench, "# Snow sensor", "# Depth sensor"),
    "a picture beside a page": other_picture,
    "a sentence changes, and changes back": changed_back,
    "a file is deleted": deleted,
    "a deleted file is put back": put_back,
    "`undelete` of a deleted document": undeleted,
    "`restore` of an earlier snapshot whose files are back": restored,
    "`remove` of another source": without_a_source,
    "a route, or the options of a strategy": lambda bench: set_to(bench, "split", table={"size": 50}),
    "`chunk.contextualizer`": lambda bench: set_to(bench, "chunk", contextualizer="none"),
    "`chunk.context_tokens`": lambda bench: set_to(bench, "chunk", context_tokens=0),
    "`chunk.tokenizer`": other_tokenizer,
    "`chunk.figures`, `chunk.describe_figures`, `chunk.read_figures`, `embedding.pictures`": with_figures,
    "`chunk.phrasings`": phrased,
    "`embedding.parts`": lambda bench: set_to(bench, "embedding", parts=40),
    "`embedding.indexed`": lambda bench: set_to(bench, "embedding", indexed="binary"),
    "`embedding.model`, by `docmill reembed`": reembedded,
    "`discover.exclude` leaves files out": excluded,
    "`parse.timeout_s`, `parse.passwords` and other limits": limits,
    "`parse.readers`": lambda bench: set_to(bench, "parse", readers=[{"glob": "guide.*", "reader": "unstructured"}]),
    "`search`, `retention`, `run` and `gate`": irrelevant,
    "a new version of a parser": newer_parser,
    "a new version of a strategy": newer_strategy,
    "the store is copied to another place": elsewhere,
}
"""How each row of the table of the page is made to happen."""


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("laid"), {"embedding": {"model": fake_model}, "split": SMALL})
    made.write(FILES)
    made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    folder = write_model(tmp_path / OTHER_MODEL, dimension=24)
    monkeypatch.setitem(space.FOLDERS, OTHER_MODEL, lambda: folder)
    monkeypatch.setitem(encoder.LOADERS, OTHER_MODEL, TokenCounts)
    return laid.copy(tmp_path / "bench")


def test_the_page_has_a_row_for_each_change() -> None:
    assert [row[0] for row in rows("invalidation.md", "invalidation")] == list(CHANGES)


@pytest.mark.parametrize("row", rows("invalidation.md", "invalidation"), ids=lambda row: row[0])
def test_what_invalidates_what(row: list[str], bench: Workbench) -> None:
    change, *said = row
    work = CHANGES[change](bench)
    documents, vectors = bench.store.status()["documents"], len(vectors_of(bench))
    assert said == [
        _documents(work.parsed, documents, said[0]),
        _documents(work.split, documents, said[1]),
        _texts(work, vectors, said[2]),
    ]


def _documents(count: int, of: int, said: str) -> str:
    """Return the words for a number of documents; of one document, those of the page if they are possible."""
    if count in (0, of):
        return "all" if count else "none"
    if count == 2:
        return "the page and the picture"
    assert count == 1
    return said if said in ("that file", "those that use it", "those of the format") else "one"


def _texts(work: Work, vectors: int, said: str) -> str:
    """Return the words for the texts that were embedded, which are the new ones if any."""
    assert work.embedded in (0, work.new)
    if said == "new texts" and work.embedded:
        return said
    return {0: "none", vectors: "all"}.get(work.embedded, "some")
