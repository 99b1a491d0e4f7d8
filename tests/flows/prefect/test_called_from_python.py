"""What Python gives that the command line shows a person: the line of a hit, and the progress of a run."""

import threading
from pathlib import Path

import pytest

import docmill
from tests.kit.workbench import Workbench

PARAGRAPHS = "\n\n".join(f"The {bird} eats what the tide leaves." for bird in ("heron", "plover", "knot", "ruff"))


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}, "split": {"structure": {"size": 16}}})
    bench.write({"birds.md": f"# Birds\n\n{PARAGRAPHS}\n", "tea.md": "---\na: 1\n---\n\nTea.\n"})
    return bench


WAYS: list[docmill.SearchArguments] = [{}, {"widen": 60}, {"parents": True}]


@pytest.mark.parametrize("how", WAYS, ids=lambda how: next(iter(how), "as it is"))
def test_a_hit_names_the_line_on_which_its_text_starts(bench: Workbench, how: docmill.SearchArguments) -> None:
    bench.ingest()
    with docmill.open_store(bench.root) as store:
        hits = store.search("ruff tide tea", k=5, mode="keyword", **how)
        lines = [store.document(hit.uri).text.count("\n", 0, hit.start_char) + 1 for hit in hits]
    assert len(hits) > 1
    assert [hit.line for hit in hits] == lines
    assert max(lines) > 1


def _settings(bench: Workbench) -> dict[str, object]:
    return {"embedding.model": bench.settings["embedding"]["model"], "engine": "local"}


def test_an_ingest_tells_a_function_how_far_it_is(bench: Workbench) -> None:
    seen: list[tuple[docmill.Phase, threading.Thread]] = []
    docmill.ingest(
        bench.docs,
        store=bench.root,
        options=_settings(bench),
        progress=lambda phase: seen.append((phase, threading.current_thread())),
    )
    phases = [phase for phase, _ in seen]
    assert [*dict.fromkeys(phase.name for phase in phases)] == ["parse", "embed", "commit"]
    assert {(last.done, last.total) for last in {phase.name: phase for phase in phases}.values() if last.unit} >= {
        (2, 2)
    }
    assert {thread for _, thread in seen} == {threading.current_thread()}


def test_what_the_function_raises_ends_the_run_and_loses_nothing(bench: Workbench) -> None:
    def refuse(phase: docmill.Phase) -> None:
        raise KeyError(phase.name)

    with pytest.raises(KeyError, match="parse"):
        docmill.ingest(bench.docs, store=bench.root, options=_settings(bench), progress=refuse)
    assert docmill.ingest(bench.docs, store=bench.root, options=_settings(bench)).documents.added == 2


def test_a_plan_takes_the_function_too(bench: Workbench) -> None:
    seen: list[str] = []
    docmill.plan(bench.docs, store=bench.root, options=_settings(bench), progress=lambda phase: seen.append(phase.name))
    assert {*seen} == {"parse"}


def test_show_tables_names_what_a_statement_can_read_and_nothing_else(bench: Workbench) -> None:
    bench.ingest()
    with docmill.open_store(bench.root) as store:
        names = store.sql(" show tables; ").column("name").to_pylist()
        assert names == sorted(names)
        assert {"chunks", "documents", "rejects", "runs", "snapshots", "vectors", "duplicates"} < {*names}
        assert not [name for name in names if name.startswith("stored_")]
        for name in names:
            assert store.sql(f"SELECT * FROM {name} LIMIT 1").num_columns
