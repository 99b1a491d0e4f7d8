"""What a file, its sidecar, its folders and its source say of a document is one record, and can be asked for."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docmill.storage.errors import QueryError
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.stated_metadata import record_of
from tests.kit.workbench import Workbench
from tests.kit.writers.archives import zipped

pytestmark = pytest.mark.usefixtures("fake_model")
KEYS = {"team": "text", "due": "date", "price": "number", "tags": "list", "open": "bool", "at": "time"}
FRONT = "---\nteam: law\ndue: 2027-03-01\ntags: [a, b]\n---\n\n"


def bench_with(folder: Path, files: dict[str, str]) -> Workbench:
    bench = Workbench(folder, {"metadata": KEYS})
    bench.write(files)
    return bench


def found(bench: Workbench, where: str) -> list[str]:
    """Return the documents that a predicate leaves to each way of asking, which all agree."""
    with bench.store as store:
        listed = [row.uri for row in store.documents(where)]
        for mode in ("keyword", "vector", "hybrid"):
            assert sorted({hit.uri for hit in store.search("words page", k=50, mode=mode, where=where)}) == listed
        rows = store.sql(f"SELECT uri FROM documents WHERE {where} ORDER BY uri").to_pylist()
        assert [row["uri"] for row in rows] == listed
    return listed


def test_the_nearest_one_that_says_something_counts(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, {
        "_metadata.toml": 'team = "all"\nprice = 1\ntags = ["top"]\naccess = ["everyone"]',
        "part/_metadata.toml": 'team = "part"\naccess = ["some"]',
        "part/page.md": f"{FRONT}The words of a page.",
        "part/page.md.meta.toml": "price = 3.5\ndue = 2028-01-02\nopen = 0",
        "part/other.md": "Other words of a page.",
        "alone.md": f"{FRONT}Words of a page alone.",
        "alone.md.meta.json": '{"team": "json", "open": true}',
    })  # fmt: skip
    report = bench.ingest()
    assert report.problems == []
    rows = bench.store.sql("SELECT uri, declared.* FROM documents ORDER BY uri").to_pylist()
    told = {row.pop("uri"): {key: value for key, value in row.items() if value is not None} for row in rows}
    assert {uri: (one["team"], one["price"], one["tags"]) for uri, one in told.items()} == {
        "alone.md": ("json", 1.0, ["top"]),
        "part/other.md": ("part", 1.0, ["top"]),
        "part/page.md": ("part", 3.5, ["top"]),
    }
    assert [str(told[uri]["due"]) for uri in ("part/page.md", "alone.md")] == ["2028-01-02", "2027-03-01"]
    assert (told["alone.md"]["open"], told["part/page.md"]["open"]) == (True, False)
    access = {row.uri: record_of(row.described)["access"] for row in bench.store.documents()}
    assert access == {"alone.md": ["everyone"], "part/other.md": ["some"], "part/page.md": ["some"]}


def test_predicates_over_values_leave_out_what_has_none(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, {
        "law.md": f"{FRONT}The words of a page.",
        "none.md": "The words of a page without anything.",
        "sales.md": "Sales words of a page.",
        "sales.md.meta.toml": 'team = "sales"\ndue = 2028-05-06\nprice = 12\nat = 2028-05-06T07:00:00+02:00',
    })  # fmt: skip
    bench.ingest()
    assert found(bench, "metadata.team = 'sales'") == ["sales.md"]
    assert found(bench, "metadata.team <> 'sales'") == ["law.md"]
    assert found(bench, "metadata.team IS NULL") == ["none.md"]
    assert found(bench, "list_contains(metadata.tags, 'b')") == ["law.md"]
    assert found(bench, "metadata.due BETWEEN '2027-01-01' AND '2027-12-31'") == ["law.md"]
    assert found(bench, "metadata.price >= 12") == ["sales.md"]
    assert found(bench, "metadata.at < '2028-05-06T05:30:00Z'") == ["sales.md"]
    assert found(bench, "metadata->>'$.front_matter.team' = 'law' AND 'ä' <> metadata.team") == ["law.md"]
    with pytest.raises(QueryError, match="colour"):
        found(bench, "metadata.colour = 'red'")


@pytest.mark.parametrize("keys", [{}, {"team": "text"}])
def test_a_key_that_is_not_declared_is_told_as_such(tmp_path: Path, keys: dict[str, str]) -> None:
    bench = Workbench(tmp_path, {"metadata": keys})
    bench.write({"page.md": f"{FRONT}Words of a page."})
    bench.ingest()
    with bench.store as store:
        for ask in (store.documents, lambda where: store.search("words", where=where)):
            with pytest.raises(
                QueryError, match=r"^\[metadata\] declares no key 'due'.* metadata->>'\$.front_matter.due'"
            ):
                ask("metadata.due > '2027-01-01'")
        assert [row.uri for row in store.documents("metadata->>'$.front_matter.due' > '2027-01-01'")] == ["page.md"]
        try:
            said = [row.uri for row in store.documents("metadata->'front_matter'->>'due' > '2027-01-01'")]
        except QueryError as error:  # DuckDB 2.0.0; from 2.0.1 on -> binds more than a comparison
            said = [str(error).partition("KEY'")[0]]
        assert said in (["page.md"], ["-> binds less than a comparison; write metadata->>'$.front_matter."])


def test_a_change_of_what_is_said_parses_splits_and_embeds_nothing(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, {f"part/{number}.md": f"Words of page {number}." for number in range(5)})
    bench.ingest()
    chunks = bench.chunks()
    for files in (
        {"part/1.md.meta.toml": 'team = "x"'},
        {"part/1.md.meta.toml": 'team = "y"'},
        {"part/_metadata.toml": "price = 2"},
        {"part/1.md.meta.toml": None},
    ):
        bench.write(files)
        report = bench.ingest()
        assert (report.parsed, report.embedded, report.rechunked) == (0, 0, [])
        assert report.documents.changed in (1, 5)
        assert (report.chunks.added, report.chunks.removed) == (0, 0)
        assert bench.chunks() == chunks
        assert bench.ingest().snapshot is None
    assert found(bench, "metadata.price = 2") == [f"part/{number}.md" for number in range(5)]
    assert found(bench, "metadata.team IS NOT NULL") == []


def test_another_type_changes_values_and_nothing_else(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, {"a.md": "---\nprice: '12'\nteam: 7\n---\nThe words of a page.", "b.md": "Words."})
    bench.ingest()
    assert found(bench, "metadata.price = 12 AND metadata.team = '7'") == ["a.md"]
    bench.settings["metadata"] = {"price": "text"}
    report = bench.ingest()
    assert (report.parsed, report.embedded, report.documents.changed) == (0, 0, 1)
    assert found(bench, "metadata.price = '12'") == ["a.md"]
    bench.settings["metadata"] = {"price": "text", "colour": "text"}
    assert bench.ingest().snapshot is not None
    assert found(bench, "metadata.colour IS NULL") == ["a.md", "b.md"]
    assert bench.ingest().snapshot is None


@pytest.mark.parametrize(("said", "value"), [
    ('due = "soon"', "due"), ("price = true", "price"), ('tags = { a = 1 }', "tags"), ('open = "perhaps"', "open"),
])  # fmt: skip
def test_a_value_that_does_not_fit_is_a_warning_and_the_rest_counts(tmp_path: Path, said: str, value: str) -> None:
    bench = bench_with(tmp_path, {"a.md": "The words of a page.", "a.md.meta.toml": f'team = "x"\n{said}'})
    report = bench.ingest()
    assert report.exit_status == 0
    assert [
        problem for problem in report.problems if problem.startswith(f"a.md: metadata.{value}: ")
    ] == report.problems
    assert len(report.problems) == 1
    assert list(bench.store.document("a.md").warnings) == [report.problems[0].removeprefix("a.md: ")]
    assert bench.store.sql("SELECT kind FROM warnings").to_pylist() == [{"kind": "metadata"}]
    assert found(bench, f"metadata.team = 'x' AND metadata.{value} IS NULL") == ["a.md"]


@pytest.mark.parametrize(("name", "broken"), [
    ("a.md.meta.toml", "team = "), ("a.md.meta.json", "[1]"), ("_metadata.toml", "\xff"),
    ("a.md.meta.json", "[" * 5000),
    ("a.md.meta.toml", 'access = 3'), ("a.md.meta.toml", "#" * 70_000),
])  # fmt: skip
def test_a_file_that_cannot_be_read_is_a_warning_and_gives_nobody_access(
    tmp_path: Path, name: str, broken: str
) -> None:
    bench = bench_with(tmp_path, {"a.md": "The words of a page."})
    bench.write({name: broken.encode("latin-1")})
    report = bench.ingest()
    assert [row.uri for row in bench.store.documents()] == ["a.md"]
    (problem,) = report.problems
    assert problem.startswith(f"a.md: {name}")
    assert record_of(bench.store.documents()[0].described)["access"] == []
    bench.write({name: '{"team": "x"}' if name.endswith("json") else 'team = "x"'})
    again = bench.ingest()
    assert (again.problems, again.parsed, again.embedded) == ([], 0, 0)
    assert found(bench, "metadata.team = 'x'") == ["a.md"]


def test_a_sidecar_is_no_document_even_alone_and_includes_do_not_hide_it(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, {"a.md": "Words.", "gone.pdf.meta.toml": 'team = "x"'})
    report = bench.ingest()
    assert [row.uri for row in bench.store.documents()] == ["a.md"]
    assert report.problems == ["gone.pdf.meta.toml: skipped, sidecar: it describes no file of the source"]
    bench.settings["discover"] = {"include": ["*.md"]}
    bench.write({"a.md.meta.toml": 'team = "y"'})
    assert bench.ingest().problems == []
    assert found(bench, "metadata.team = 'y'") == ["a.md"]


def test_one_file_and_a_glob_have_their_sidecars(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, {"a.md": "Words.", "a.md.meta.toml": 'team = "x"', "b.txt": "Other words."})
    for source in (str(bench.docs / "a.md"), str(bench.docs / "*.md")):
        bench.ingest(source)
        assert found(bench, "metadata.team = 'x'") == ["a.md"]
        shutil.rmtree(bench.root)


def test_what_is_said_of_an_archive_holds_for_its_members_and_what_is_in_it_says_nothing(
    tmp_path: Path,
) -> None:
    bench = bench_with(tmp_path, {"set.zip.meta.toml": 'team = "x"\naccess = ["some"]'})
    inner = zipped({"b.md": b"Words of b.", "_metadata.toml": b'team = "me"\naccess = ["all"]'})
    bench.write(
        {"set.zip": zipped({"a.md": b"Words of a.", "inner.zip": inner, "a.md.meta.toml": b'access = ["all"]'})}
    )
    for source in (bench.docs, bench.docs / "set.zip"):
        bench.ingest(str(source))
        documents = bench.store.documents("format = 'markdown'")
        assert [row.uri for row in documents] == ["set.zip/a.md", "set.zip/inner.zip/b.md"]
        assert {row.described for row in documents} == {'{"access":["some"],"team":"x"}'}
        shutil.rmtree(bench.root)


_SAID: dict[str, Callable[[random.Random], Any]] = {
    "team": lambda draw: draw.choice(["sales", "law", "ä", ""]),
    "due": lambda draw: f"20{draw.randint(10, 99)}-0{draw.randint(1, 9)}-11",
    "price": lambda draw: draw.choice([draw.random() * 100, "7", "much"]),
    "tags": lambda draw: draw.sample(["a", "b", "c"], draw.randint(0, 3)),
    "access": lambda draw: draw.sample(["sales", "all", "law"], draw.randint(0, 3)),
}


def _drawn(draw: random.Random) -> str | None:
    """Return a record at random, a broken one, or None for a file to remove."""
    if draw.random() < 0.15:
        return draw.choice([None, "{", "[]"])
    return json.dumps({key: make(draw) for key, make in _SAID.items() if draw.random() < 0.5})


@pytest.mark.slow
@pytest.mark.parametrize("steps", [24, pytest.param(120, marks=pytest.mark.soak)])
def test_random_changes_of_metadata_equal_a_store_built_from_nothing(tmp_path: Path, steps: int) -> None:
    draw = random.Random(7)
    pages = [f"{folder}{number}.md" for folder in ("", "a/", "a/b/", "c/") for number in range(3)]
    bench = bench_with(tmp_path / "grown", {page: f"---\nteam: {page[:1]}\n---\nWords of {page}." for page in pages})
    bench.ingest()
    for step in range(steps):
        for _ in range(draw.randint(1, 3)):
            text, page = _drawn(draw), draw.choice(pages)
            name = draw.choice([f"{page}.meta.json", f"{page}.meta.toml", f"{page.rpartition('/')[0]}/_metadata.toml"])
            toml = (
                "".join(f"{key} = {json.dumps(value)}\n" for key, value in json.loads(text).items())
                if (text and text.startswith('{"'))
                else text
            )
            said = toml if name.endswith("toml") else text
            path = bench.docs / name.lstrip("/")
            if said is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(said, "utf-8")
        report = bench.ingest()
        assert (report.parsed, report.embedded, report.documents.added, report.documents.deleted) == (0, 0, 0, 0)
        if step % 6 == 5:
            fresh = Workbench(tmp_path / f"fresh-{step}", bench.settings)
            shutil.copytree(bench.docs, fresh.docs)
            fresh.ingest()
            assert (bench.files("documents"), bench.files("chunks")) == (
                fresh.files("documents"),
                fresh.files("chunks"),
            )
    assert verify(bench.root, deep=True) == []


def test_what_is_said_of_a_stale_document_is_what_is_said_now(tmp_path: Path) -> None:
    archive = zipped({"b.md": b"Words of b."})
    bench = bench_with(tmp_path, {"a.md": "Words.", "c.md": "Words of c."})
    bench.write({"set.zip": archive, "_metadata.toml": 'access = ["some"]'})
    bench.ingest()
    bench.write({"a.md": b"\x00\x01\x02", "set.zip": archive[:20]})
    for number, access in enumerate((["some"], ["few"], [])):
        bench.write({"_metadata.toml": f"access = {access}"})
        report = bench.ingest()
        documents = bench.store.documents()
        assert [(row.uri, row.status) for row in documents] == [
            ("a.md", "stale"), ("c.md", "ok"), ("set.zip/b.md", "stale"),
        ]  # fmt: skip
        assert [record_of(row.described)["access"] for row in documents] == [access] * 3, number
        assert (report.embedded, bench.ingest().snapshot) == (0, None)


def test_facets_count_the_documents_of_each_value(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, {
        "a.md": f"{FRONT}The words of a page.", "b.md": "---\nteam: sales\ntags: [b, c]\n---\nOther words.",
        "c.md": "# One\n\nNo words at all.", "d.txt": "Words.", "d.txt.meta.toml": 'team = "law"\nopen = false',
    })  # fmt: skip
    bench.ingest()
    with bench.store as store:

        def counts(name: str, query: str | None = None, where: str | None = None) -> dict[Any, int]:
            return {one["value"]: one["documents"] for one in store.facets(name, query, where)}

        assert counts("team") == {"law": 2, "sales": 1}
        assert [*counts("tags")] == ["b", "a", "c"]
        assert counts("open") == {False: 1}
        assert counts("format") == {"markdown": 3, "text": 1}
        assert counts("team", where="format = 'text'") == {"law": 1}
        assert counts("tags", where="false") == {}
        assert counts("team", query="words", where="list_contains(metadata.tags, 'c')") == {"sales": 1}
        assert sum(one["chunks"] for one in store.facets("format")) == store.status()["chunks"]
        with pytest.raises(QueryError, match="colour"):
            store.facets("colour")
